"""A study's data contract in the words that a data steward reads before approving the study: what becomes of texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, get_args

from shared.protocol.derived_words import derived_words
from shared.texts import text
from shared.wire.contract import (
    ContractAttribute,
    ContractClass,
    ContractValue,
    DataContract,
    MissingPolicy,
    UnitConversion,
    owners_of,
)

_MANY: Final = 12
"""Of a list, so many are told."""


class _Lists:
    """Tells lists; `is_cut` once one of them was too long to be told whole."""

    def __init__(self) -> None:
        self.is_cut = False

    def told(self, names: Sequence[str]) -> str:
        """The first of them, and how many more there are."""
        first, more = ", ".join(names[:_MANY]), len(names) - _MANY
        if more <= 0:
            return first
        self.is_cut = True
        return text("listed.more", names=first, n=more)


def contract_words(contract: DataContract | None) -> list[str]:
    """One paragraph; none where the study has no contract."""
    if contract is None:
        return []
    lists = _Lists()
    sentences = [
        text("contract.read_by", name=contract.name),
        *_code_lists(contract),
        *_recoded(contract, lists),
        *derived_words(contract, lists.told),
        *_units(contract, lists),
        *_ranges(contract, lists),
        *_empty(contract, lists),
    ]
    whole = [text("contract.whole")] if lists.is_cut else []
    return [" ".join([*sentences, *whole, text("contract.check")])]


def _code_lists(contract: DataContract) -> Iterator[str]:
    for owner in owners_of(contract):
        if owner.code_list is not None:
            source = owner.code_list
            name = " ".join(filter(None, [source.url or text("contract.published_list"), source.version]))
            file = source.file_sha256[:16]
            yield text("contract.code_list", owner=owner.name, n=len(owner.values), source=name, file=file)


def _recoded(contract: DataContract, lists: _Lists) -> Iterator[str]:
    for owner in owners_of(contract):
        told = [words for entry in owner.values if (words := _counts_as(owner, entry.value, lists))]
        if told:
            yield text("contract.recoded", owner=owner.name, values="; ".join(told))


def _counts_as(owner: ContractAttribute | ContractClass, value: str, lists: _Lists) -> str:
    entry = next(entry for entry in owner.values if entry.value == value)
    parts = list(_spellings(entry, lists))
    joined = text("listed.and", names=", ".join(parts[:-1]), last=parts[-1]) if parts[1:] else "".join(parts)
    return text("contract.counts_as", texts=joined, value=value) if parts else ""


def _spellings(entry: ContractValue, lists: _Lists) -> Iterator[str]:
    if entry.texts:
        yield lists.told(entry.texts)
    if entry.prefixes:
        yield text("contract.begins_with", prefixes=lists.told(entry.prefixes))
    if entry.other:
        yield text("contract.everything_else")


def _units(contract: DataContract, lists: _Lists) -> Iterator[str]:
    units = [text("contract.unit", name=one.name, unit=one.unit) for one in contract.attributes if one.unit]
    if units:
        yield text("contract.units", units=lists.told(units))
    changed = [_conversion(one, of) for one in contract.attributes for of in one.conversions]
    if changed:
        yield text("contract.conversions", changes=lists.told(changed))


def _conversion(attribute: ContractAttribute, conversion: UnitConversion) -> str:
    name, unit, factor, offset = attribute.name, conversion.unit, conversion.factor, conversion.offset
    if offset == "0":
        return text("contract.conversion", name=name, unit=unit, factor=factor)
    return text("contract.conversion_plus", name=name, unit=unit, factor=factor, offset=offset)


def _ranges(contract: DataContract, lists: _Lists) -> Iterator[str]:
    told = [words for one in contract.attributes if (words := _range(one))]
    if told:
        yield text("contract.ranges", ranges=lists.told(told))


def _range(attribute: ContractAttribute) -> str:
    low, high = attribute.minimum, attribute.maximum
    if low is not None and high is not None:
        return text("contract.between", name=attribute.name, low=low, high=high)
    if low is not None:
        return text("contract.at_least", name=attribute.name, low=low)
    return "" if high is None else text("contract.at_most", name=attribute.name, high=high)


def _empty(contract: DataContract, lists: _Lists) -> Iterator[str]:
    policies: tuple[MissingPolicy, ...] = get_args(MissingPolicy)
    for policy in policies:
        names = [
            one.name for one in contract.attributes if one.missing_policy == policy and one.missing_as is None
        ]
        if names:
            yield text(f"contract.empty.{policy}", names=lists.told(names))
    filled = [f"{one.name} ({one.missing_as})" for one in contract.attributes if one.missing_as is not None]
    if filled:
        yield text("contract.filled", names=lists.told(filled))
    codes = sorted({code for one in contract.attributes for code in one.missing_codes})
    if codes:
        yield text("contract.missing_codes", codes=lists.told(codes))
