from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hospital_agent.records import counting
from hospital_agent.records.counting import count_codes
from shared.errors import InternalError
from shared.tree.counting import count_rows
from shared.tree.frontier import NodeQuery
from shared.tree.growing import grow
from shared.tree.growth_rules import GrowthRules
from shared.tree.schema import Schema
from tests.support.tree_strategies import Sample, make_schema, rules, samples


def to_codes(rows: Sequence[Sequence[int]], schema: Schema) -> NDArray[np.uint8]:
    shape = (len(rows), len(schema.attributes) + 1)
    return np.ascontiguousarray(np.array(rows, dtype=np.uint8).reshape(shape).T)


def sizes_of(schema: Schema) -> list[int]:
    return [len(attribute.values) for attribute in schema.attributes]


def kernel(sample: Sample, queries: Sequence[NodeQuery], threads: int = 1) -> list[int]:
    codes = to_codes(sample.rows, sample.schema)
    return count_codes(codes, sizes_of(sample.schema), sample.schema.class_count, queries, threads=threads)


@settings(max_examples=100)
@given(sample=samples(), growth_rules=rules("information-gain"))
def test_every_round_of_a_growth_is_counted_as_by_hand(sample: Sample, growth_rules: GrowthRules) -> None:
    def both(queries: Sequence[NodeQuery]) -> Sequence[int]:
        cells = kernel(sample, queries)
        assert cells == count_rows(sample.rows, queries, sample.schema)
        return cells

    grow(sample.schema, growth_rules, both)


@pytest.mark.parametrize("block_rows", [1, 7, 64])
@pytest.mark.parametrize("joint_cells", [1, 40, 1 << 14])
def test_block_and_histogram_sizes_do_not_matter(
    block_rows: int, joint_cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = make_schema((3, 1, 256, 4, 2), 3)
    generator = np.random.default_rng(5)
    rows = generator.integers(0, [3, 1, 256, 4, 2, 3], (500, 6)).tolist()
    queries = [
        NodeQuery(((0, 0), (3, 1)), (1, 2, 4), (0, 2)),
        NodeQuery(((0, 0), (3, 3)), (1, 2, 4), (1,)),
        NodeQuery(((0, 2), (4, 1)), (1, 2, 3), (0, 1, 2)),
    ]
    monkeypatch.setattr(counting, "BLOCK_ROWS", block_rows)
    monkeypatch.setattr(counting, "JOINT_CELLS", joint_cells)
    assert kernel(Sample(schema, rows), queries) == count_rows(rows, queries, schema)


def test_threads_share_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = make_schema((3, 2), 2)
    rows = [(a, b, c) for a, b, c in product(range(3), range(2), range(2)) for _ in range(a + 2 * b + 3 * c)]
    queries = [NodeQuery((), (0, 1), (0, 1))]
    monkeypatch.setattr(counting, "ROWS_PER_THREAD", 5)
    assert kernel(Sample(schema, rows), queries, threads=3) == count_rows(rows, queries, schema)


def test_open_nodes_of_different_depths_are_counted_together() -> None:
    schema = make_schema((2, 2, 2), 2)
    rows = [(a, b, c, d) for a, b, c, d in product(range(2), repeat=4) for _ in range(1 + a + 2 * b + 4 * d)]
    queries = [NodeQuery(((0, 0),), (1, 2), (0, 1)), NodeQuery(((0, 1), (1, 0)), (2,), (1,))]
    assert kernel(Sample(schema, rows), queries) == count_rows(rows, queries, schema)


@given(st.data())
def test_a_query_without_classes_has_no_cells(data: st.DataObject) -> None:
    sample = data.draw(samples())
    everything = tuple(range(len(sample.schema.attributes)))
    assert kernel(sample, [NodeQuery((), everything, ())]) == []


@pytest.mark.parametrize(
    "paths",
    [
        [((0, 0),), ((1, 0),)],
        [(), ((0, 0),)],
        [((0, 0),), ()],
        [((0, 0),), ((0, 0),)],
    ],
    ids=[
        "two attributes at one node",
        "a node below an open one",
        "a node above an open one",
        "one node twice",
    ],
)
def test_nodes_that_are_not_disjoint_are_a_bug_of_ours(paths: list[tuple[tuple[int, int], ...]]) -> None:
    sample = Sample(make_schema((2, 2, 2), 2), [(0, 0, 0, 0)])
    with pytest.raises(InternalError):
        kernel(sample, [NodeQuery(path, (2,), (0, 1)) for path in paths])
