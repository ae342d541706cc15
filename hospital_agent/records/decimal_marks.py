"""Whether a column's numbers are written 37.5 or 37,5, and how such a text is read.

Found out column by column from the texts that occur. A comma or point before exactly three digits may part thousands
as well as decimals; another column that leaves no doubt decides it, otherwise the mark is unclear, and a number that
hangs on it is refused (`matching`). Texts of a column that is a category are never touched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from hospital_agent.records.reading import Finding
from hospital_agent.records.table import Column, DecimalMark
from shared.texts import text
from shared.tree.numbers import UnknownValueError

_COMMA: Final = re.compile(r"[-+]?(?:[0-9]*|[0-9]{1,3}(?:\.[0-9]{3})+),[0-9]+(?:[eE][-+]?[0-9]+)?")
_POINT: Final = re.compile(r"[-+]?(?:[0-9]*|[0-9]{1,3}(?:,[0-9]{3})+)\.[0-9]+(?:[eE][-+]?[0-9]+)?")
_THOUSANDS: Final = re.compile(r"[-+]?[1-9][0-9]{0,2}[.,][0-9]{3}")
_SETTING: Final = "decimal_comma"


@dataclass(frozen=True, slots=True)
class _Evidence:
    """Which kinds of fractions occur in a column; `maybe`: such as might be thousands."""

    comma: bool
    maybe_comma: bool
    point: bool
    maybe_point: bool

    @classmethod
    def of(cls, texts: Iterable[str]) -> _Evidence:
        kinds = {(text_kind, _THOUSANDS.fullmatch(text) is not None) for text, text_kind in _fractions(texts)}
        return cls((",", False) in kinds, (",", True) in kinds, (".", False) in kinds, (".", True) in kinds)


def find_marks(
    columns: Sequence[Column], declared: bool | None, typed: Iterable[int] = ()
) -> list[DecimalMark]:
    """The mark of each column. Args: declared: the setting. typed: positions of columns that hold no texts."""
    if declared is False:
        return [DecimalMark.POINT] * len(columns)
    skipped = set(typed)
    nothing = _Evidence(False, False, False, False)
    found = [nothing if column.position in skipped else _Evidence.of(column.values) for column in columns]
    if declared:
        return [_declared(evidence) for evidence in found]
    commas = any(evidence.comma for evidence in found)
    points = any(evidence.point for evidence in found)
    return [_mark(evidence, commas, points) for evidence in found]


def with_marks(
    columns: Sequence[Column], declared: bool | None, typed: Iterable[int] = ()
) -> tuple[Column, ...]:
    """The columns with their marks. Args: as `find_marks`."""
    marks = find_marks(columns, declared, typed)
    return tuple(replace(column, decimal_mark=mark) for column, mark in zip(columns, marks, strict=True))


def mark_findings(columns: Sequence[Column], declared: bool | None) -> list[Finding]:
    """What the report says of the marks; nothing where no column has fractions with a comma."""
    if declared is not None:
        return [Finding("decimal mark", "comma" if declared else "point", text("reading.setting"), _SETTING)]
    commas = [column.name for column in columns if column.decimal_mark is DecimalMark.COMMA]
    unclear = [column.name for column in columns if column.decimal_mark is DecimalMark.UNCLEAR]
    if not commas and not unclear:
        return [Finding("decimal mark", "point", text("reading.no_commas"), _SETTING)]
    found = []
    if commas:
        why = text("reading.commas", columns=_listing(commas))
        found.append(Finding("decimal mark", "comma", why, _SETTING))
    if unclear:
        why = text("reading.unclear_mark", columns=_listing(unclear))
        found.append(Finding("decimal mark", "unclear", why, _SETTING))
    return found


def reader_of(mark: DecimalMark, read: Callable[[str], int], name: str) -> Callable[[str], int]:
    """`read` for texts of numbers with this mark. Args: name: of the attribute."""

    def with_comma(text: str) -> int:
        if "." in text:
            raise UnknownValueError(
                "expected a number with a decimal comma such as 37,5, and there is a point",
                where=f"attribute {name!r}",
                remedy="Write all numbers of the column in one way, without marks between thousands.",
            )
        return read(text.replace(",", ".", 1))

    def with_doubt(text: str) -> int:
        if any(_fractions([text])):
            raise UnknownValueError(
                "a mark that may part thousands or decimals",
                where=f"attribute {name!r}",
                remedy="Set decimal_comma to true or false in the data settings, or write the numbers in one way.",
            )
        return read(text)

    if mark is DecimalMark.COMMA:
        return with_comma
    return with_doubt if mark is DecimalMark.UNCLEAR else read


def _fractions(texts: Iterable[str]) -> Iterable[tuple[str, str]]:
    """The texts that are numbers with a fraction, each with its mark; texts without either mark cost little."""
    for one in texts:
        if "," in one and _COMMA.fullmatch(one):
            yield one, ","
        elif "." in one and _POINT.fullmatch(one):
            yield one, "."


def _mark(evidence: _Evidence, commas: bool, points: bool) -> DecimalMark:
    """Args: commas, points: whether any column of the file leaves no doubt."""
    has_point = evidence.point or evidence.maybe_point
    if evidence.comma:
        return DecimalMark.UNCLEAR if has_point else DecimalMark.COMMA
    if evidence.maybe_comma and not has_point:
        return DecimalMark.COMMA if commas and not points else DecimalMark.UNCLEAR
    if evidence.maybe_point and not evidence.point and commas and not points:
        return DecimalMark.UNCLEAR
    return DecimalMark.POINT


def _declared(evidence: _Evidence) -> DecimalMark:
    """With a decimal comma declared: a column whose fractions all have a point for certain is left as it is."""
    certain = evidence.point and not evidence.comma and not evidence.maybe_comma
    return DecimalMark.POINT if certain else DecimalMark.COMMA


def _listing(names: Sequence[str], most: int = 5) -> str:
    shown = ", ".join(map(repr, names[:most]))
    told = text("reading.columns" if len(names) > 1 else "reading.column", names=shown)
    return told + (", ..." if len(names) > most else "")
