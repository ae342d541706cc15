"""One hospital's draft of a data contract, from what was found in its records and what its steward says.

A draft leaves the hospital, so it lists no value of fewer rows than the floor, unless the source itself declares the
list or the steward names it as public; and the ends of a range are rounded outwards, so that they are no patient's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from hospital_agent.records.code_listed import remark_on_strangers
from hospital_agent.records.draft_choices import Choices, is_measured, known_texts, policy_of, spelling_of
from hospital_agent.records.draft_numbers import number_of
from hospital_agent.records.profile.facts import ColumnFacts
from hospital_agent.records.profile.profile import Profile
from shared.contract.merging import order_of
from shared.contract.spelling import as_spelled
from shared.errors import InputError
from shared.ids import ID_PATTERN
from shared.wire.base import describe
from shared.wire.contract import (
    CodeListSource,
    ContractAttribute,
    ContractClass,
    ContractValue,
    DataContract,
    ExcludedColumn,
    UnitConversion,
)

_MEANING: Final = 500
"""So many letters of a code's meaning are kept, as the contract takes them."""


@dataclass(frozen=True, slots=True)
class Draft:
    """The contract and what its steward should know: for the hospital's own eyes."""

    contract: DataContract
    remarks: tuple[str, ...]


def draft_contract(profile: Profile, choices: Choices) -> Draft:
    """The draft of a profile whose class is named.

    Raises: InputError: no class, a column of numbers without cuts where they are needed, no value at the floor.
    """
    _check_name(choices.name)
    target = profile.target
    if target is None:
        raise InputError(
            "the class is not named", where="--class", remedy="Name the class column with --class."
        )
    remarks: list[str] = []
    if not (profile.table.has_header or choices.names):
        remarks.append(
            "The records have no header: name all columns with --names, as the other hospitals do."
        )
    dropped = set(choices.drop)
    kept = [facts for facts in profile.facts if facts.name not in dropped and facts is not target]
    try:
        contract = DataContract(
            name=choices.name,
            title=choices.title,
            attributes=[_attribute(facts, choices, profile.floor, remarks) for facts in kept],
            class_=_class(target, choices, profile.floor, remarks),
            excluded=[ExcludedColumn(column=name) for name in sorted(dropped)],
        )
    except ValidationError as error:
        raise InputError(describe(error), where="draft", remedy="Correct that option.") from None
    return Draft(contract, tuple(remarks))


def _check_name(name: str) -> None:
    if not re.fullmatch(ID_PATTERN[1:-1], name):
        raise InputError(
            "expected 1 to 64 of a-z, 0-9 and -",
            where=f"--name {name}",
            remedy="Such as --name heart-1; --title takes any text.",
        )


def _attribute(facts: ColumnFacts, choices: Choices, floor: int, remarks: list[str]) -> ContractAttribute:
    shared: dict[str, Any] = {
        "name": choices.called(facts.name),
        "columns": _other_name(facts, choices),
        "description": choices.descriptions.get(facts.name, ""),
        "unit": choices.units.get(facts.name, ""),
        "conversions": [
            UnitConversion(unit=unit, factor=factor)
            for unit, factor in sorted(choices.conversions.get(facts.name, {}).items())
        ],
        "missing_codes": sorted({*choices.missing, *choices.missing_in.get(facts.name, ())}),
    }
    if is_measured(facts, choices):
        return ContractAttribute(**shared, **number_of(facts, choices, floor, remarks))
    spelling = spelling_of(facts, choices)
    policy = policy_of(facts, choices, floor, remarks)
    if choices.measured:
        shared["treat_as"] = "equality"
    return ContractAttribute(
        **shared,
        kind="category",
        values=_values(facts, choices, floor, remarks),
        spelling=spelling,
        missing_policy=policy,
        code_list=_source(facts, choices),
    )


def _class(facts: ColumnFacts, choices: Choices, floor: int, remarks: list[str]) -> ContractClass:
    name = choices.called(facts.name)
    if sum(count for _, count in known_texts(facts, choices, spelling_of(facts, choices))) < facts.rows:
        remarks.append(f"{name}: records without a class, or with a code for missing there, will not fit.")
    return ContractClass(
        name=name,
        columns=_other_name(facts, choices),
        description=choices.descriptions.get(facts.name, ""),
        values=_values(facts, choices, floor, remarks),
        spelling=spelling_of(facts, choices),
        code_list=_source(facts, choices),
    )


def _source(facts: ColumnFacts, choices: Choices) -> CodeListSource | None:
    found = choices.code_lists.get(facts.name)
    return None if found is None else found.source


def _other_name(facts: ColumnFacts, choices: Choices) -> list[str]:
    return [facts.name] if choices.called(facts.name) != facts.name else []


def _values(facts: ColumnFacts, choices: Choices, floor: int, remarks: list[str]) -> list[ContractValue]:
    """The values at or above the floor after recoding, those that are public, and the one for all others."""
    spelling, recode = spelling_of(facts, choices), choices.recode.get(facts.name, {})
    name = choices.called(facts.name)
    recoded = {as_spelled(old, spelling): new for old, new in recode.items()}
    rows: dict[str, int] = {}
    for text, count in known_texts(facts, choices, spelling):
        form = as_spelled(text, spelling)
        value = recoded.get(form, form if spelling != "folded" else _first_written(facts, form))
        rows[value] = rows.get(value, 0) + count
    codes = choices.code_lists.get(facts.name)
    meanings = {} if codes is None else {code.code: code.display for code in codes.codes}
    said = [*meanings] if codes is not None else choices.values.get(facts.name, facts.column.declared or ())
    public = [*said, *recode.values()]
    prefixes = choices.prefixes.get(facts.name, {})
    covered = tuple(prefixes)
    told = {value for value, count in rows.items() if count >= floor and not value.startswith(covered)}
    hidden = sum(count < floor and value not in public for value, count in rows.items())
    other = choices.other.get(facts.name)
    if codes is not None:
        told, hidden = set(), 0
        if other is None:
            remarks.extend(remark_on_strangers(name, rows, public, covered, spelling))
    if hidden and other is None:
        what = "1 value has" if hidden == 1 else f"{hidden} values have"
        remarks.append(
            f"{name}: {what} fewer than {floor} rows, so the draft does not tell. Such records will not fit, "
            "unless another hospital lists the value, it is public (--values), or --other takes it."
        )
    listed = list(dict.fromkeys([*public, *prefixes.values(), *sorted(told, key=order_of)]))
    if not said:
        listed.sort(key=order_of)
    if other is not None:
        listed = [*(value for value in listed if value != other), other]
    return [
        _value(value, meanings.get(value, ""), recode, prefixes, is_other=value == other) for value in listed
    ]


def _value(
    value: str, meaning: str, recode: Mapping[str, str], prefixes: Mapping[str, str], *, is_other: bool
) -> ContractValue:
    return ContractValue(
        value=value,
        meaning=meaning[:_MEANING],
        texts=sorted(old for old, new in recode.items() if new == value and old != value),
        prefixes=sorted(prefix for prefix, new in prefixes.items() if new == value),
        other=is_other,
    )


def _first_written(facts: ColumnFacts, form: str) -> str:
    """How the most rows write a value that is spelled in several ways."""
    ways = [
        (-count, text)
        for text, count in zip(facts.values, facts.counts, strict=True)
        if as_spelled(text, "folded") == form
    ]
    return min(ways)[1]
