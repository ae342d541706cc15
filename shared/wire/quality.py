"""Figures of a finished job that a study publishes: what its document says of them, and the documents that travel.

A hospital sends such a document inside its attestation, as text, so that it is hashed and signed as a published tree is
(decision record 44). All figures are rounded under the floor that the study names, and no float is among them.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from shared.wire.base import DecimalText, Hex16, Hex32, Id, WireModel, is_absent
from shared.wire.manifest import MAX_AGENTS, MAX_ATTRIBUTES, MAX_CLASSES

MAX_QUALITY_BYTES: Final = 2**19
"""Of one document: most classes, each with its measures and bins, need about half of it."""
DEFAULT_FLOOR: Final = 5
MAX_FLOOR: Final = 1000
WHOLE_PERCENT: Final = 100
BINS: Final = 10

QualityKind = Literal["evaluation", "importance"]
ShownCount = Annotated[int | None, Field(ge=0, le=2**53 - 1)]
"""A number of records as it is told: a multiple of the floor, None for one below it."""
Words = Annotated[str, StringConstraints(max_length=300)]
MeasureName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]


class QualitySpec(WireModel):
    """What a study publishes of its finished jobs.

    `figures`: of an evaluation how good the tree is, and how much each attribute of a grown tree told. `floor`: no
    number of records below it is told, and every other one is rounded to a multiple of it.
    """

    figures: Annotated[list[QualityKind], Field(min_length=1)]
    floor: Annotated[int, Field(ge=2, le=MAX_FLOOR)] = DEFAULT_FLOOR

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.figures != sorted(set(self.figures)):
            raise ValueError("figures: expected each once, sorted")
        return self


class Figure(WireModel):
    """One measure as it is told: value and interval in decimals, in words how it was made or why it is not there."""

    value: DecimalText | None
    low: DecimalText | None = None
    high: DecimalText | None = None
    method: Words | None = None
    reason: Words | None = None


class BinFigure(WireModel):
    """One bin of calibration: records whose predicted share of a class is `low` to `high`, and how many are of it."""

    low: DecimalText
    high: DecimalText
    records: ShownCount
    expected: DecimalText | None
    observed: Figure


class ClassFigures(WireModel):
    """One class against the rest. `bins`: none where the study shows no shares."""

    measures: dict[MeasureName, Figure]
    bins: Annotated[list[BinFigure], Field(max_length=BINS)]


class EvaluationFigures(WireModel):
    """How good a tree is, by one job that counted where records end in it.

    `on`: on which records, as reports say it; `note`: how they were chosen. `cells`: records by true class (line) and
    answered class; classes are those of the manifest, in their order. `best`: always answering the most frequent class;
    `training_majority`: that of the training, where it is known. `voted`, `scored`: where branches answered together.
    """

    v: Literal[1] = 1
    kind: Literal["evaluation"] = "evaluation"
    job: Hex16
    model: Hex16
    tree_sha256: Hex32
    floor: Annotated[int, Field(ge=2, le=MAX_FLOOR)]
    hospitals: Annotated[list[Id], Field(min_length=3, max_length=MAX_AGENTS)]
    on: Literal["training", "held-out", "mixed"]
    note: Words
    records: ShownCount
    stopped: ShownCount
    voted: Annotated[ShownCount, Field(exclude_if=is_absent)] = None
    scored: Annotated[ShownCount, Field(exclude_if=is_absent)] = None
    cells: Annotated[list[list[ShownCount]], Field(min_length=1, max_length=MAX_CLASSES)]
    truth: Annotated[list[ShownCount], Field(max_length=MAX_CLASSES)]
    predicted: Annotated[list[ShownCount], Field(max_length=MAX_CLASSES)]
    overall: dict[MeasureName, Figure]
    classes: Annotated[list[ClassFigures], Field(max_length=MAX_CLASSES)]
    best: Figure
    training_majority: Figure | None
    p_value: DecimalText | None


class ShareFigure(WireModel):
    """What one attribute told, as whole percent of what all questions told. `attribute`: its index in the schema."""

    attribute: Annotated[int, Field(ge=0, lt=MAX_ATTRIBUTES)]
    gini: Annotated[int, Field(ge=0, le=WHOLE_PERCENT)]
    entropy: Annotated[int, Field(ge=0, le=WHOLE_PERCENT)]


class ImportanceFigures(WireModel):
    """How much each attribute that a grown tree asks told of the records it was grown on, most by Gini first."""

    v: Literal[1] = 1
    kind: Literal["importance"] = "importance"
    job: Hex16
    tree_sha256: Hex32
    hospitals: Annotated[list[Id], Field(min_length=3, max_length=MAX_AGENTS)]
    shares: Annotated[list[ShareFigure], Field(max_length=MAX_ATTRIBUTES)]


Figures = EvaluationFigures | ImportanceFigures
