"""A hospital's columns and texts as the study's data contract reads them. Without a contract all stays as it is.

The hospital's own settings come first: what `rename` says of a column, and `missing` of a text, the contract sees
already done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hospital_agent.records.source import DataSettings
from shared.contract.deriving import SEPARATOR, derivation_of, derived_reader, joined
from shared.contract.reading import attribute_reader, class_reader, other_names
from shared.errors import InputError
from shared.wire.contract import ContractAttribute, ContractClass, owners_of

Read = Callable[[str], int]
"""A field's text to its code in the schema. Raises: UnknownValueError."""


def study_names(columns: Sequence[str], settings: DataSettings) -> list[str]:
    """What the study calls each column: by the settings' renames, by the contract's other names, else as it is."""
    other = {} if settings.contract is None else other_names(settings.contract)
    renamed = (settings.rename.get(column, column) for column in columns)
    return [other.get(name, name) for name in renamed]


def through_contract(settings: DataSettings, name: str, code_of: Read) -> Read:
    """How the texts of one column become codes. Args: name: in the study. code_of: the schema's.

    Raises: InputError: the contract does not know the column.
    """
    if settings.contract is None:
        return code_of
    owner = next((owner for owner in owners_of(settings.contract) if owner.name == name), None)
    if owner is None:
        raise InputError(
            "the study's data contract does not describe it",
            where=f"column {name!r}",
            remedy="The study contradicts itself; let its coordinator draft it anew.",
        )
    read = owner_reader(owner, settings)
    return lambda text: code_of(read(text))


def owner_reader(owner: ContractAttribute | ContractClass, settings: DataSettings) -> Callable[[str], str]:
    """How a column's texts are read here, in the units of this hospital; of a derived one the joined fields."""
    contract = settings.contract
    derivation = None if contract is None else derivation_of(contract, owner.name)
    if contract is not None and derivation is not None:
        return _without_codes(derived_reader(contract, owner, derivation, settings.units), settings)
    if isinstance(owner, ContractClass):
        return class_reader(owner)
    return attribute_reader(owner, settings.units.get(owner.name, ""))


def _without_codes(read: Callable[[str], str], settings: DataSettings) -> Callable[[str], str]:
    """The hospital's codes for missing as empty fields: of files they are already, of an engine's joined texts not."""
    codes = settings.missing_codes
    if not codes:
        return read
    return lambda text: read(
        joined(["" if part.strip() in codes else part for part in text.split(SEPARATOR)])
    )
