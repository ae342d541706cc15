"""Published figures as tables and sentences, for a terminal and for pages."""

from __future__ import annotations

from cloud_service.api.quality import FiguresOut, QualityOut
from shared.protocol.figures import figures_tables
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


def _lines(found: FiguresOut) -> list[str]:
    name = text(f"quality.kind.{found.kind}") if found.kind else text("quality.kind.none")
    told = ["", f"{name} (job {found.job}): {standing_words(found)}"]
    if found.kind is not None and found.figures is not None:
        for table in figures_tables(found.kind, found.figures):
            told += ["", *table.lines()]
    return told
