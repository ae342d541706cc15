"""Tests with two answers, of mode G: at most a number, at most a value in its order, one value or another.

What goes left or right, how a test stands in a tree's JSON, and what its two branches are called is told here once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from shared.errors import InputError
from shared.tree.numbers import decimal_text
from shared.tree.schema import Attribute
from shared.tree.schema_checks import parse_cut, text_of


@dataclass(frozen=True, slots=True)
class AtMost:
    """`x <= threshold` goes left: of an attribute in fixed point."""

    threshold: Decimal

    @property
    def member(self) -> tuple[str, str]:
        """Its member in a tree's JSON."""
        return "threshold", decimal_text(self.threshold)


@dataclass(frozen=True, slots=True)
class UpTo:
    """A value of an index up to this one goes left: of an attribute treated as ordered."""

    value: int

    @property
    def member(self) -> tuple[str, int]:
        """Its member in a tree's JSON."""
        return "up_to", self.value


@dataclass(frozen=True, slots=True)
class Equals:
    """The value of this index goes right, every other one left: of an attribute treated by equality."""

    value: int

    @property
    def member(self) -> tuple[str, int]:
        """Its member in a tree's JSON."""
        return "equals", self.value


BinaryTest = AtMost | UpTo | Equals

MEMBERS: Final = frozenset({"threshold", "up_to", "equals"})


def read_test(entry: Mapping[str, Any]) -> BinaryTest | None:
    """The test of a split's JSON, None for one that has a branch a value.

    Raises: InputError: several tests at once, or a number in another form than the one `decimal_text` writes.
    """
    named = MEMBERS & set(entry)
    if not named:
        return None
    if len(named) > 1:
        raise InputError("expected one of threshold, up_to and equals", where="tree")
    (name,) = named
    if name == "threshold":
        threshold = parse_cut("tree", text_of(entry[name], "tree"))
        if decimal_text(threshold) != entry[name]:
            raise InputError("expected a threshold without zeros at its end", where="tree")
        return AtMost(threshold)
    value = entry[name]
    if type(value) is not int or value < 0:
        raise InputError("expected the index of a value", where="tree")
    return UpTo(value) if name == "up_to" else Equals(value)


def branch_names(attribute: Attribute, test: BinaryTest | None) -> tuple[str, ...]:
    """What the branches of a split are called: the values (without a fractional one for empty fields), or the two sides
    of the test with their sign."""
    if test is None:
        return attribute.values[: attribute.branch_count]
    if isinstance(test, AtMost):
        bound = decimal_text(test.threshold)
        return f"<= {bound}", f"> {bound}"
    value = attribute.values[test.value]
    if isinstance(test, Equals):
        return f"!= {value}", f"= {value}"
    return (f"<= {value}", f"> {value}") if attribute.cuts is None else _interval_sides(attribute, test.value)


def _interval_sides(attribute: Attribute, value: int) -> tuple[str, str]:
    """The two sides of an order of intervals, after which the value for an empty field comes, if there is one."""
    cuts = attribute.cuts or ()
    last = attribute.values[-1]
    if value >= len(cuts):
        return f"!= {last}", f"= {last}"
    bound = decimal_text(cuts[value])
    alone = attribute.missing_code is None or attribute.is_fractional
    return f"<= {bound}", f"> {bound}" if alone else f"> {bound} or {last}"


def goes_right(test: UpTo | Equals, code: int) -> bool:
    """Where a listed value goes."""
    return code == test.value if isinstance(test, Equals) else code > test.value
