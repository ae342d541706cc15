"""Tables of judged records for tests, and the rows they stand for, as other programs want them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from shared.evaluation.table import LeafTable, Place, Smoothing, leaf_table
from shared.tree.model import Leaf, Split, Tree

Cells = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Rows:
    """One entry a record: class indices, and scores per class (records x classes)."""

    truth: NDArray[np.int64]
    predicted: NDArray[np.int64]
    scores: NDArray[np.float64]


def rows_of(table: LeafTable) -> Rows:
    """The records one by one."""
    truth: list[int] = []
    predicted: list[int] = []
    scores: list[list[float]] = []
    for place, counts in table.reached():
        for true, count in enumerate(counts):
            truth += [true] * count
            predicted += [place.label] * count
            scores += [[float(score) for score in place.scores or ()]] * count
    return Rows(np.array(truth), np.array(predicted), np.array(scores, dtype=float))


def flat_tree(training: Cells) -> Tree:
    """A tree of one question, whose leaves have these training records."""
    totals = tuple(sum(column) for column in zip(*training, strict=True))
    leaves = tuple(Leaf(max(range(len(row)), key=row.__getitem__), row) for row in training)
    return Tree(Split(0, leaves, max(range(len(totals)), key=totals.__getitem__), totals))


def table_of(training: Cells, judged: Cells, smoothing: Smoothing | None = None) -> LeafTable:
    """Judged records at the leaves of `flat_tree(training)`."""
    classes = tuple(f"c{k}" for k in range(len(training[0])))
    counts = dict(enumerate(judged, start=1))
    return leaf_table(flat_tree(training), classes, counts, smoothing or Smoothing())


def matrix_table(cells: Cells) -> LeafTable:
    """A table with one place a class, so that its confusion matrix is `cells` (true x predicted)."""
    size = len(cells)
    places = tuple(Place(k, k, True, tuple(Fraction(int(j == k)) for j in range(size))) for k in range(size))
    counts = tuple(tuple(row[k] for row in cells) for k in range(size))
    return LeafTable(tuple(f"c{k}" for k in range(size)), places, counts)


@st.composite
def tables(draw: st.DrawFn, *, least_classes: int = 2, smooth: bool | None = None) -> LeafTable:
    """2 to 5 classes, 1 to 7 leaves, 0 to 30 records a cell with many empty cells."""
    size = draw(st.integers(least_classes, 5))
    leaves = draw(st.integers(1, 7))
    count = st.one_of(st.just(0), st.integers(0, 4), st.integers(0, 30))
    cells: st.SearchStrategy[Any] = st.tuples(*[st.tuples(*[count] * size)] * leaves)
    smoothed = draw(st.booleans()) if smooth is None else smooth
    smoothing = Smoothing(size) if smoothed else Smoothing()
    training = draw(cells)
    if not any(map(any, training)):
        training = ((1,) * size, *training[1:])
    return table_of(training, draw(cells), smoothing)
