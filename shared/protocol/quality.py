"""Figures that a study publishes of its finished jobs: who may send which, and how they are read.

Rules, which a hospital checks before it sends and the cloud before it keeps (decision record 44):
1. the study's document names the figures, and a floor that they were rounded under;
2. figures belong to this job: its id, its members, and of an evaluation the tree that its manifest names;
3. every number of records is a multiple of the floor, or told as being below it; every share has two decimals;
4. without the study showing shares (`disclosure` class) there are no bins of calibration.
Reading is hostile: what came may be of hospitals that agreed on nonsense. `shared.protocol.figures` writes and shows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

from shared.errors import ErrorCode, PeerError
from shared.evaluation.report_words import MEASURE_NAMES
from shared.wire.base import validated
from shared.wire.manifest import Manifest
from shared.wire.quality import (
    MAX_QUALITY_BYTES,
    EvaluationFigures,
    Figures,
    ImportanceFigures,
    QualityKind,
    QualitySpec,
)
from shared.wire.study import StudyDocument

DIGITS: Final = 2
"""Behind the point of every measure: under a floor figures are told in hundredths."""
P_DIGITS: Final = 3


def kind_of(manifest: Manifest) -> QualityKind | None:
    """Which figures a job has once it is done; None for those whose members know none alike.

    Trees that grew on shares come without counts, so nobody knows how much an attribute told.
    """
    if manifest.tally is not None:
        return "evaluation" if manifest.tally.kind == "evaluation" else None
    return None if manifest.is_secret else "importance"


def published_kind(document: StudyDocument | None, manifest: Manifest) -> QualityKind | None:
    """The figures that this job sends to the cloud; None where the study's document does not name them."""
    if document is None or document.quality is None or document.id != manifest.study:
        return None
    if manifest.study_sha256 not in (None, document.sha256):
        return None
    kind = kind_of(manifest)
    return kind if kind in document.quality.figures else None


def sha256_of(text: str) -> str:
    """Hash of a document of figures, hex: what members must agree on."""
    return hashlib.sha256(text.encode()).hexdigest()


def read_figures(
    text: str, kind: QualityKind, spec: QualitySpec, manifest: Manifest, roster: Sequence[str]
) -> Figures:
    """Figures as they came, held against the rules above. Args: roster: of the job's members.

    Raises: PeerError: `too_large`, or `malformed` naming the rule that is broken.
    """
    raw = text.encode()
    if len(raw) > MAX_QUALITY_BYTES:
        raise PeerError(ErrorCode.TOO_LARGE, f"quality: at most {MAX_QUALITY_BYTES} bytes, got {len(raw)}")
    figures: Figures = (
        validated(EvaluationFigures, raw, what="quality")
        if kind == "evaluation"
        else validated(ImportanceFigures, raw, what="quality")
    )
    wrong = [
        (figures.canonical() != raw, "expected canonical JSON"),
        (kind not in spec.figures, "the study does not publish these figures"),
        (figures.job != manifest.job, "they are of another job"),
        (figures.hospitals != sorted(roster), "they name other hospitals than took part"),
        *(
            _wrong_evaluation(figures, spec, manifest)
            if isinstance(figures, EvaluationFigures)
            else _wrong_importance(figures, manifest)
        ),
    ]
    reason = next((words for broken, words in wrong if broken), None)
    if reason is not None:
        raise PeerError(ErrorCode.MALFORMED, f"quality: {reason}")
    return figures


def _wrong_importance(figures: ImportanceFigures, manifest: Manifest) -> list[tuple[bool, str]]:
    asked = [share.attribute for share in figures.shares]
    outside = [index for index in asked if index >= len(manifest.schema_.attributes)]
    return [(bool(outside) or len(set(asked)) != len(asked), "expected attributes of the study, once each")]


def _wrong_evaluation(
    figures: EvaluationFigures, spec: QualitySpec, manifest: Manifest
) -> list[tuple[bool, str]]:
    tally, classes = manifest.tally, len(manifest.schema_.class_.labels)
    sizes = {len(figures.cells), len(figures.truth), len(figures.predicted), len(figures.classes)}
    names = {*figures.overall, *(name for one in figures.classes for name in one.measures)}
    unlike = {tuple(one.measures) for one in figures.classes}
    return [
        (figures.floor != spec.floor, f"expected figures under the study's floor of {spec.floor}"),
        (
            tally is None or (figures.model, figures.tree_sha256) != (tally.model, tally.tree_sha256),
            "they are of another tree",
        ),
        (
            sizes != {classes} or {len(row) for row in figures.cells} != {classes},
            "expected a line and a column for each class",
        ),
        (not names <= MEASURE_NAMES.keys() or len(unlike) > 1, "expected the measures of reports"),
        (
            any(not _is_shown(count, spec.floor) for count in _counts(figures)),
            f"expected numbers of records in multiples of {spec.floor}",
        ),
        (
            any(not _is_short(text) for text in _texts(figures))
            or not _is_short(figures.p_value or "", P_DIGITS),
            f"expected figures with {DIGITS} decimals",
        ),
        (
            manifest.disclosure == "class" and any(one.bins for one in figures.classes),
            "the study shows no shares, so there are no bins of calibration",
        ),
    ]


def _counts(figures: EvaluationFigures) -> list[int | None]:
    rows = [figures.truth, figures.predicted, *figures.cells]
    bins = [entry.records for one in figures.classes for entry in one.bins]
    single = [figures.records, figures.stopped, figures.voted, figures.scored]
    return [*single, *bins, *(count for row in rows for count in row)]


def _is_shown(count: int | None, floor: int) -> bool:
    """Bins are of rounded cells, so 0 may stand there."""
    return count is None or count % floor == 0


def _texts(figures: EvaluationFigures) -> list[str]:
    measures = [*figures.overall.values(), figures.best]
    measures += [] if figures.training_majority is None else [figures.training_majority]
    texts: list[str | None] = []
    for one in figures.classes:
        measures += [*one.measures.values(), *(entry.observed for entry in one.bins)]
        for entry in one.bins:
            texts += [entry.low, entry.high, entry.expected]
    for measure in measures:
        texts += [measure.value, measure.low, measure.high]
    return [text for text in texts if text is not None]


def _is_short(text: str, digits: int = DIGITS) -> bool:
    return len(text.partition(".")[2]) <= digits
