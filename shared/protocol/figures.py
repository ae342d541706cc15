"""Published figures between their two forms: documents that travel, and the plain form that reports are made of."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from shared.evaluation.report_tables import (
    Table,
    calibration_table,
    confusion_table,
    importance_table,
    overall_table,
    per_class_table,
)
from shared.evaluation.report_words import JUDGED_ON, MEASURE_NAMES
from shared.protocol.quality import DIGITS, P_DIGITS
from shared.texts import text
from shared.tree.importance import Importance
from shared.wire.manifest import Manifest
from shared.wire.quality import (
    WHOLE_PERCENT,
    BinFigure,
    ClassFigures,
    EvaluationFigures,
    Figure,
    Figures,
    ImportanceFigures,
    QualityKind,
    ShareFigure,
)

LEVEL: Final = 0.95
"""Of the intervals of published figures."""


def importance_figures(
    manifest: Manifest, tree_sha256: str, hospitals: Sequence[str], found: Iterable[Importance]
) -> ImportanceFigures:
    """The document of a grown tree."""
    return ImportanceFigures(
        job=manifest.job,
        tree_sha256=tree_sha256,
        hospitals=sorted(hospitals),
        shares=[
            ShareFigure(attribute=each.attribute, gini=_percent(each.gini), entropy=_percent(each.entropy))
            for each in found
        ],
    )


def evaluation_figures(
    manifest: Manifest, hospitals: Sequence[str], entry: Mapping[str, Any]
) -> EvaluationFigures:
    """The document of an evaluation.

    Args: entry: a judgement in the plain form of reports, under the study's floor.
    """
    told, asked = entry["evaluation"], manifest.tally
    matrix, base = told["confusion"], told["baseline"]
    return EvaluationFigures(
        job=manifest.job,
        model="" if asked is None else str(asked.model),
        tree_sha256="" if asked is None else str(asked.tree_sha256),
        floor=told["floor"],
        hospitals=sorted(hospitals),
        on=entry["on"],
        note=entry["note"],
        records=_count(told["records"]),
        stopped=_count(told["stopped"]),
        voted=_count(told.get("voted")),
        scored=_count(told.get("scored")),
        cells=[[_count(cell) for cell in row] for row in matrix["cells"]],
        truth=[_count(number) for number in matrix["truth"]],
        predicted=[_count(number) for number in matrix["predicted"]],
        overall=_measures(told["overall"], told["floor"]),
        classes=[
            ClassFigures(
                measures=_measures(found["measures"], told["floor"]),
                bins=[_bin(one) for one in found.get("calibration", ())],
            )
            for found in told["classes"]
        ],
        best=_figure(base["most_frequent_class"]),
        training_majority=None if base["training_majority"] is None else _figure(base["training_majority"]),
        p_value=_decimal(base["p_value"], P_DIGITS),
    )


def _percent(share: Decimal) -> int:
    return int((share * WHOLE_PERCENT).to_integral_value())


def _count(told: int | str | None) -> int | None:
    return told if isinstance(told, int) else None


def _decimal(number: float | None, digits: int = DIGITS) -> str | None:
    """As text; what is not finite is told as not there."""
    if number is None or not math.isfinite(number):
        return None
    return f"{round(number, digits) + 0.0:.{digits}f}"


def _measures(told: Mapping[str, Any], floor: int) -> dict[str, Figure]:
    """Why a measure is not defined may tell of a single record, so that is told as too few records are."""
    absent = Figure(value=None, reason=text("measured.not_defined", floor=floor))
    return {name: absent if measure["value"] is None else _figure(measure) for name, measure in told.items()}


def _figure(told: Mapping[str, Any]) -> Figure:
    low, high = told["interval"] or (None, None)
    return Figure(
        value=_decimal(told["value"]),
        low=_decimal(low),
        high=_decimal(high),
        method=told["method"],
        reason=told["reason"],
    )


def _bin(told: Mapping[str, Any]) -> BinFigure:
    return BinFigure(
        low=f"{told['from']:.{DIGITS}f}",
        high=f"{told['to']:.{DIGITS}f}",
        records=told["records"],
        expected=_decimal(told["expected"]),
        observed=_figure(told["observed"]),
    )


def plain_entry(figures: EvaluationFigures, classes: Sequence[str]) -> dict[str, Any]:
    """A judgement in the plain form of reports again, from which their tables are made. Args: classes: the labels."""
    floor = figures.floor
    return {
        "on": figures.on,
        "words": JUDGED_ON[figures.on],
        "note": figures.note,
        "hospitals": list(figures.hospitals),
        "evaluation": {
            "floor": floor,
            "level": LEVEL,
            "records": _told(figures.records, floor),
            "stopped": _told(figures.stopped, floor),
            "confusion": {
                "classes": list(classes),
                "cells": [[_told(count, floor) for count in row] for row in figures.cells],
                "truth": [_told(count, floor) for count in figures.truth],
                "predicted": [_told(count, floor) for count in figures.predicted],
            },
            "overall": _in_order(figures.overall),
            "classes": [
                {
                    "class": label,
                    "measures": _in_order(found.measures),
                    "calibration": [_plain_bin(entry) for entry in found.bins],
                }
                for label, found in zip(classes, figures.classes, strict=True)
            ],
            "baseline": {
                "most_frequent_class": _plain(figures.best),
                "training_majority": None
                if figures.training_majority is None
                else _plain(figures.training_majority),
                "p_value": _number(figures.p_value),
            },
        },
        "decisions": [],
    }


def importance_rows(
    figures: ImportanceFigures, attributes: Sequence[str]
) -> tuple[tuple[str, float, float], ...]:
    """Names with their two shares, 0 to 1. Args: attributes: names, in the order of the schema."""
    return tuple(
        (attributes[each.attribute], each.gini / WHOLE_PERCENT, each.entropy / WHOLE_PERCENT)
        for each in figures.shares
    )


def figures_tables(kind: QualityKind, plain: Mapping[str, Any]) -> list[Table]:
    """The tables of a report that say them. Args: plain: an evaluation's plain entry, or rows under `importance`."""
    if kind == "importance":
        rows = [(each["attribute"], each["gini"], each["entropy"]) for each in plain["importance"]]
        return [importance_table(rows)]
    shares = calibration_table(plain)
    tables = [overall_table(plain), confusion_table(plain), per_class_table(plain)]
    return [*tables, shares] if shares.rows else tables


def plain_figures(figures: Figures, manifest: Manifest) -> dict[str, Any]:
    """Figures with names of classes and attributes. Args: manifest: of their job, or of that of the tree."""
    if isinstance(figures, EvaluationFigures):
        return plain_entry(figures, manifest.schema_.class_.labels)
    rows = importance_rows(figures, [attribute.name for attribute in manifest.schema_.attributes])
    return {"importance": [{"attribute": n, "gini": g, "entropy": e} for n, g, e in rows]}


def _in_order(measures: Mapping[str, Figure]) -> dict[str, dict[str, Any]]:
    """As reports have them: canonical JSON is sorted by name."""
    return {name: _plain(measures[name]) for name in MEASURE_NAMES if name in measures}


def _told(count: int | None, floor: int) -> int | str:
    return f"< {floor}" if count is None else count


def _number(text: str | None) -> float | None:
    return None if text is None else float(text)


def _plain(figure: Figure) -> dict[str, Any]:
    interval = None if figure.low is None else [_number(figure.low), _number(figure.high or figure.low)]
    return {
        "value": _number(figure.value),
        "interval": interval,
        "method": figure.method,
        "reason": figure.reason,
    }


def _plain_bin(entry: BinFigure) -> dict[str, Any]:
    return {
        "from": _number(entry.low),
        "to": _number(entry.high),
        "records": entry.records,
        "expected": _number(entry.expected),
        "observed": _plain(entry.observed),
    }
