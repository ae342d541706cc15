"""Numbers of a database read by a contract without leaving it: range, codes for missing, another unit, decimals.

Reading is a step function of the number: a unit is a factor and an offset, rounding keeps order, and cuts and ranges
are bounds. So whatever the contract does between the field and its code is done once to the bounds, in fractions,
and the engine only compares its column with literals of its own type: `37.5 < x AND x <= 38`. A floating number means
the shortest decimal that reads back as it, as engines print it; the literal is then the greatest such number within
the bound. What bounds cannot say is left to `sql_rows.read_codes` (`MustCopyError`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from operator import and_, or_
from typing import Any, Final, Self

import numpy as np

from hospital_agent.records.source import DataSettings
from hospital_agent.records.sql_engine import ibis
from shared.contract.reading import conversion_of
from shared.contract.spelling import number_or_none
from shared.tree.numbers import MAX_WHOLE_DIGITS
from shared.tree.schema import Attribute
from shared.wire.contract import ContractAttribute, owners_of

_FREE_DIGITS: Final = (21, 17)
"""Before and behind the point, of literals for a decimal column that declares neither."""
_EXACT: Final = Context(prec=100)
_ENDLESS: Final = math.inf
_TOO_LONG: Final = Fraction(10**MAX_WHOLE_DIGITS)
_NO_NUMBERS: Final = frozenset({"nan", "inf", "infinity"})


class MustCopyError(Exception):
    """These records cannot be counted where they are; the text says why, and names columns only."""


@dataclass(frozen=True, slots=True, order=True)
class Edge:
    """The numbers up to `value`; itself among them if `inclusive`. Ordered by how many numbers that is."""

    value: Fraction | float
    inclusive: bool = False

    def __contains__(self, number: Fraction) -> bool:
        """Whether a number is among them."""
        return bool(number <= self.value if self.inclusive else number < self.value)


_NOTHING: Final = Edge(-_ENDLESS)
_ALL: Final = Edge(_ENDLESS, True)


@dataclass(frozen=True, slots=True)
class NumberReading:
    """How one column's numbers become codes. Bounds are of the numbers as the hospital writes them.

    `cells`: for each interval of the study the edges that it lies between. `whole`: those of the range. `missing`:
    numbers that stand for an empty field, `missing_texts`: those that do only when written just so. `decimals`: more of
    them are a fault; None where any number is taken, or is rounded.
    """

    name: str
    cells: tuple[tuple[Edge, Edge], ...]
    whole: tuple[Edge, Edge]
    missing: tuple[Fraction, ...] = ()
    missing_texts: tuple[str, ...] = ()
    takes_empty: bool = False
    decimals: int | None = None
    takes_no_numbers: bool = False

    @classmethod
    def of(cls, attribute: Attribute, settings: DataSettings) -> Self:
        """The reading of an attribute with cuts; with `fixed_point` as well they are those that a tree asks for.

        Raises: InputError: a unit that the contract cannot convert from.
        """
        owner, point = _owner(attribute, settings), attribute.fixed_point
        codes = () if owner is None else tuple(owner.missing_codes)
        texts = (*settings.missing_codes, *codes)
        numbers = (number_or_none(code.strip()) for code in codes)
        whole, backwards = _ranged(owner, settings)
        if owner is None and point is not None:
            whole = Edge(Fraction(point.minimum)), Edge(Fraction(point.maximum), True)
        edges = [_NOTHING, *(Edge(Fraction(cut), True) for cut in attribute.cuts or ()), _ALL]
        bounds = [min(max(backwards(edge), whole[0]), whole[1]) for edge in edges]
        cells = tuple((min(pair), max(pair)) for pair in pairwise(bounds))
        decimals = None if owner is None else owner.decimals
        if owner is None and point is not None:
            decimals = point.decimals
        is_rounded = owner is not None and conversion_of(owner, _unit(attribute, settings)) is not None
        refuses = owner is not None and point is None and owner.missing_policy == "refuse"
        return cls(
            attribute.name,
            cells,
            whole,
            missing=tuple(Fraction(number) for number in numbers if number is not None),
            missing_texts=tuple(text for text in settings.missing_codes if number_or_none(text) is not None),
            takes_empty=attribute.missing_code is not None and not refuses,
            decimals=None if is_rounded else decimals,
            takes_no_numbers=any(text.strip().lower().lstrip("+-") in _NO_NUMBERS for text in texts),
        )


class _Backwards:
    """From a bound of the study's numbers to the bound of the numbers here that are read as such."""

    def __init__(self, factor: Fraction, offset: Fraction, step: Fraction | None) -> None:
        """Args: step: that converted numbers are rounded to, half to even; None where they are not."""
        self._factor, self._offset, self._step = factor, offset, step

    def __call__(self, edge: Edge) -> Edge:
        if isinstance(edge.value, float):
            return edge if self._factor > 0 else _other_end(edge)
        value, inclusive = edge.value, edge.inclusive
        if self._step is not None:
            last = last_whole(value / self._step, inclusive=inclusive)
            value, inclusive = (last + Fraction(1, 2)) * self._step, last % 2 == 0
        return Edge((value - self._offset) / self._factor, inclusive is (self._factor > 0))


def _other_end(edge: Edge) -> Edge:
    return _ALL if edge == _NOTHING else _NOTHING


def _ranged(owner: ContractAttribute | None, settings: DataSettings) -> tuple[tuple[Edge, Edge], _Backwards]:
    """The range of the numbers here, and the way back from the study's."""
    if owner is None:
        return (_NOTHING, _ALL), _Backwards(Fraction(1), Fraction(0), None)
    conversion = conversion_of(owner, settings.units.get(owner.name, ""))
    if conversion is None:
        backwards, low, high = _Backwards(Fraction(1), Fraction(0), None), _NOTHING, _ALL
    else:
        # What has more digits after its conversion than a record's number may have is refused, from a file as here.
        low, high = Edge(-_TOO_LONG, True), Edge(_TOO_LONG)
        step = None if owner.decimals is None else Fraction(1, 10**owner.decimals)
        backwards = _Backwards(Fraction(conversion.factor), Fraction(conversion.offset), step)
    if owner.minimum is not None:
        low = Edge(Fraction(owner.minimum))
    if owner.maximum is not None:
        high = Edge(Fraction(owner.maximum), True)
    ends = sorted(map(backwards, (low, high)))
    return (ends[0], ends[1]), backwards


def _owner(attribute: Attribute, settings: DataSettings) -> ContractAttribute | None:
    owners = () if settings.contract is None else owners_of(settings.contract)
    return next(
        (one for one in owners if isinstance(one, ContractAttribute) and one.name == attribute.name), None
    )


def _unit(attribute: Attribute, settings: DataSettings) -> str:
    return settings.units.get(attribute.name, "")


def last_whole(value: Fraction, *, inclusive: bool) -> int:
    """The greatest whole number up to a bound."""
    return math.floor(value) if inclusive else math.ceil(value) - 1


class NumberColumn:
    """A column of an engine with its reading: the conditions of its codes, and what to look for when it is frozen."""

    def __init__(self, column: Any, reading: NumberReading) -> None:
        """Raises: MustCopyError: bounds cannot say it."""
        self._column, self._reading, self._kind = column, reading, column.type()
        where = f"column {column.get_name()!r}"
        if not (self._kind.is_integer() or self._kind.is_floating() or self._kind.is_decimal()):
            raise MustCopyError(f"{where} holds numbers as texts")
        self._is_free = self._kind.is_decimal() and self._kind.scale is None
        self.may_be_no_number = not self._kind.is_integer()  # decimals of PostgreSQL have a NaN
        if reading.takes_no_numbers and self.may_be_no_number:
            raise MustCopyError(f"{where} takes NaN or infinity for a code")
        asked = [edge.value for cell in (*reading.cells, reading.whole) for edge in cell]
        if self._is_free and not all(map(_is_short, [*asked, *reading.missing])):
            raise MustCopyError(f"{where} declares no decimals, and a bound in its unit has too many")

    def conditions(self) -> tuple[Any, ...]:
        """One a code: the intervals, and missing last where the study has a value for it."""
        cells = tuple(self._within(cell) for cell in self._reading.cells)
        return (*cells, self.missing()) if self._reading.takes_empty else cells

    def missing(self) -> Any:
        """Whether the field is empty, or holds a code for it."""
        return reduce(or_, (self._column.isnull(), *(is_one for _, is_one in self._codes())))

    def faults(self) -> dict[str, Any]:
        """Fault to its condition: `no_number`, `empty`, `range`, `decimals`; `exponent`: decimals cannot be told."""
        found: dict[str, Any] = {}
        filled = ~self.missing()
        if self.may_be_no_number:
            number = self._column.cast("float64")
            found["no_number"] = number.isnan() | number.isinf()
            if self._is_free:
                too_long = self._column.cast("string").re_search(f"[0-9]{{{MAX_WHOLE_DIGITS + 1}}}")
                found["no_number"] |= too_long
        if not self._reading.takes_empty:
            found["empty"] = self.missing()
        if self._reading.whole != (_NOTHING, _ALL):
            found["range"] = filled & ~self._within(self._reading.whole)
        if self._reading.decimals is not None and not self._kind.is_integer():
            found |= self._decimals(self._reading.decimals, filled)
        return found

    def _decimals(self, decimals: int, filled: Any) -> dict[str, Any]:
        if self._kind.is_decimal() and self._kind.scale is not None and self._kind.scale <= decimals:
            return {}
        text = self._column.cast("string")
        has_more = text.re_search(rf"^[^eE]*\.[0-9]{{{decimals}}}0*[1-9][^eE]*$")
        return {"decimals": filled & has_more, "exponent": filled & text.re_search("[eE]")}

    def _codes(self) -> Iterator[tuple[Fraction, Any]]:
        """Numbers that mean an empty field, and whether a row holds one."""
        for number in self._reading.missing:
            literal = self._exactly(number)
            if literal is not None:
                yield number, self._column == literal
        for text in self._reading.missing_texts:
            yield Fraction(text), self._column.cast("string") == text

    def _within(self, cell: tuple[Edge, Edge]) -> Any:
        low, high = cell
        parts = [] if low == _NOTHING else [~self._up_to(low)]
        if high != _ALL:
            parts.append(self._up_to(high))
        inside = reduce(and_, parts) if parts else self._column.notnull()
        held = [is_one for number, is_one in self._codes() if number in high and number not in low]
        return reduce(and_, (~one for one in held), inside)

    def _up_to(self, edge: Edge) -> Any:
        never, always = self._column.isnull() & ibis().literal(False), self._column.notnull()
        if isinstance(edge.value, float):
            return always if edge == _ALL else never
        if self._is_free:
            literal = self._literal(edge.value)
            return self._column <= literal if edge.inclusive else self._column < literal
        last = self._last(edge.value, edge.inclusive)
        if last is None:
            return never
        return always if self._is_beyond(last) else self._column <= self._literal(last)

    def _last(self, value: Fraction, inclusive: bool) -> Fraction | None:
        """The greatest number of the column's type up to a bound; None where there is none."""
        if self._kind.is_floating():
            found = last_float(value, inclusive=inclusive, is_single=self._kind.nbytes == 4)
            return None if found is None else Fraction(float(found))
        scale = 10 ** (0 if self._kind.is_integer() else self._kind.scale)
        last = Fraction(last_whole(value * scale, inclusive=inclusive), scale)
        return last if last >= self._lowest() else None

    def _lowest(self) -> Fraction:
        if self._kind.is_integer():
            return Fraction(self._kind.bounds.lower)
        return -self._highest()

    def _highest(self) -> Fraction:
        if self._kind.is_integer():
            return Fraction(self._kind.bounds.upper)
        return Fraction(10 ** (self._kind.precision or 38) - 1, 10**self._kind.scale)

    def _is_beyond(self, number: Fraction) -> bool:
        return not self._kind.is_floating() and number >= self._highest()

    def _exactly(self, number: Fraction) -> Any | None:
        """The literal of a number; None where the column's type has no such number."""
        if self._kind.is_floating():
            near = _nearest(number, is_single=self._kind.nbytes == 4)
            return self._literal(Fraction(float(near))) if meaning(near) == number else None
        if self._is_free:
            return self._literal(number)
        scale = 10 ** (0 if self._kind.is_integer() else self._kind.scale)
        fits = (number * scale).denominator == 1 and self._lowest() <= number <= self._highest()
        return self._literal(number) if fits else None

    def _literal(self, number: Fraction) -> Any:
        """Written as text and cast: engines read numbers in a query by ways of their own, some of them not exact."""
        if self._kind.is_floating():
            return ibis().literal(repr(float(number))).cast("float64")
        if self._kind.is_integer():
            return ibis().literal(int(number), type="int64" if abs(number) < 1 << 63 else self._kind)
        text = format(_EXACT.divide(Decimal(number.numerator), Decimal(number.denominator)), "f")
        kind = f"decimal(38, {_FREE_DIGITS[1]})" if self._is_free else self._kind
        return ibis().literal(text).cast(kind)


def meaning(number: np.floating[Any] | float) -> Fraction:
    """What a floating number means: the shortest decimal that reads back as it, as engines print it."""
    return Fraction(str(number))


def last_float(value: Fraction, *, inclusive: bool, is_single: bool) -> np.floating[Any] | None:
    """The greatest finite floating number that means one up to a bound; None where none does."""
    edge, kind = Edge(value, inclusive), np.float32 if is_single else np.float64
    number = _nearest(value, is_single=is_single)
    while meaning(number) in edge and number < np.finfo(kind).max:
        number = np.nextafter(number, kind(math.inf))
    while meaning(number) not in edge:
        if number == np.finfo(kind).min:
            return None
        number = np.nextafter(number, kind(-math.inf))
    return number


def _nearest(value: Fraction, *, is_single: bool) -> np.floating[Any]:
    kind = np.float32 if is_single else np.float64
    most = float(np.finfo(kind).max)
    return kind(min(max(float(min(max(value, Fraction(-most)), Fraction(most))), -most), most))


def _is_short(value: Fraction | float) -> bool:
    """Whether it is a decimal that fits a literal of `_FREE_DIGITS`."""
    if isinstance(value, float):
        return True
    before, behind = _FREE_DIGITS
    return bool((value * 10**behind).denominator == 1 and abs(value) < 10**before)
