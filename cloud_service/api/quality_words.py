"""Published figures as tables and sentences, for a terminal and for pages."""

from __future__ import annotations

from collections.abc import Iterator

from cloud_service.api.quality import FiguresOut, QualityOut
from shared.evaluation.report_tables import (
    Table,
    calibration_table,
    confusion_table,
    importance_table,
    overall_table,
    per_class_table,
)
from shared.texts import text


def quality_lines(found: QualityOut) -> list[str]:
    """Everything that is published of a job, or why nothing is."""
    told = [f"Job {found.job} of study {found.study}."]
    for one in [] if found.importance is None else [found.importance]:
        told += _lines(one)
    for one in found.evaluations:
        told += _lines(one)
    if found.importance is not None and not found.evaluations:
        told.append(text("quality.no_evaluation", job=found.job))
    return told


def standing_words(found: FiguresOut) -> str:
    """Where the figures of a job stand, and what to do."""
    return text(f"quality.{found.state}", n=len(found.sent), missing=", ".join(found.missing))


def tables_of(found: FiguresOut) -> list[Table]:
    """The tables of published figures; none of others."""
    plain = found.figures
    if plain is None:
        return []
    if found.kind == "importance":
        rows = [(each["attribute"], each["gini"], each["entropy"]) for each in plain["importance"]]
        return [importance_table(rows)]
    return [overall_table(plain), confusion_table(plain), per_class_table(plain), *_calibration(plain)]


def _calibration(plain: dict[str, object]) -> Iterator[Table]:
    table = calibration_table(plain)
    if table.rows:
        yield table


def _lines(found: FiguresOut) -> list[str]:
    name = text(f"quality.kind.{found.kind}") if found.kind else text("quality.kind.none")
    told = ["", f"{name} (job {found.job}): {standing_words(found)}"]
    for table in tables_of(found):
        told += ["", *table.lines()]
    return told
