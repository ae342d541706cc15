"""Growth against exact oracles, and its promises: same tree however counted, dealt, skipped or restarted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.tree.counting import count_rows
from shared.tree.frontier import NodeQuery
from shared.tree.growing import Growth, grow
from shared.tree.growth_rules import GrowthRules
from shared.tree.model import Leaf, Split
from shared.tree.paths import parse_path, path_order, path_text
from tests.support.exact_tree import best_by_gain, best_by_ratio, faults
from tests.support.tree_strategies import Sample, make_schema, rules, samples

MH = hashlib.sha256(b"test manifest").digest()


def grown(sample: Sample, how: GrowthRules) -> Growth:
    return grow(sample.schema, how, lambda queries: count_rows(sample.rows, queries, sample.schema), MH)


def with_skipping(how: GrowthRules, skip_known: bool) -> GrowthRules:
    return GrowthRules(
        how.criterion, how.min_node, how.min_child, how.max_depth, how.split_on_zero_gain, skip_known
    )


@given(samples(), rules("information-gain"))
@settings(max_examples=100, deadline=None)
def test_information_gain_tree_is_an_exact_one(sample: Sample, how: GrowthRules) -> None:
    tree = json.loads(grown(sample, how).tree.canonical())
    assert faults(tree, sample.rows, sample.setting(how), "information-gain") == []


@given(samples(), rules("gain-ratio"))
@settings(max_examples=100, deadline=None)
def test_gain_ratio_tree_agrees_with_high_precision(sample: Sample, how: GrowthRules) -> None:
    tree = json.loads(grown(sample, how).tree.canonical())
    assert faults(tree, sample.rows, sample.setting(how), "gain-ratio") == []


def test_the_oracle_finds_a_wrong_tree() -> None:
    rows = [(0, 0, 0), (0, 1, 0), (1, 0, 1), (1, 1, 1)]
    sample = Sample(make_schema((2, 2), 2), rows)
    how = GrowthRules(min_node=1, min_child=1)
    right = json.loads(grown(sample, how).tree.canonical())
    wrong = {"attr": 1, "kids": right["kids"]}
    assert faults(right, rows, sample.setting(how), "information-gain") == []
    assert faults(wrong, rows, sample.setting(how), "information-gain") != []
    assert faults({"leaf": 0}, rows, sample.setting(how), "information-gain") != []


def test_mirrored_attributes_tie_and_the_first_wins() -> None:
    rows = [
        (value, 1 - value, other, label) for value in (0, 1) for other in (0, 1, 2) for label in (0, value)
    ]
    sample = Sample(make_schema((2, 2, 3), 2), rows)
    setting = sample.setting(GrowthRules(min_node=1, min_child=1))
    assert best_by_gain(rows, [0, 1, 2], setting) == [0, 1] == best_by_ratio(rows, [0, 1, 2], setting)
    for criterion in ("information-gain", "gain-ratio"):
        root = grown(sample, GrowthRules(criterion, min_node=1, min_child=1)).tree.root
        assert isinstance(root, Split)
        assert root.attribute == 0


@given(samples(), st.sampled_from(["information-gain", "gain-ratio"]).flatmap(rules))
@settings(max_examples=100, deadline=None)
def test_skipping_known_cells_changes_nothing_but_the_asking(sample: Sample, how: GrowthRules) -> None:
    full = grown(sample, with_skipping(how, False))
    short = grown(sample, with_skipping(how, True))
    assert short.tree == full.tree
    assert (short.state, short.depth) == (full.state, full.depth)


@given(samples(), rules("information-gain"))
@settings(max_examples=50, deadline=None)
def test_skipping_never_asks_for_more_and_always_for_something(sample: Sample, how: GrowthRules) -> None:
    growth = Growth.start(sample.schema, with_skipping(how, True), MH)
    while not growth.is_done:
        assert growth.slot_count > 0
        assert growth.slot_count == sum(query.cell_count(sample.schema) for query in growth.queries)
        whole = sum(
            NodeQuery(node.path, node.attributes, tuple(range(sample.schema.class_count))).cell_count(
                sample.schema
            )
            for node in growth.frontier
        )
        assert growth.slot_count <= whole
        cells = count_rows(sample.rows, growth.queries, sample.schema)
        assert len(cells) == growth.slot_count
        assert growth.parents.keys() == {node.path[:-1] for node in growth.frontier if node.derived}
        growth = growth.absorb(cells)


@given(samples(), rules("information-gain"), st.integers(1, 5), st.randoms(use_true_random=False))
@settings(max_examples=50, deadline=None)
def test_rows_may_be_dealt_to_hospitals_in_any_way(
    sample: Sample, how: GrowthRules, hospitals: int, chance: object
) -> None:
    dealt: list[list[tuple[int, ...]]] = [[] for _ in range(hospitals)]
    for row in sample.rows:
        dealt[chance.randrange(hospitals)].append(row)  # type: ignore[attr-defined]

    def summed(queries: Sequence[NodeQuery]) -> list[int]:
        parts = [count_rows(rows, queries, sample.schema) for rows in dealt]
        return [sum(cells) for cells in zip(*parts, strict=True)]

    assert grow(sample.schema, how, summed, MH) == grown(sample, how)


@given(samples(), st.sampled_from(["information-gain", "gain-ratio"]).flatmap(rules))
@settings(max_examples=50, deadline=None)
def test_a_growth_can_be_put_away_and_taken_up_in_every_round(sample: Sample, how: GrowthRules) -> None:
    growth = Growth.start(sample.schema, how, MH)
    while not growth.is_done:
        again = Growth.from_json(sample.schema, how, json.loads(json.dumps(growth.to_json())))
        assert again == growth
        growth = again.absorb(count_rows(sample.rows, again.queries, sample.schema))
    again = Growth.from_json(sample.schema, how, json.loads(json.dumps(growth.to_json())))
    assert again == growth
    assert again.tree == growth.tree


@given(samples(), rules("information-gain"))
@settings(max_examples=50, deadline=None)
def test_the_states_chain_the_canonical_decisions(sample: Sample, how: GrowthRules) -> None:
    growth = Growth.start(sample.schema, with_skipping(how, False), MH)
    state = hashlib.sha256(b"ppsdt/1/tree" + MH).digest()
    rounds = 0
    while not growth.is_done:
        order = [path_order(node.path) for node in growth.frontier]
        assert order == sorted(order)
        growth = growth.absorb(count_rows(sample.rows, growth.queries, sample.schema))
        state = hashlib.sha256(state + rfc8785.dumps(growth.last_decisions)).digest()
        rounds += 1
        assert (growth.state, growth.depth) == (state, rounds)


def test_the_start_state_is_the_protocols() -> None:
    growth = Growth.start(make_schema((2,), 2), GrowthRules(), MH)
    assert growth.state.hex() == "4c161d2addcf06c6d212b9a11e3c05a0d1b8f8709d17334008af63020ee879e7"


@given(samples(), rules("information-gain"))
@settings(max_examples=50, deadline=None)
def test_counts_in_the_tree_are_those_of_the_rows(sample: Sample, how: GrowthRules) -> None:
    tree = grown(sample, how).tree
    leaves = [node for node in tree.nodes() if isinstance(node, Leaf)]
    totals = [sum(row[-1] == label for row in sample.rows) for label in range(sample.schema.class_count)]
    assert [sum(c) for c in zip(*(leaf.counts or () for leaf in leaves), strict=True)] == totals
    for node in tree.nodes():
        if isinstance(node, Split):
            assert node.counts == tuple(
                sum(c) for c in zip(*(kid.counts or () for kid in node.kids), strict=True)
            )


def test_a_level_that_follows_from_known_sums_costs_no_round() -> None:
    # All of class 0 is in the leaf a0 = v0, so the other child is the rest of the root.
    rows = [(0, 0, 0), (0, 1, 0), (0, 0, 0), (0, 1, 0), (1, 0, 1), (1, 1, 2)]
    sample = Sample(make_schema((2, 2), 3), rows)
    how = GrowthRules(min_node=1, min_child=1, skip_known=True)
    start = Growth.start(sample.schema, how, MH)
    done = start.absorb(count_rows(rows, start.queries, sample.schema))
    assert done.is_done
    assert done.depth == 2
    assert [decision["node"] for decision in done.last_decisions] == ["", "/0=1"]
    assert done.tree == grown(sample, with_skipping(how, False)).tree


@given(st.lists(st.tuples(st.integers(0, 1023), st.integers(0, 255)), max_size=6))
def test_paths_are_read_as_written(steps: list[tuple[int, int]]) -> None:
    assert parse_path(path_text(tuple(steps))) == tuple(steps)


def test_frontiers_are_ordered_as_bytes() -> None:
    ordered = ["/10=0", "/1=0", "/1=10", "/1=2", "/2=0"]
    paths = [parse_path(text) for text in reversed(ordered)]
    assert [path_text(path) for path in sorted(paths, key=path_order)] == ordered
