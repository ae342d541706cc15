"""The public data sets with numeric attributes on a grid that is each attribute's own numbers, for mode PPSDT.

Every number that occurs is a cut, so that nothing is lost by the grid and a threshold of ours can be held against J48's
by its number. An attribute of more numbers than a schema lists (254) gets only so many cuts, evenly among its numbers.
Where a column has gaps, its missing values are fractional, as they are in J48.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cache
from typing import Any

from shared.tree.numbers import decimal_text
from shared.tree.schema import Attribute, Schema
from tests.support import numeric_reference
from tests.support.reference_data import TREES

MOST_CUTS = 254
_ROUNDED = 0.011
"""Counts of parts of records have two digits, in ours and in theirs."""


@dataclass(frozen=True, slots=True)
class OrderedCase:
    """One data set: rows as texts and as codes, the class last; `tree`: J48's without pruning and penalty.

    `collapsed`: that of Quinlan's C4.5, with its penalty, collapsed. `is_whole`: whether each number is a cut.
    """

    schema: Schema
    rows: tuple[tuple[str, ...], ...] = field(repr=False)
    codes: list[tuple[int, ...]] = field(repr=False)
    tree: dict[str, Any] = field(repr=False)
    collapsed: dict[str, Any] = field(repr=False)
    nodes: int
    is_whole: bool


@cache
def load(name: str) -> OrderedCase:
    """One case. Raises: FileNotFoundError: the data are not beside the checkout."""
    case = numeric_reference.load(name)
    columns = list(zip(*case.rows, strict=True))
    attributes = [
        Attribute(a.name, a.values) if a.fixed_point is None else on_grid(a.name, texts)
        for a, texts in zip(case.schema.attributes, columns, strict=False)
    ]
    schema = Schema.create(attributes, case.schema.class_name, case.schema.classes)
    codes = [
        (*(a.code_of(text) for a, text in zip(attributes, row, strict=False)), schema.class_code(row[-1]))
        for row in case.rows
    ]
    numbers = zip(case.schema.attributes, columns, strict=False)
    whole = all(a.fixed_point is None or len(numbers_of(texts)) <= MOST_CUTS for a, texts in numbers)
    document = json.loads((TREES / f"{name}.gain-ratio.json").read_text(encoding="utf-8"))
    return OrderedCase(
        schema, case.rows, codes, case.tree, document["tree_c45"], case.summary["nodes"], whole
    )


def parted_otherwise(ours: Mapping[str, Any], expected: Mapping[str, Any], path: str = "root") -> list[str]:
    """Where two trees part the records otherwise: attributes, labels, counts; thresholds by the order of their sides.

    Other programs round the middle of a gap, so that a threshold may have another number and part the rows alike.
    """
    if "leaf" in expected:
        alike = ours.get("leaf") == expected["leaf"] and abs(ours["count"] - expected["count"]) < _ROUNDED
        return [] if alike else [f"{path}: another leaf"]
    if ours.get("attribute") != expected["attribute"]:
        return [f"{path}: {ours.get('attribute')} is not {expected['attribute']}"]
    if ("threshold" in expected) != next(iter(ours["branches"])).startswith("<= "):
        return [f"{path}: a threshold against values"]
    kids = zip(ours["branches"].values(), expected["branches"].values(), strict=True)
    return [
        text for n, (our, their) in enumerate(kids) for text in parted_otherwise(our, their, f"{path}/{n}")
    ]


def numbers_of(texts: Iterable[str]) -> set[Decimal]:
    """The numbers of a column that occur."""
    return {Decimal(text) for text in texts if text}


def on_grid(name: str, texts: tuple[str, ...]) -> Attribute:
    """A numeric attribute whose cuts are its numbers, or so many of them as a schema holds."""
    numbers = sorted(numbers_of(texts))
    if len(numbers) > MOST_CUTS:
        numbers = [numbers[place * len(numbers) // MOST_CUTS] for place in range(MOST_CUTS)]
    cuts = [decimal_text(number) for number in numbers]
    if "" not in texts:
        return Attribute.numeric(name, cuts)
    return replace(Attribute.numeric(name, cuts, "missing"), missing="fractional")


def thresholds_of(tree: Mapping[str, Any]) -> list[Decimal]:
    """The numbers at which a tree in the reference form parts records, in its order."""
    if "leaf" in tree:
        return []
    first = next(iter(tree["branches"]))
    own = [Decimal(first.removeprefix("<= "))] if first.startswith("<= ") else []
    return own + [number for kid in tree["branches"].values() for number in thresholds_of(kid)]
