"""What is known of a job before it is started."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal

from shared.errors import InputError
from shared.wire.manifest import MAX_AGENTS, AttributeSpec, SchemaSpec
from shared.wire.quality import QualityKind
from shared.wire.secret import MAX_HEIGHT

LEAST_HOSPITALS: Final = 3
MAX_RECORDS: Final = 2**46
Kind = Literal["listed", "ordered", "equality", "numeric"]


@dataclass(frozen=True, slots=True)
class Question:
    """One attribute as costs see it. `values`: how many it lists, 0 for numbers. `bits`: of a code of mode G."""

    name: str
    kind: Kind
    values: int
    bits: int
    is_fractional: bool = False

    @property
    def column_bits(self) -> tuple[int, ...]:
        """The columns that mode G makes of it; a list that is not ordered is taken one value at a time."""
        if self.kind in ("ordered", "numeric"):
            return (self.bits,)
        return (1,) * (1 if self.values <= 2 else self.values)


@dataclass(frozen=True, slots=True)
class Line:
    """How hospitals reach the cloud. `round_trip_ms`: there and back; `megabits`: a second, of the slowest of them."""

    round_trip_ms: float = 30.0
    megabits: float = 50.0

    def seconds(self, waits: float, own_bytes: float) -> float:
        """So many waits for a message and back, and so many bytes of one hospital."""
        return waits * self.round_trip_ms / 1e3 + own_bytes * 8 / (self.megabits * 1e6)


@dataclass(frozen=True, slots=True)
class Case:
    """A job. `records`: of all hospitals together, roughly. `threshold`: hospitals that open a sum together, if any.

    `max_depth` None: any depth. `thresholds`: mode ppsdt splits ordered values in two, again and again. `figures`: of
    finished jobs, which the study publishes at the cloud.
    """

    hospitals: int
    records: int
    questions: tuple[Question, ...]
    classes: int
    max_depth: int | None = 8
    min_node: int = 10
    key_bits: int = 3072
    threshold: int | None = None
    line: Line = Line()
    thresholds: bool = False
    figures: frozenset[QualityKind] = frozenset()

    @property
    def values(self) -> tuple[int, ...]:
        """Listed values of each attribute."""
        return tuple(question.values for question in self.questions)

    @property
    def column_bits(self) -> tuple[int, ...]:
        """Bits of every column of mode G."""
        return tuple(bits for question in self.questions for bits in question.column_bits)

    @property
    def height(self) -> int:
        """Layers of mode G, which always goes through all of them."""
        return min(self.max_depth or MAX_HEIGHT, MAX_HEIGHT)


def case_of(
    schema: SchemaSpec,
    *,
    hospitals: int,
    records: int,
    max_depth: int | None = 8,
    min_node: int = 10,
    key_bits: int = 3072,
    threshold: int | None = None,
    line: Line | None = None,
    thresholds: bool = False,
    figures: Collection[QualityKind] = (),
) -> Case:
    """The case of a study's schema. Raises: InputError: a number that no job can have."""
    if not LEAST_HOSPITALS <= hospitals <= MAX_AGENTS:
        raise InputError(
            f"a job has {LEAST_HOSPITALS} to {MAX_AGENTS} hospitals, not {hospitals}",
            where="hospitals",
            remedy="Two hospitals would know each other's counts; name at least three.",
        )
    if not 1 <= records <= MAX_RECORDS:
        raise InputError(
            "expected a number of records from 1 on",
            where="records",
            remedy="A rough number will do: it decides how large the tree can grow.",
        )
    questions = tuple(_question(attribute) for attribute in schema.attributes)
    labels = len(schema.class_.labels)
    return Case(
        hospitals,
        records,
        questions,
        labels,
        max_depth,
        max(1, min_node),
        key_bits,
        threshold,
        line or Line(),
        thresholds,
        frozenset(figures),
    )


def _question(attribute: AttributeSpec) -> Question:
    is_fractional = attribute.missing is not None
    if attribute.numeric is not None:
        numbers = attribute.numeric
        steps = (Decimal(numbers.maximum) - Decimal(numbers.minimum)).scaleb(numbers.decimals)
        return Question(attribute.name, "numeric", 0, max(1, int(steps).bit_length()))
    values = len(attribute.values)
    bits = max(1, (values - 1).bit_length())
    kind: Kind = "listed"
    if attribute.cuts is not None or attribute.treat_as == "ordered":
        kind = "ordered"
    elif attribute.treat_as == "equality":
        kind = "equality"
    return Question(attribute.name, kind, values, bits, is_fractional)
