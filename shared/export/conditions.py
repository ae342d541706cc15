"""What takes a record into a branch, in the terms of its field: listed values, ranges of numbers, or nothing in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from shared.tree.binary_tests import AtMost, BinaryTest, goes_right
from shared.tree.schema import Attribute

Range = tuple[Decimal | None, Decimal | None]
"""Numbers above the first and at most the second; None where there is no bound."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A branch's condition: any of `values`, in any of `ranges`, or an empty field if `missing`.

    The conditions of a split exclude one another. Where none is met the record stops at the split.
    """

    values: tuple[str, ...] = ()
    ranges: tuple[Range, ...] = ()
    missing: bool = False


def branch_conditions(attribute: Attribute, test: BinaryTest | None) -> tuple[Condition, ...]:
    """One condition a branch, in the order of the branches."""
    if isinstance(test, AtMost):
        stands_for = None if attribute.fixed_point is None else attribute.fixed_point.missing
        side = None if stands_for is None else int(stands_for > test.threshold)
        ranges: tuple[Range, Range] = ((None, test.threshold), (test.threshold, None))
        return tuple(Condition(ranges=(each,), missing=side == n) for n, each in enumerate(ranges))
    codes = range(attribute.branch_count)
    if test is None:
        return tuple(_of_codes(attribute, [code]) for code in codes)
    sides = [[code for code in codes if goes_right(test, code) == right] for right in (False, True)]
    return tuple(_of_codes(attribute, side) for side in sides)


def _of_codes(attribute: Attribute, codes: Sequence[int]) -> Condition:
    missing = attribute.missing_code in codes
    if attribute.cuts is None:
        return Condition(values=tuple(attribute.values[code] for code in codes), missing=missing)
    return Condition(ranges=tuple(_merged(attribute.cuts, codes)), missing=missing)


def _merged(cuts: Sequence[Decimal], codes: Iterable[int]) -> list[Range]:
    """The intervals between cuts as ranges, neighbours joined; a code behind them is that of an empty field."""
    bounds: list[Decimal | None] = [None, *cuts, None]
    found: list[Range] = []
    last = -2
    for code in codes:
        if code > len(cuts):
            continue
        low = found.pop()[0] if code == last + 1 else bounds[code]
        found.append((low, bounds[code + 1]))
        last = code
    return found
