"""The leaf table: what it takes, how it adds up, and where its scores come from."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.errors import InputError
from shared.evaluation.confusion import Confusion
from shared.evaluation.judging import judge
from shared.evaluation.table import Smoothing, leaf_table, places_of, resubstitution
from shared.tree.model import Leaf, Split, Tree
from tests.support.judged import flat_tree, table_of, tables

DEEP = Tree(
    Split(
        0,
        (
            Leaf(0, (8, 2)),
            Split(1, (Leaf(1, (0, 6)), Leaf(1, (0, 0)), Leaf(0, (3, 1))), 1, (3, 7)),
        ),
        0,
        (11, 9),
    )
)


def test_places_are_the_nodes_in_order_with_the_shares_of_their_training_records() -> None:
    places = places_of(DEEP, 2)
    assert [(p.node, p.label, p.is_leaf) for p in places] == [
        (0, 0, False),
        (1, 0, True),
        (2, 1, False),
        (3, 1, True),
        (4, 1, True),
        (5, 0, True),
    ]
    assert places[1].scores == (Fraction(4, 5), Fraction(1, 5))
    assert places[4].scores == (Fraction(3, 10), Fraction(7, 10)), (
        "an empty leaf has those of the split above"
    )


def test_smoothing_adds_the_prior_so_many_times() -> None:
    assert places_of(DEEP, 2, Smoothing(2))[3].scores == (Fraction(1, 8), Fraction(7, 8))
    assert places_of(DEEP, 2, Smoothing(4, "root"))[3].scores == (Fraction(11, 50), Fraction(39, 50))


def test_parts_of_records_make_scores_too() -> None:
    halves = Tree(Split(0, (Leaf(0, (3, 1), 2), Leaf(1, (0, 5))), 1, (3, 11), None, 2))
    places = places_of(halves, 2)
    assert places[0].scores == (Fraction(3, 14), Fraction(11, 14))
    assert places[1].scores == (Fraction(3, 4), Fraction(1, 4))
    with pytest.raises(InputError, match="parts of records"):
        resubstitution(halves)


def test_a_tree_without_counts_is_judged_by_its_answers_alone() -> None:
    table = leaf_table(DEEP.without_counts(), ("no", "yes"), {1: (5, 1), 3: (1, 6)})
    judged = judge(table)
    assert judged.overall["accuracy"].value == pytest.approx(11 / 13)
    for name in ("brier", "log_loss", "auc_macro", "brier_skill"):
        assert judged.overall[name].value is None
        assert "without the counts" in judged.overall[name].reason
    assert all(found["roc"] == found["calibration"] == [] for found in judged.to_json()["classes"])


def test_a_walk_that_stops_counts_at_its_split() -> None:
    table = leaf_table(DEEP, ("no", "yes"), {2: (1, 4), 1: (5, 0)})
    assert (table.records, table.stopped, table.truth) == (10, 5, (6, 4))
    assert Confusion.of(table).cells == ((5, 1), (0, 4))


def test_what_is_no_table_of_the_tree_is_refused() -> None:
    with pytest.raises(InputError, match="node 6"):
        leaf_table(DEEP, ("no", "yes"), {6: (1, 0)})
    with pytest.raises(InputError, match="2 counts"):
        leaf_table(DEEP, ("no", "yes"), {1: (1, 0, 0)})
    with pytest.raises(InputError, match="of 0 or more"):
        leaf_table(DEEP, ("no", "yes"), {1: (-1, 0)})
    bare = Tree(Split(0, (Leaf(0), Leaf(1))))
    with pytest.raises(InputError, match="answers nothing at node 0"):
        leaf_table(bare, ("no", "yes"), {0: (1, 0)})
    with pytest.raises(InputError, match="without the counts"):
        resubstitution(bare)
    with pytest.raises(InputError, match="one tree"):
        _ = leaf_table(DEEP, ("no", "yes"), {}) + leaf_table(bare, ("no", "yes"), {})


def test_training_records_at_their_leaves() -> None:
    assert resubstitution(DEEP) == {1: (8, 2), 3: (0, 6), 4: (0, 0), 5: (3, 1)}


@settings(max_examples=15, deadline=None)
@given(tables(), st.randoms(use_true_random=False))
def test_tables_of_hospitals_add_up_in_any_order(whole, random) -> None:  # type: ignore[no-untyped-def]
    parts = []
    rest = [list(counts) for counts in whole.counts]
    for _ in range(2):
        taken = [[random.randint(0, count) for count in row] for row in rest]
        rest = [[a - b for a, b in zip(x, y, strict=True)] for x, y in zip(rest, taken, strict=True)]
        parts.append(taken)
    hospitals = [
        type(whole)(whole.classes, whole.places, tuple(map(tuple, cells))) for cells in (*parts, rest)
    ]
    random.shuffle(hospitals)
    total = hospitals[0] + hospitals[1] + hospitals[2]
    assert total == whole
    assert Confusion.of(total).records == sum(Confusion.of(part).records for part in hospitals)


def test_records_that_branches_answered_together_have_a_class_and_no_score() -> None:
    table = table_of(((8, 2), (1, 9)), ((5, 1), (2, 6)))
    plain, judged = judge(table), judge(table, votes=((3, 0), (1, 4)))
    assert judged.matrix.cells == ((8, 2 + 1), (1, 6 + 4))
    assert (plain.records, judged.records) == (14, 22)
    assert judged.to_json()["voted"] == 8
    assert "voted" not in plain.to_json()
    assert judged.overall["brier"] == plain.overall["brier"]
    assert judged.overall["accuracy"].value == 18 / 22


def test_a_flat_tree_is_what_other_tests_take_it_for() -> None:
    table = table_of(((3, 1), (0, 2)), ((1, 0), (2, 5)))
    assert flat_tree(((3, 1), (0, 2))).leaf_count == 2
    assert [place.label for place in table.places] == [0, 0, 1]
    assert table.counts == ((0, 0), (1, 0), (2, 5))
