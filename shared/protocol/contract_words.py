"""A study's data contract in the words that a data steward reads before approving the study: what becomes of texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from shared.wire.contract import (
    ContractAttribute,
    ContractClass,
    DataContract,
    MissingPolicy,
    UnitConversion,
    owners_of,
)

_MANY: Final = 12
"""Of a list, so many are told."""
_CUT: Final = re.compile(r" and [0-9]+ more\b")
_WHOLE: Final = "Lists that are cut short here are whole in `privet agent studies show FOLDER STUDY --json`."
_FATE: Final[dict[MissingPolicy, str]] = {
    "category": "a value of their own",
    "refuse": "refused: such a record keeps the hospital out of a job",
    "fractional": "sent down every branch in parts (C4.5)",
}


def contract_words(contract: DataContract | None) -> list[str]:
    """One paragraph; none where the study has no contract."""
    if contract is None:
        return []
    sentences = [
        *_code_lists(contract),
        *_recoded(contract),
        *_units(contract),
        *_ranges(contract),
        *_empty(contract),
    ]
    head = f"How records are read: by data contract {contract.name}, a part of this document."
    tail = "`privet data check` tells whether this hospital's records fit it."
    if any(_CUT.search(sentence) for sentence in sentences):
        tail = f"{_WHOLE} {tail}"
    return [" ".join([head, *sentences, tail])]


def _code_lists(contract: DataContract) -> Iterator[str]:
    for owner in owners_of(contract):
        if owner.code_list is not None:
            source = owner.code_list
            name = " ".join(filter(None, [source.url or "a published list", source.version]))
            yield (
                f"{owner.name} has the {len(owner.values)} values of a code list: {name} "
                f"(file {source.file_sha256[:16]})."
            )


def _recoded(contract: DataContract) -> Iterator[str]:
    for owner in owners_of(contract):
        told = [text for entry in owner.values if (text := _counts_as(owner, entry.value))]
        if told:
            yield f"{owner.name}: {'; '.join(told)}."


def _counts_as(owner: ContractAttribute | ContractClass, value: str) -> str:
    entry = next(entry for entry in owner.values if entry.value == value)
    parts = [
        *([_listed(entry.texts)] if entry.texts else []),
        *([f"all that begins with {_listed(entry.prefixes)}"] if entry.prefixes else []),
        *(["everything else"] if entry.other else []),
    ]
    return f"{' and '.join(parts)} counts as {value}" if parts else ""


def _units(contract: DataContract) -> Iterator[str]:
    units = [f"{one.name} in {one.unit}" for one in contract.attributes if one.unit]
    if units:
        yield f"Units: {_listed(units)}."
    changed = [_conversion(one, of) for one in contract.attributes for of in one.conversions]
    if changed:
        yield f"Numbers that a hospital has in another unit are changed: {_listed(changed)}."


def _conversion(attribute: ContractAttribute, conversion: UnitConversion) -> str:
    more = "" if conversion.offset == "0" else f" plus {conversion.offset}"
    return f"{attribute.name} from {conversion.unit} times {conversion.factor}{more}"


def _ranges(contract: DataContract) -> Iterator[str]:
    told = [text for one in contract.attributes if (text := _range(one))]
    if told:
        yield f"A number outside its range keeps the hospital out of a job: {_listed(told)}."


def _range(attribute: ContractAttribute) -> str:
    low, high = attribute.minimum, attribute.maximum
    if low is not None and high is not None:
        return f"{attribute.name} {low} to {high}"
    ends = (f"from {low}" if low is not None else "", f"up to {high}" if high is not None else "")
    return f"{attribute.name} {''.join(ends)}" if any(ends) else ""


def _empty(contract: DataContract) -> Iterator[str]:
    for policy, fate in _FATE.items():
        names = [
            one.name for one in contract.attributes if one.missing_policy == policy and one.missing_as is None
        ]
        if names:
            yield f"Empty fields of {_listed(names)} are {fate}."
    filled = [f"{one.name} ({one.missing_as})" for one in contract.attributes if one.missing_as is not None]
    if filled:
        yield f"Empty fields count as a number for {_listed(filled)}."
    codes = sorted({code for one in contract.attributes for code in one.missing_codes})
    if codes:
        yield f"Read as empty in some columns: {_listed(codes)}."


def _listed(texts: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    more = len(texts) - _MANY
    return ", ".join(texts[:_MANY]) + (f" and {more} more" if more > 0 else "")
