"""A small clinic with numbers: attributes in fixed point, and listed values in both treatments of mode G."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from shared.tree.gain_ratio_growing import GainRatioRules, grow_by_gain_ratio
from shared.tree.model import Tree
from shared.tree.numeric import column_keys, grid_steps, numeric_columns, tree_of_layers
from shared.tree.schema import Schema

Record = tuple[str, str, str, str, str]
CLASSES = ("well", "ill", "very ill")
SCHEMA: dict[str, Any] = {
    "attributes": [
        {
            "name": "temperature",
            "values": [],
            "cuts": None,
            "numeric": {"minimum": "35", "maximum": "42", "decimals": 1},
        },
        {
            "name": "pulse",
            "values": [],
            "cuts": None,
            "numeric": {"minimum": "40", "maximum": "180", "decimals": 0},
        },
        {"name": "pain", "values": ["none", "some", "much"], "cuts": None, "treat_as": "ordered"},
        {"name": "ward", "values": ["a", "b", "c"], "cuts": None, "treat_as": "equality"},
    ],
    "class": {"name": "state", "labels": list(CLASSES)},
}
NAMES = tuple(str(attribute["name"]) for attribute in SCHEMA["attributes"])


def records(count: int, seed: int = 1) -> list[Record]:
    """Records whose class follows their values, with some noise."""
    choose = random.Random(seed)
    made = []
    for _ in range(count):
        temperature = Decimal(choose.randrange(355, 410)) / 10
        pulse = choose.randrange(50, 140, 5)
        pain, ward = choose.choice(["none", "some", "much"]), choose.choice("abc")
        points = (temperature > Decimal("38.4")) + (pulse > 100) + (pain == "much") - (ward == "b")
        label = min(2, max(0, points if choose.random() < 0.9 else choose.randrange(3)))
        made.append((str(temperature), str(pulse), pain, ward, CLASSES[label]))
    return made


def dealt(rows: Sequence[Record], hospitals: Sequence[str]) -> dict[str, list[Record]]:
    """The records dealt round robin."""
    return {name: list(rows[start :: len(hospitals)]) for start, name in enumerate(hospitals)}


def write_rows(path: Path, rows: Sequence[Record]) -> Path:
    """A CSV file of records."""
    lines = [",".join((*NAMES, "state")), *(",".join(row) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def files(folder: Path, parts: Mapping[str, Sequence[Record]]) -> dict[str, Path]:
    """One file a hospital."""
    folder.mkdir(exist_ok=True)
    return {name: write_rows(folder / f"{name}.csv", rows) for name, rows in parts.items()}


def codes(rows: Sequence[Record]) -> tuple[list[np.ndarray[Any, Any]], np.ndarray[Any, Any]]:
    """The codes of records, attribute by attribute, and their classes."""
    schema = Schema.from_json(SCHEMA)
    columns = [
        np.array([attribute.code_of(row[place]) for row in rows], np.int64)
        for place, attribute in enumerate(schema.attributes)
    ]
    return columns, np.array([CLASSES.index(row[-1]) for row in rows], np.int64)


def pooled_tree(rows: Sequence[Record], steps: Mapping[int, str] | None = None, **rules: Any) -> Tree:
    """What mode G must come to on all records. Args: rules: as `GainRatioRules`, but for the grid."""
    schema = Schema.from_json(SCHEMA)
    columns = numeric_columns(schema)
    attributes, labels = codes(rows)
    grid = {place: Decimal(step) for place, step in (steps or {}).items()}
    layers = grow_by_gain_ratio(
        column_keys(columns, attributes),
        labels,
        len(CLASSES),
        GainRatioRules(**rules, grid=grid_steps(schema, columns, grid) if grid else ()),
    )
    return tree_of_layers(layers, schema, columns)
