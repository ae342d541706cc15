"""The records that every run of a comparison works on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from privet.demo import acute_inflammations

Row = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Dealt:
    """Rows (attribute codes, then the class) of each hospital, and the schema's sizes."""

    schema: dict[str, Any] = field(repr=False)
    values: tuple[int, ...]
    classes: int
    hospitals: tuple[tuple[Row, ...], ...] = field(repr=False)


def demo_records(hospitals: int = 3) -> Dealt:
    """The Acute Inflammations records, dealt round robin, as the demo does it."""
    schema = acute_inflammations.schema()
    rows: list[Row] = []
    for symptoms, label, count in acute_inflammations.PATTERNS:
        rows += [(*(int(digit) for digit in symptoms), label)] * count
    values = tuple(len(attribute.values) for attribute in schema.attributes)
    return Dealt(schema.to_json(), values, schema.class_count, deal(rows, hospitals))


def deal(rows: Sequence[Row], hospitals: int) -> tuple[tuple[Row, ...], ...]:
    """Row k goes to hospital k mod `hospitals`."""
    return tuple(tuple(rows[number::hospitals]) for number in range(hospitals))
