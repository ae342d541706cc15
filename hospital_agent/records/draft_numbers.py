"""Columns of numbers in a draft of a contract: cut points, ranges that are no patient's, what gaps count as."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from itertools import pairwise
from typing import Any, Final

from hospital_agent.records.draft_choices import Choices, known_texts, policy_of
from hospital_agent.records.profile.facts import ColumnFacts
from shared.contract.spelling import as_spelled
from shared.errors import InputError
from shared.tree.numbers import UnknownValueError, decimal_text, parse_number

_DIGITS: Final = 2
"""Of the ends of a range, so many digits are kept at most."""
_COARSER: Final = (1, 2, 5, 10)


def number_of(facts: ColumnFacts, choices: Choices, floor: int, remarks: list[str]) -> dict[str, Any]:
    """What the draft says of a column of numbers. Raises: InputError: what the steward says of it is not possible."""
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
        policy = policy_of(facts, choices, floor, remarks)
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
    elif missing_as is None and sum(count for _, count in known_texts(facts, choices, "number")) < facts.rows:
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
