"""Texts and numbers that often stand for "not known". Each is a question to the steward, never a decision."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Final

_WORDS: Final = frozenset(
    (
        *("?", "??", "-", "--", ".", "..", "*", "na", "n/a", "n.a.", "#n/a", "nan", "null", "#null!", "nil"),
        *("unknown", "unk", "missing", "unspecified", "undefined", "blank", "no data", "k.a.", "unbekannt"),
        *("not available", "not known", "not recorded", "not done"),
    )
)
_LEAST: Final = Decimal("0.1")
_FEWEST_OTHERS: Final = 10
"""So many different numbers beside zero before a zero among them can look strange."""


def is_missing_word(text: str) -> bool:
    """Whether people write this text for "not known", such as `?`, `NA` or `unknown`."""
    return text.strip().casefold() in _WORDS


def suspected_codes(numbers: Sequence[tuple[Decimal, int]]) -> list[Decimal]:
    """Numbers that are rather codes for "not known". Args: numbers: different ones, ascending, with their rows.

    The rule: -1, or nines alone with a minus (-9, -99, ...), where all others are 0 or more; and nines alone (9, 99,
    999, ...) where it is the greatest and more than twice the next one.
    """
    found = []
    while len(numbers) > 1 and _is_negative_code(numbers[0][0]) and numbers[1][0] >= 0:
        found.append(numbers[0][0])
        numbers = numbers[1:]
    greatest, next_one = (numbers[-1][0], numbers[-2][0]) if len(numbers) > 2 else (Decimal(0), Decimal(0))
    if _is_nines(greatest) and greatest > 2 * next_one:
        found.append(greatest)
    return found


def zeros_that_cannot_be(numbers: Sequence[tuple[Decimal, int]]) -> int:
    """Rows with a 0 in a column whose other numbers are all far from 0; 0 where nothing is strange.

    The rule: no number is negative; at least ten other different ones; zeros are fewer than half of the rows; the
    smallest other number is at least 0.1 and at least a tenth of their median, and the step from 0 to it at least three
    times the middle step between neighbours.
    """
    if not numbers or numbers[0][0] != 0:
        return 0
    zeros, others = numbers[0][1], numbers[1:]
    rows = sum(count for _, count in others)
    if len(others) < _FEWEST_OTHERS or zeros >= rows:
        return 0
    smallest = others[0][0]
    steps = sorted(b - a for (a, _), (b, _) in pairwise(others))
    if smallest < _LEAST or 10 * smallest < _median(others, rows) or smallest < 3 * steps[len(steps) // 2]:
        return 0
    return zeros


def far_numbers(numbers: Sequence[tuple[Decimal, int]], floor: int) -> int:
    """Rows of a greatest or a smallest number, rarer than `floor`, that lies far from all others; 0 where none does.

    The rule: its distance to the next number is more than three times the range of all others.
    """
    if len(numbers) < 4:
        return 0
    low, second, next_to_last, high = (numbers[index][0] for index in (0, 1, -2, -1))
    rows = 0
    if high - next_to_last > 3 * (next_to_last - low) and numbers[-1][1] < floor:
        rows += numbers[-1][1]
    if second - low > 3 * (high - second) and numbers[0][1] < floor:
        rows += numbers[0][1]
    return rows


def _median(numbers: Sequence[tuple[Decimal, int]], rows: int) -> Decimal:
    seen = 0
    for number, count in numbers:
        seen += count
        if 2 * seen >= rows:
            return number
    return numbers[-1][0]


def _is_negative_code(number: Decimal) -> bool:
    return number == -1 or (number < 0 and _is_nines(-number))


def _is_nines(number: Decimal) -> bool:
    text = format(number.normalize(), "f")
    return set(text) == {"9"}
