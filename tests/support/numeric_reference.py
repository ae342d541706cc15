"""The public data sets with numeric attributes as mode G takes them, beside trees that other programs grew on them.

Weka's J48 and C4.5 are not mode G: they choose a threshold by gain and an attribute by ratio among those of average
gain, keep a least number of rows on each side, and give a category one branch a value. So their trees are no oracle for
ours; what can be held against them: at every node of theirs that is a test with two answers, our own best test is at
least as good by its own measure, and a tree of full height leaves as many training errors.

A missing number counts as the attribute's minimum here, as a study for mode G may declare it.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shared.tree.numbers import FixedPoint, decimal_text
from shared.tree.numeric import column_keys, numeric_columns
from shared.tree.schema import Attribute, Schema
from tests.support.reference_data import DATA, TREES

Fields = list[str]


@dataclass(frozen=True, slots=True)
class NumericCase:
    """One data set: `rows` as texts with the class last, their keys and labels, and J48's tree without pruning."""

    name: str
    schema: Schema
    rows: tuple[tuple[str, ...], ...] = field(repr=False)
    keys: NDArray[np.uint32] = field(repr=False)
    labels: NDArray[np.int64] = field(repr=False)
    tree: dict[str, Any] = field(repr=False)
    summary: dict[str, Any]


def names() -> list[str]:
    """The data sets that have a reader here, smallest first."""
    return list(_READERS)


@cache
def load(name: str) -> NumericCase:
    """One case. Raises: FileNotFoundError: the data are not beside the checkout."""
    document = json.loads((TREES / f"{name}.gain-ratio.json").read_text(encoding="utf-8"))
    rows = tuple(tuple(row) for row in _READERS[name]())
    columns = list(zip(*rows, strict=True))
    attributes = [
        _number(column, texts)
        if values == "numeric"
        else Attribute(column, tuple(values), treat_as="equality")
        for (column, values), texts in zip(document["attributes"].items(), columns, strict=False)
    ]
    schema = Schema.create(attributes, document["class_column"], document["class_order"])
    codes = [
        np.array([attribute.code_of(text) for text in texts], dtype=np.uint32)
        for attribute, texts in zip(attributes, columns, strict=False)
    ]
    labels = np.array([schema.class_code(text) for text in columns[-1]], dtype=np.int64)
    if len(rows) != document["rows"]:
        raise ValueError(f"{name}: the file has {len(rows)} rows, the reference says {document['rows']}")
    keys = column_keys(numeric_columns(schema), codes)
    return NumericCase(name, schema, rows, keys, labels, document["tree_plain"], document["summary_plain"])


def _number(name: str, texts: tuple[str, ...]) -> Attribute:
    numbers = [Decimal(text) for text in texts if text]
    decimals = max(max(0, -int(number.normalize().as_tuple().exponent)) for number in numbers)
    low, high = decimal_text(min(numbers)), decimal_text(max(numbers))
    missing = low if "" in texts else None
    return Attribute(name, (), fixed_point=FixedPoint.create(name, low, high, decimals, missing))


def _lines(file: str) -> Iterator[Fields]:
    text = (DATA / file).read_text(encoding="utf-8-sig")
    return (["" if cell == "?" else cell for cell in row] for row in csv.reader(text.splitlines()) if row)


def _play_tennis() -> Iterator[Fields]:
    lines = (DATA / "play-tennis/weather.numeric.arff").read_text(encoding="utf-8").splitlines()
    start = next(index for index, line in enumerate(lines) if line.strip().lower() == "@data") + 1
    return (row for row in csv.reader(lines[start:]) if row and not row[0].startswith("%"))


def _heart(*hospitals: str) -> Callable[[], Iterator[Fields]]:
    def read() -> Iterator[Fields]:
        for hospital in hospitals:
            for row in _lines(f"heart-disease/processed.{hospital}.data"):
                yield [*row[:13], "1" if int(row[13]) > 0 else "0"]

    return read


def _with_header(file: str) -> Callable[[], Iterator[Fields]]:
    return lambda: (row for index, row in enumerate(_lines(file)) if index)


_READERS: dict[str, Callable[[], Iterator[Fields]]] = {
    "play-tennis-numeric": _play_tennis,
    "heart-hungarian": _heart("hungarian"),
    "heart-cleveland": _heart("cleveland"),
    "thyroid-recurrence-numeric": _with_header("thyroid-recurrence/Thyroid_Diff.csv"),
    "early-stage-diabetes-numeric": _with_header("early-stage-diabetes/diabetes_data_upload.csv"),
    "wdbc": lambda: ([*row[2:], row[1]] for row in _lines("breast-cancer-wisconsin-diagnostic/wdbc.data")),
    "heart-2-hospitals": _heart("cleveland", "hungarian"),
    "breast-cancer-wisconsin": lambda: (
        row[1:] for row in _lines("breast-cancer-wisconsin-original/breast-cancer-wisconsin.data")
    ),
    "pima-diabetes": lambda: _lines("pima-diabetes/pima-indians-diabetes.data"),
}
