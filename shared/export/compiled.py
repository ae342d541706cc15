"""The tree over small codes: each field becomes an index once, and every question compares indices.

Numbers in fixed point become the rank of their place among the tree's own thresholds, so that `x <= t` is `rank <= r`.
Where a program works on binary floating point, `float_bound` gives the one bound that decides as the decimal does.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from shared.export.subject import Place, Subject
from shared.tree.binary_tests import AtMost, Equals
from shared.tree.schema import Attribute

Kind = Literal["each", "up_to", "equals"]


@dataclass(frozen=True, slots=True)
class Coding:
    """How a field becomes a code. `attribute`: its index. `missing`: the code of an empty field, None if it has none.

    `in_parts`: an empty field has no code, and takes a record down all branches in parts.

    `points`: of a number, rising; its code is how many of them are below it. None for listed values, coded in order.
    """

    attribute: int
    points: tuple[Decimal, ...] | None
    missing: int | None
    in_parts: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """What a split asks of a code.

    `each` has a branch a code, `up_to` goes left up to the code `rank`, `equals` goes right at the code `rank`.
    """

    kind: Kind
    rank: int = 0

    def branch_of(self, code: int) -> int:
        """The branch that a code takes."""
        if self.kind == "each":
            return code
        return int(code > self.rank if self.kind == "up_to" else code == self.rank)


def coding_of(subject: Subject, attribute: int) -> Coding:
    """The coding of an attribute's field."""
    described = subject.schema.attributes[attribute]
    points = described.cuts if described.fixed_point is None else _thresholds(subject, attribute)
    if described.is_fractional:
        return Coding(attribute, points, None, in_parts=True)
    return Coding(attribute, points, _missing_code(described, points))


def question_of(place: Place, coding: Coding) -> Question:
    """The question of a split, on the codes of its attribute."""
    if place.test is None:
        return Question("each")
    if isinstance(place.test, AtMost):
        return Question("up_to", (coding.points or ()).index(place.test.threshold))
    return Question("equals" if isinstance(place.test, Equals) else "up_to", place.test.value)


def float_bound(bound: Decimal) -> float:
    """The greatest double whose shortest decimal is at most `bound`: `x <= it` decides as that decimal against `bound`.

    It is `bound` rounded, or its lower neighbour: rounding is monotone, so only a double equal to the rounded bound can
    stand on the other side of the bound itself.
    """
    rounded = float(bound)
    return rounded if Decimal(repr(rounded)) <= bound else math.nextafter(rounded, -math.inf)


def _thresholds(subject: Subject, attribute: int) -> tuple[Decimal, ...]:
    tests = (place.test for place in subject.places if place.attribute == attribute)
    return tuple(sorted({test.threshold for test in tests if isinstance(test, AtMost)}))


def _missing_code(attribute: Attribute, points: tuple[Decimal, ...] | None) -> int | None:
    if attribute.fixed_point is None or points is None:
        return attribute.missing_code
    number = attribute.fixed_point.missing
    return None if number is None else bisect_left(points, number)
