"""One hospital's draft of a data contract, from what was found in its records and what its steward says.

A draft leaves the hospital, so it lists no value of fewer rows than the floor, unless the source itself declares the
list or the steward names it as public; and the ends of a range are rounded outwards, so that they are no patient's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from itertools import pairwise
from typing import Any, Final

from pydantic import ValidationError

from hospital_agent.records.code_listed import remark_on_strangers, spelling_by_list
from hospital_agent.records.profile.facts import ColumnFacts
from hospital_agent.records.profile.profile import Profile
from hospital_agent.records.remarks import MANY_VALUES
from shared.contract.code_lists import CodeList
from shared.contract.merging import order_of
from shared.contract.spelling import as_spelled
from shared.errors import InputError
from shared.ids import ID_PATTERN
from shared.tree.numbers import UnknownValueError, decimal_text, parse_number
from shared.wire.base import describe
from shared.wire.contract import (
    CodeListSource,
    ContractAttribute,
    ContractClass,
    ContractValue,
    DataContract,
    ExcludedColumn,
    MissingPolicy,
    Spelling,
    UnitConversion,
)

_DIGITS: Final = 2
"""Of the ends of a range, so many digits are kept at most."""
_COARSER: Final = (1, 2, 5, 10)
_MEANING: Final = 500
"""So many letters of a code's meaning are kept, as the contract takes them."""

ByColumn = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Choices:
    """What a steward says. Keys are names of columns as the file has them.

    `names`: what the study calls a column. `missing`: of every column, `missing_in`: of one. `recode`, `prefixes`:
    column to old text, or beginning of texts, to new value. `values`: lists that are public, told whatever the records
    hold. `other`: the value of all texts that are not listed. `policies`: under "" that of all others. `measured`:
    numbers without cuts may stay as they are (mode gain-ratio). `categories`: columns of numbers that are names;
    `numbers`: columns that are measured, however few their numbers are.
    `ranges`: column to the lowest and the highest number that can be; with cuts there is no range but a said one.
    `missing_as`: the number that an empty field of one without cuts counts as. `conversions`: column to another unit to
    its factor.
    """

    name: str
    title: str = ""
    drop: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    missing_in: ByColumn = field(default_factory=dict)
    recode: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    values: ByColumn = field(default_factory=dict)
    code_lists: Mapping[str, CodeList] = field(default_factory=dict)
    prefixes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    cuts: ByColumn = field(default_factory=dict)
    ranges: ByColumn = field(default_factory=dict)
    spelling: Mapping[str, Spelling] = field(default_factory=dict)
    other: Mapping[str, str] = field(default_factory=dict)
    policies: Mapping[str, MissingPolicy] = field(default_factory=dict)
    missing_as: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    conversions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    descriptions: Mapping[str, str] = field(default_factory=dict)
    categories: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    measured: bool = False

    def called(self, column: str) -> str:
        """What the study calls a column."""
        return self.names.get(column, column)


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
    if _is_measured(facts, choices):
        return ContractAttribute(**shared, **_number(facts, choices, floor, remarks))
    spelling = _spelling(facts, choices)
    policy = _policy(facts, choices, floor, remarks)
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
    if sum(count for _, count in _known(facts, choices, _spelling(facts, choices))) < facts.rows:
        remarks.append(f"{name}: records without a class, or with a code for missing there, will not fit.")
    return ContractClass(
        name=name,
        columns=_other_name(facts, choices),
        description=choices.descriptions.get(facts.name, ""),
        values=_values(facts, choices, floor, remarks),
        spelling=_spelling(facts, choices),
        code_list=_source(facts, choices),
    )


def _source(facts: ColumnFacts, choices: Choices) -> CodeListSource | None:
    found = choices.code_lists.get(facts.name)
    return None if found is None else found.source


def _other_name(facts: ColumnFacts, choices: Choices) -> list[str]:
    return [facts.name] if choices.called(facts.name) != facts.name else []


def _is_measured(facts: ColumnFacts, choices: Choices) -> bool:
    if facts.name in {*choices.cuts, *choices.ranges, *choices.numbers}:
        return True
    named = {*choices.categories, *choices.recode, *choices.values, *choices.other, *choices.prefixes}
    named |= {*choices.code_lists}
    return facts.is_number and facts.different > MANY_VALUES and facts.name not in named


def _spelling(facts: ColumnFacts, choices: Choices) -> Spelling:
    listed = choices.code_lists.get(facts.name)
    if facts.name not in choices.spelling and listed is not None:
        return spelling_by_list(listed, is_number=facts.is_number)
    return choices.spelling.get(facts.name, "number" if facts.is_number else "exact")


def _values(facts: ColumnFacts, choices: Choices, floor: int, remarks: list[str]) -> list[ContractValue]:
    """The values at or above the floor after recoding, those that are public, and the one for all others."""
    spelling, recode = _spelling(facts, choices), choices.recode.get(facts.name, {})
    name = choices.called(facts.name)
    recoded = {as_spelled(old, spelling): new for old, new in recode.items()}
    rows: dict[str, int] = {}
    for text, count in _known(facts, choices, spelling):
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


def _known(facts: ColumnFacts, choices: Choices, spelling: Spelling) -> Iterable[tuple[str, int]]:
    """The texts that stand for a value, with their rows."""
    codes = (*choices.missing, *choices.missing_in.get(facts.name, ()))
    empty = {as_spelled(code, spelling) for code in codes} | {""}
    for text, count in zip(facts.values, facts.counts, strict=True):
        if as_spelled(text, spelling) not in empty:
            yield text, count


def _first_written(facts: ColumnFacts, form: str) -> str:
    """How the most rows write a value that is spelled in several ways."""
    ways = [
        (-count, text)
        for text, count in zip(facts.values, facts.counts, strict=True)
        if as_spelled(text, "folded") == form
    ]
    return min(ways)[1]


def _number(facts: ColumnFacts, choices: Choices, floor: int, remarks: list[str]) -> dict[str, Any]:
    name = choices.called(facts.name)
    found = _numbers(facts, choices)
    numbers = [number for number, _ in found]
    bounds = _said_range(facts.name, choices.ranges.get(facts.name))
    if bounds and not all(bounds[0] <= number <= bounds[1] for number in numbers):
        low, high = map(decimal_text, bounds)
        remarks.append(
            f"{name}: records outside {low} to {high} will not fit; look at the unit and for codes."
        )
    cuts = choices.cuts.get(facts.name)
    if cuts is not None:
        _check_cuts(facts.name, cuts)
        policy = _policy(facts, choices, floor, remarks)
        ends = dict(zip(("minimum", "maximum"), map(decimal_text, bounds), strict=False))
        return {"kind": "number", "cuts": list(cuts), **ends, "missing_policy": policy}
    if not choices.measured:
        remarks.append(
            f"{name}: modes PPSDT and id3 need its cut points: --cuts {name}=..., or privet data cuts."
        )
    missing_as = choices.missing_as.get(facts.name)
    said = [] if missing_as is None else [_said_number("--missing-as", facts.name, missing_as)]
    numbers += said
    if not numbers:
        raise InputError(
            "expected a column of numbers, and none is there",
            where=f"--number {facts.name}",
            remedy="Leave the option out, and it is a category; or say with --missing-as what gaps count as.",
        )
    decimals = max(map(_decimals_of, numbers))
    decimals = max([decimals, *map(_decimals_of, bounds)])
    told = bounds or (_outwards(found, decimals, floor) if found else ())
    low, high = decimal_text(min([*told, *said])), decimal_text(max([*told, *said]))
    wanted = choices.policies.get(facts.name, choices.policies.get(""))
    if missing_as is None and wanted not in (None, "refuse"):
        remarks.append(
            f"{name}: empty fields are {wanted} with cut points alone, so this draft refuses them: --cuts {name}=..., "
            f"or privet data grid --missing-policy {name}={wanted}; or --missing-as {name}=NUMBER says what they "
            "count as."
        )
    elif missing_as is None and sum(count for _, count in _known(facts, choices, "number")) < facts.rows:
        remarks.append(
            f"{name}: records without a value will not fit; --missing-as {name}=NUMBER says what they "
            "count as, and cut points would make them a value of their own."
        )
    return {"kind": "number", "minimum": low, "maximum": high, "decimals": decimals, "missing_as": missing_as}


def _check_cuts(name: str, said: Sequence[str]) -> None:
    """Raises: InputError: no numbers, or not in rising order."""
    remedy = f"Such as --cuts {name}=40,60; a column of words takes --values in its place."
    numbers = [_said_number("--cuts", name, text, remedy) for text in said]
    if any(low >= high for low, high in pairwise(numbers)):
        rising = ",".join(decimal_text(number) for number in sorted(set(numbers)))
        raise InputError(
            "expected cut points that rise, each given once",
            where=f"--cuts {name}={','.join(said)}",
            remedy=f"Such as --cuts {name}={rising}.",
        )


def _said_range(name: str, said: Sequence[str] | None) -> tuple[Decimal, ...]:
    """The lowest and the highest number that the steward says can be; none where nothing is said."""
    numbers = tuple(_said_number("--range", name, text) for text in said or ())
    if said is not None and (len(numbers) != 2 or numbers[0] > numbers[1]):
        raise InputError(
            "expected the lowest and the highest number",
            where=f"--range {name}={','.join(said)}",
            remedy="Such as --range pulse=20,300.",
        )
    return numbers


def _decimals_of(number: Decimal) -> int:
    return max(0, -int(number.normalize().as_tuple().exponent))


def _said_number(option: str, name: str, text: str, remedy: str = "Such as 75 or 37.5.") -> Decimal:
    """A number that the steward says. Raises: InputError: it is none."""
    try:
        return parse_number(name, text)
    except UnknownValueError:
        raise InputError(
            "expected a number",
            where=f"{option} {name}={text}",
            remedy=remedy,
        ) from None


def _numbers(facts: ColumnFacts, choices: Choices) -> list[tuple[Decimal, int]]:
    codes = (*choices.missing, *choices.missing_in.get(facts.name, ()))
    empty = {as_spelled(code, "number") for code in codes}
    return [(number, count) for number, count in facts.measured() if decimal_text(number) not in empty]


def _outwards(numbers: Sequence[tuple[Decimal, int]], decimals: int, floor: int) -> tuple[Decimal, Decimal]:
    """A range rounded outwards to two digits of its greater end, or to its decimals where these are coarser.

    While fewer than `floor` rows lie in the last step of an end, it is rounded more coarsely, to one digit at most: 97
    of one patient becomes 100.
    """
    low, high = min(number for number, _ in numbers), max(number for number, _ in numbers)
    greatest = max(abs(low), abs(high))
    place = max(greatest.adjusted() - _DIGITS + 1, -decimals) if greatest else -decimals
    steps = [Decimal(times).scaleb(place) for times in _COARSER]
    return (
        _end(low, steps, ROUND_FLOOR, lambda end, step: _rows(numbers, end, end + step) >= floor),
        _end(high, steps, ROUND_CEILING, lambda end, step: _rows(numbers, end - step, end) >= floor),
    )


def _end(
    number: Decimal, steps: Sequence[Decimal], rounding: str, is_shared: Callable[[Decimal, Decimal], bool]
) -> Decimal:
    """The number rounded to the finest step that enough rows share, else to the coarsest."""
    ends = [(number / step).to_integral_value(rounding) * step for step in steps]
    return next((end for end, step in zip(ends, steps, strict=True) if is_shared(end, step)), ends[-1])


def _rows(numbers: Sequence[tuple[Decimal, int]], low: Decimal, high: Decimal) -> int:
    return sum(count for number, count in numbers if low <= number <= high)


def _policy(facts: ColumnFacts, choices: Choices, floor: int, remarks: list[str]) -> MissingPolicy:
    """As said; else a value of its own where at least `floor` rows are without one, so that fewer do not show."""
    name = choices.called(facts.name)
    said = choices.policies.get(facts.name, choices.policies.get(""))
    if said is not None:
        return said
    spelling: Spelling = "number" if facts.is_number else _spelling(facts, choices)
    gaps = facts.rows - sum(count for _, count in _known(facts, choices, spelling))
    if 0 < gaps < floor:
        remarks.append(
            f"{name}: fewer than {floor} rows are without a value, and the draft refuses such records; say what "
            f"they are with --missing-policy {name}=category, or fill the fields."
        )
    return "category" if gaps >= floor else "refuse"
