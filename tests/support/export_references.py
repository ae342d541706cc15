"""The trees that other programs grew (../shared/reference_trees) as cases for exports: shape, labels and rows.

Counts of leaves are theirs; where a leaf only tells its errors, these are given to the first other class, and weights
of records with missing values are rounded: what is compared is how forms answer, not who counted.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from shared.tree.binary_tests import AtMost
from shared.tree.model import Leaf, Node, Split, Tree
from shared.tree.numbers import FixedPoint, decimal_text
from shared.tree.schema import Attribute, Schema
from tests.support import numeric_reference, reference_data
from tests.support.export_cases import Case, Record
from tests.support.reference_data import TREES

_PARTS = ("tree", "tree_plain", "tree_c45")
_DRAWN = 200


def reference_names() -> list[str]:
    """Every tree there is: file and member."""
    return [
        f"{path.name}:{part}"
        for path in sorted(TREES.glob("*.*-*.json"))
        for part in _PARTS
        if part in json.loads(path.read_text(encoding="utf-8"))
    ]


def reference_case(name: str) -> Case:
    """The tree with all rows of its data set, and drawn records with missing and unknown values."""
    file, _, part = name.partition(":")
    document = json.loads((TREES / file).read_text(encoding="utf-8"))
    bounds = list(_thresholds(document[part]))
    attributes = [_attribute(column, values, bounds) for column, values in document["attributes"].items()]
    schema = Schema.create(attributes, document["class_column"], document["class_order"])
    tree = Tree(_node(document[part], schema, 0))
    records = [*_rows(file.split(".")[0], schema), *_drawn(schema, bounds)]
    return Case(tree, schema, "counts", records)


def _thresholds(node: Mapping[str, Any]) -> Iterator[Decimal]:
    if "threshold" in node:
        yield Decimal(decimal_text(Decimal(str(node["threshold"]))))
    for kid in node.get("branches", {}).values():
        yield from _thresholds(kid)


def _attribute(name: str, values: Any, bounds: list[Decimal]) -> Attribute:
    if values != "numeric":
        return Attribute(name, tuple(values))
    most = str(int(max(map(abs, bounds), default=Decimal(0))) + 1)
    return Attribute(name, (), fixed_point=FixedPoint.create(name, f"-{most}", most, 0))


def _node(entry: Mapping[str, Any], schema: Schema, above: int) -> Node:
    if "leaf" in entry:
        return Leaf(*_leaf(entry, schema, above))
    number = [attribute.name for attribute in schema.attributes].index(entry["attribute"])
    totals = _totals(entry, schema)
    majority = totals.index(max(totals))
    kids = tuple(_node(kid, schema, majority) for kid in entry["branches"].values())
    test = None
    if "threshold" in entry:
        test = AtMost(Decimal(decimal_text(Decimal(str(entry["threshold"])))))
    return Split(number, kids, majority, totals, test)


def _leaf(entry: Mapping[str, Any], schema: Schema, above: int) -> tuple[int, tuple[int, ...]]:
    label = above if entry["leaf"] is None else schema.classes.index(entry["leaf"])
    counts = [0] * schema.class_count
    if "classes" in entry:
        for name, count in entry["classes"].items():
            counts[schema.classes.index(name)] = round(count)
    else:
        errors = round(entry.get("errors", 0))
        counts[label] = round(entry["count"]) - errors
        counts[(label + 1) % schema.class_count] += errors
    return label, tuple(counts)


def _totals(entry: Mapping[str, Any], schema: Schema) -> tuple[int, ...]:
    if "leaf" in entry:
        return _leaf(entry, schema, 0)[1]
    return tuple(map(sum, zip(*(_totals(kid, schema) for kid in entry["branches"].values()), strict=True)))


def _rows(name: str, schema: Schema) -> Iterator[Record]:
    names = [attribute.name for attribute in schema.attributes]
    if name in numeric_reference.names():
        rows: Any = numeric_reference.load(name).rows
    elif name in reference_data.names():
        rows = reference_data.load(name).rows
    else:
        return
    for row in rows:
        yield {column: text if text.strip() else None for column, text in zip(names, row, strict=False)}


def _drawn(schema: Schema, bounds: list[Decimal]) -> Iterator[Record]:
    draw = random.Random(7)
    for _ in range(_DRAWN):
        yield {attribute.name: _field(attribute, bounds, draw) for attribute in schema.attributes}


def _field(attribute: Attribute, bounds: list[Decimal], draw: random.Random) -> str | None:
    if draw.random() < 0.08:
        return None
    if attribute.is_numeric:
        return decimal_text(
            draw.choice(bounds or [Decimal(0)]) + draw.choice([Decimal("-0.01"), Decimal(0), Decimal("0.01")])
        )
    return "not listed" if draw.random() < 0.05 else draw.choice(attribute.values)
