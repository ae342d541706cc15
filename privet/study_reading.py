"""Records as the data contract of a tree's study reads them, for the estimator: its columns' names and its values."""

from __future__ import annotations

from typing import Any

from privet.study_deriving import with_derived
from shared.contract.reading import Read, attribute_reader, other_names
from shared.contract.schema import schema_of_contract
from shared.errors import InputError
from shared.export.subject import Subject
from shared.wire.contract import DataContract


def readers_of(subject: Subject) -> list[Read | None]:
    """How texts are read, for each attribute of the schema; numbers are in the contract's units.

    Raises: InputError: the contract contradicts itself, or stands for another schema.
    """
    contract = subject.contract
    if contract is None:
        return [None] * len(subject.schema.attributes)
    if schema_of_contract(contract) != subject.schema:
        raise InputError(
            "the data contract is not that of the tree's schema", where="tree file", remedy="Export it anew."
        )
    return [attribute_reader(attribute) for attribute in contract.attributes]


def in_study_names(frame: Any, contract: DataContract | None) -> Any:
    """A data frame with the study's names of its columns, and what the study makes of several of them.

    Raises: ValueError: one would be there twice, or fields of which nothing can be made.
    """
    if contract is None:
        return frame
    known = other_names(contract)
    changed = {name: known[name] for name in frame.columns if name in known}
    if not changed:
        return with_derived(frame, contract)
    names = [changed.get(name, name) for name in frame.columns]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"column {twice!r}: it is given twice, also under another name of the data contract")
    renamed = frame.rename(columns=changed) if hasattr(frame, "set_axis") else frame.rename(changed)
    return with_derived(renamed, contract)
