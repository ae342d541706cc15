"""Mode I with least gain, class weights and a share that ends growth: the pooled tree, and nothing more is opened."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.errors import InputError
from shared.mpc import lookup
from shared.secure_tree.secret_id3_bounds import Bounds, least_multiples
from shared.secure_tree.secret_id3_layout import MOST_RECORDS, Layout
from shared.tree.growth_rules import GrowthRules
from shared.tree.pruning import Pruning
from tests.support import reference_data
from tests.support.tree_strategies import further_rules, make_schema, samples
from tests.unit.shared.secure_tree import test_secret_id3_view as views
from tests.unit.shared.secure_tree.test_secret_id3 import QUICK, check, in_secret, needs_data, pooled

RULES = GrowthRules(min_node=1, min_child=1, max_depth=None)
CHANGES: list[dict[str, Any]] = [
    {"min_gain": Fraction(1, 20)},
    {"class_weights": (3, 1)},
    {"pruning": Pruning("majority", share=Fraction(4, 5))},
    {
        "min_gain": Fraction(1, 3),
        "class_weights": (2, 5),
        "pruning": Pruning("majority", share=Fraction(9, 10)),
    },
]


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_the_tree_is_that_of_the_pooled_rows(data: st.DataObject) -> None:
    sample = data.draw(samples())
    check(sample.schema, sample.rows, data.draw(further_rules(sample.schema.class_count)))


@pytest.mark.long
@settings(max_examples=600, deadline=None)
@given(st.data())
def test_the_tree_is_that_of_the_pooled_rows_many_times(data: st.DataObject) -> None:
    sample = data.draw(samples())
    rules = data.draw(further_rules(sample.schema.class_count))
    check(sample.schema, sample.rows, rules, open_empty=data.draw(st.booleans()))


@settings(max_examples=8, deadline=None)
@given(st.data())
def test_look_ups_by_sorting_change_nothing(data: st.DataObject) -> None:
    sample = data.draw(samples(least_attributes=3))
    rules = data.draw(further_rules(sample.schema.class_count))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lookup, "PIECE_WORDS", 200)
        patch.setattr(lookup, "MOST_BITS", 4)
        check(sample.schema, sample.rows, replace(rules, class_weights=None))


@needs_data
@pytest.mark.long
@pytest.mark.parametrize("change", CHANGES)
def test_reference_trees(change: dict[str, Any]) -> None:
    changed = 0
    for name in QUICK:
        case = reference_data.load(name)
        weights = change.get("class_weights")
        fitting = {} if weights is None else {"class_weights": (weights * 4)[: case.schema.class_count]}
        rules = replace(RULES, **{**change, **fitting})
        check(case.schema, case.codes, rules)
        changed += pooled(case.schema, case.codes, rules) != pooled(case.schema, case.codes, RULES)
    assert changed


def test_a_gain_that_is_just_reached_splits_and_one_above_it_does_not() -> None:
    """One bit exactly: two values that tell two classes apart, as many of each."""
    schema = make_schema((2,), 2)
    rows: list[tuple[int, ...]] = [(0, 0), (1, 1)] * 4
    for least, splits in ((Fraction(1), True), (1 + Fraction(1, 10**9), False), (Fraction(999), False)):
        run = check(schema, rows, replace(RULES, min_gain=least))
        assert run.results[0].canonical().startswith(b'{"attr"') == splits


def test_weights_turn_the_majority() -> None:
    schema = make_schema((2,), 2)
    rows: list[tuple[int, ...]] = [*[(0, 0)] * 5, *[(0, 1)] * 2]
    assert check(schema, rows, RULES).results[0].canonical() == b'{"leaf":0}'
    run = check(schema, rows, replace(RULES, class_weights=(1, 3)))
    assert run.results[0].canonical() == b'{"leaf":1}'


def test_the_rules_cost_few_rounds_and_a_least_gain_saves_the_test_of_zero_gain() -> None:
    random = np.random.default_rng(3)
    columns = random.integers(0, 3, (300, 7)) % ([3] * 6 + [2])
    rows = [tuple(map(int, row)) for row in columns]
    base = replace(RULES, max_depth=2)

    def cost(**change: Any) -> tuple[int, int]:
        rules = replace(base, **change)
        assert pooled(make_schema((3,) * 6, 2), rows, rules).node_count == 13
        run = check(make_schema((3,) * 6, 2), rows, rules)
        return run.rounds, sum(sum(sent) for sent in run.sent_bytes)

    plain, stopped = cost(), cost(pruning=Pruning("majority", share=Fraction(99, 100)))
    gained, weighed = cost(min_gain=Fraction(1, 10**6)), cost(class_weights=(2, 3))
    assert gained[0] <= plain[0]
    assert weighed[0] <= plain[0] + 2 * 2
    assert stopped[0] <= plain[0] + 3 * 2
    assert gained[1] < 1.1 * plain[1]


def test_weights_that_no_table_holds_are_refused() -> None:
    schema, most = make_schema((2,), 2), MOST_RECORDS // 1000
    assert Layout.of(schema, most, (1, 1000)).count_bits == 25
    with pytest.raises(
        InputError, match=f"class_weights: with these weights mode I takes at most {most} rec"
    ):
        Layout.of(schema, most + 1, (1, 1000))


def test_differences_from_a_bar_fit_their_words() -> None:
    """The widest job: all records, 64 classes, the greatest least gain that can be said."""
    layout = Layout.of(make_schema((2,), 64), MOST_RECORDS)
    most = layout.most * ((layout.classes - 1).bit_length() + 1) << 32
    lowest_score = -layout.most * 6 << 32
    bits = layout.score_bits + 2
    assert bits <= 64
    assert most - lowest_score < 1 << (bits - 1)
    small = Layout.of(make_schema((2,), 2), 40)
    assert Bounds.of(small, replace(RULES, min_gain=Fraction(1))).score_bits == small.score_bits + 2
    assert Bounds.of(small, RULES).score_bits == small.score_bits


@given(st.fractions(0, 7, max_denominator=10**9), st.integers(0, 300))
@settings(max_examples=40, deadline=None)
def test_least_multiples(factor: Fraction, most: int) -> None:
    for scaled in (factor, factor * 2**32):
        assert least_multiples(scaled, most).tolist() == [
            -(-scaled.numerator * x // scaled.denominator) for x in range(most + 1)
        ]


@pytest.mark.long
def test_a_view_does_not_tell_two_inputs_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two-sample test of `test_secret_id3_view`, with all rules; every leaf is then of class 0."""
    monkeypatch.setattr(
        views,
        "ONE_LEAF",
        replace(
            views.ONE_LEAF,
            min_node=1,
            min_gain=Fraction(3),
            class_weights=(7, 1),
            pruning=Pruning("majority", share=Fraction(99, 100)),
        ),
    )
    other: list[tuple[int, ...]] = [*[(0, 0, 0)] * 8, *[(0, 0, 1)] * 4]
    for party in range(3):
        assert views.distance(party, views.ROUGH, other) < 5


def test_two_inputs_of_one_tree_send_the_same_sizes_in_the_same_order() -> None:
    rules = replace(RULES, min_gain=Fraction(1, 100), class_weights=(3, 1))
    runs = [in_secret(views.SCHEMA, rows, rules) for rows in (views.CLEAR, views.ROUGH)]
    assert runs[0].results[0].canonical() == runs[1].results[0].canonical() != b'{"leaf":0}'
    assert runs[0].sent_bytes == runs[1].sent_bytes
    assert runs[0].meters[0].opened == runs[1].meters[0].opened
