"""Published figures as pages show them: measures with intervals, the matrix, predicted shares, importance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cloud_service.api.quality import FiguresOut
from cloud_service.api.quality_words import standing_words
from cloud_service.pages.wording import BAD, GOOD, WAIT, Word
from shared.evaluation.report_tables import NOTHING, Table, per_class_table
from shared.evaluation.report_words import MEASURE_NAMES
from shared.texts import text

_KINDS: Final = {"published": GOOD, "differ": BAD, "waiting": WAIT}
_HEADLINE: Final = ("accuracy", "balanced_accuracy", "auc_macro")
_SHARES: Final = frozenset(
    {"accuracy", "balanced_accuracy", "f1_macro", "f1_weighted", "auc_macro", "brier", "not_covered"}
)
"""Measures from 0 to 1, which can be drawn on one line."""
_LEVELS: Final = 4
_LOW_P: Final = 0.001


@dataclass(frozen=True, slots=True)
class Drawn:
    """A figure and its interval; `value`, `low`, `high` 0 to 1 where it can be drawn, `expected` a mark beside it."""

    name: str
    told: str
    interval: str
    remark: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    expected: float | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """Records of one true and one answered class. `level`: 0 to 4, its share of the true class."""

    told: str
    level: int
    is_right: bool


@dataclass(frozen=True, slots=True)
class Line:
    """One true class of the matrix."""

    label: str
    cells: tuple[Cell, ...]
    truth: str


@dataclass(frozen=True, slots=True)
class Bin:
    """Records of one predicted share of a class."""

    label: str
    predicted: str
    records: str
    expected: str
    observed: Drawn


@dataclass(frozen=True, slots=True)
class QualityView:
    """An evaluation. Without figures, `words` say where they are and the rest is empty."""

    job: str
    state: str
    words: Word
    missing: tuple[str, ...]
    on: str = ""
    note: str = ""
    hospitals: tuple[str, ...] = ()
    records: str = ""
    floor: int = 0
    labels: tuple[str, ...] = ()
    lines: tuple[Line, ...] = ()
    headline: tuple[Drawn, ...] = ()
    measures: tuple[Drawn, ...] = ()
    classes: Table | None = None
    bins: tuple[Bin, ...] = ()
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class Share:
    """What one attribute told, 0 to 1 each."""

    name: str
    gini: float
    entropy: float


@dataclass(frozen=True, slots=True)
class ImportanceView:
    """How much attributes told; without figures, `words` say where they are."""

    state: str
    words: Word
    missing: tuple[str, ...]
    shares: tuple[Share, ...] = ()


def importance_view(found: FiguresOut) -> ImportanceView:
    """The importance of a grown tree's attributes."""
    plain = found.figures or {"importance": ()}
    shares = tuple(Share(each["attribute"], each["gini"], each["entropy"]) for each in plain["importance"])
    return ImportanceView(found.state, _word(found), tuple(found.missing), shares)


def quality_view(found: FiguresOut) -> QualityView:
    """An evaluation as a page shows it."""
    empty = QualityView(found.job, found.state, _word(found), tuple(found.missing))
    plain = found.figures
    if plain is None:
        return empty
    told = plain["evaluation"]
    measures = _measures(told)
    return QualityView(
        found.job,
        found.state,
        empty.words,
        (),
        on=plain["words"],
        note=plain["note"],
        hospitals=tuple(plain["hospitals"]),
        records=str(told["records"]),
        floor=told["floor"],
        labels=tuple(_label(label) for label in told["confusion"]["classes"]),
        lines=tuple(_lines(told["confusion"])),
        headline=tuple(measures[name] for name in _HEADLINE if name in measures),
        measures=(*measures.values(), *_baselines(told["baseline"])),
        classes=per_class_table(plain),
        bins=tuple(_bins(told["classes"])),
        sha256=found.sha256 or "",
    )


def _word(found: FiguresOut) -> Word:
    return Word(standing_words(found), _KINDS.get(found.state, WAIT))


def _label(label: str) -> str:
    return label or text("quality.empty_label")


def _lines(confusion: Mapping[str, Any]) -> list[Line]:
    rows = zip(confusion["classes"], confusion["cells"], confusion["truth"], strict=True)
    return [
        Line(
            _label(label),
            tuple(Cell(str(n), _level(n, cells), place == column) for column, n in enumerate(cells)),
            str(truth),
        )
        for place, (label, cells, truth) in enumerate(rows)
    ]


def _level(count: int | str, row: Sequence[int | str]) -> int:
    """How full a cell is, in quarters of its line; a number below the floor is the lightest."""
    whole = sum(each for each in row if isinstance(each, int))
    return -(-_LEVELS * count // whole) if isinstance(count, int) and whole else 0


def _measures(told: Mapping[str, Any]) -> dict[str, Drawn]:
    return {
        name: _drawn(MEASURE_NAMES[name], found, drawn=name in _SHARES)
        for name, found in told["overall"].items()
    }


def _baselines(base: Mapping[str, Any]) -> list[Drawn]:
    told = [_drawn(text("quality.most_frequent"), base["most_frequent_class"], drawn=True)]
    if base["training_majority"] is not None:
        told.append(_drawn(text("quality.training_majority"), base["training_majority"], drawn=True))
    if base["p_value"] is not None:
        p = base["p_value"]
        told.append(Drawn(text("quality.p_value"), "< 0.001" if p <= _LOW_P else f"{p:.3f}", "", ""))
    return told


def _drawn(name: str, found: Mapping[str, Any], *, drawn: bool, expected: float | None = None) -> Drawn:
    value, interval = found["value"], found["interval"]
    told = NOTHING if value is None else f"{value:.2f}"
    between = "" if interval is None else text("quality.interval", low=interval[0], high=interval[1])
    remark = found["reason"] or ""
    if not drawn or value is None:
        return Drawn(name, told, between, remark)
    low, high = (None, None) if interval is None else (_unit(interval[0]), _unit(interval[1]))
    return Drawn(name, told, between, remark, _unit(value), low, high, expected)


def _unit(number: float) -> float:
    return min(1.0, max(0.0, number))


def _bins(classes: Sequence[Mapping[str, Any]]) -> list[Bin]:
    return [
        Bin(
            _label(found["class"]),
            text("quality.between", low=one["from"], high=one["to"]),
            str(one["records"]),
            NOTHING if one["expected"] is None else f"{one['expected']:.2f}",
            _drawn("", one["observed"], drawn=True, expected=one["expected"]),
        )
        for found in classes
        for one in found["calibration"]
        if one["records"]
    ]
