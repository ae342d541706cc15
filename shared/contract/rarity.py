"""How many hospitals have a value of a merged contract, and the contract without values that too few have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from shared.contract.schema import schema_of_contract
from shared.contract.spelling import as_spelled
from shared.errors import InputError
from shared.wire.contract import (
    ContractAttribute,
    ContractClass,
    ContractValue,
    DataContract,
    owners_of,
)

Held = Mapping[str, Mapping[str, int]]
"""Column to value to the number of hospitals that list it."""
Owner = TypeVar("Owner", ContractAttribute, ContractClass)
_LOWER: Final = (
    "Lower --at-least, or have the hospitals recode their rare values (privet data draft --recode)."
)


@dataclass(frozen=True, slots=True)
class Common:
    """A contract of values that enough hospitals have. left_out: column to how many values it lost."""

    contract: DataContract
    left_out: Mapping[str, int]


def held_by(drafts: Sequence[DataContract], merged: DataContract) -> Held:
    """Of each value the hospitals that list it; where their rules of spelling differ, the number is the least possible.

    Args: drafts: of the hospitals, or of a mix. merged: of these drafts.
    """
    return {
        owner.name: _held(owner, [_same(draft, owner) for draft in drafts]) for owner in owners_of(merged)
    }


def _same(draft: DataContract, owner: ContractAttribute | ContractClass) -> ContractAttribute | ContractClass:
    if isinstance(owner, ContractClass):
        return draft.class_
    return next(one for one in draft.attributes if one.name == owner.name)


def _held(
    owner: ContractAttribute | ContractClass, drafts: Sequence[ContractAttribute | ContractClass]
) -> dict[str, int]:
    times = Counter(entry.value for draft in drafts for entry in draft.values)
    # No draft lists one value in two spellings of its own rule. Under another's it may, and must not count twice.
    alike = all(draft.spelling == owner.spelling for draft in drafts)
    forms: dict[str, list[int]] = {}
    for value, count in times.items():
        forms.setdefault(as_spelled(value, owner.spelling), []).append(count)
    held = {form: sum(counts) if alike else max(counts) for form, counts in forms.items()}
    return {
        entry.value: max(
            held.get(as_spelled(text, owner.spelling), 0) for text in (entry.value, *entry.texts)
        )
        for entry in owner.values
    }


def without_rare(merged: DataContract, held: Held, least: int, other: str | None = None) -> Common:
    """The contract without values that fewer than `least` hospitals list.

    Args: other: what takes such values of an attribute from then on, unless a value there does so already.
    Raises: InputError: too little is left of a column.
    """
    kept = {owner.name: _kept(owner, held[owner.name], least, other) for owner in owners_of(merged)}
    left_out = {
        owner.name: lost
        for owner in owners_of(merged)
        if (lost := sum(count < least for count in held[owner.name].values()))
    }
    if not kept[merged.class_.name]:
        raise InputError(
            f"no label is listed by {least} hospitals",
            where=f"class {merged.class_.name!r}",
            remedy=_LOWER,
        )
    contract = merged.model_copy(
        update={
            "attributes": [_with(attribute, kept[attribute.name]) for attribute in merged.attributes],
            "class_": _with(merged.class_, kept[merged.class_.name]),
        }
    )
    schema_of_contract(contract)
    return Common(contract, left_out)


def _kept(
    owner: ContractAttribute | ContractClass, held: Mapping[str, int], least: int, other: str | None
) -> list[ContractValue]:
    kept = [entry for entry in owner.values if held[entry.value] >= least]
    lost = len(kept) < len(owner.values)
    if other is None or not lost or isinstance(owner, ContractClass) or any(one.other for one in kept):
        return kept
    named = [one.model_copy(update={"other": True}) if one.value == other else one for one in kept]
    return named if any(one.other for one in named) else [*kept, ContractValue(value=other, other=True)]


def _with(owner: Owner, values: Sequence[ContractValue]) -> Owner:
    return owner.model_copy(update={"values": list(values)})
