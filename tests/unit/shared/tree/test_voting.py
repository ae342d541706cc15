"""Answers for records that lack a value of an attribute with fractional missing: C4.5's vote, exact in fractions."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from shared.errors import InputError
from shared.tree.model import Leaf, Split, Tree
from shared.tree.prediction import Value, predict
from tests.support import exact_fractional as oracle
from tests.unit.shared.tree.test_fractional import Case, cases, schema_of

SCHEMA = schema_of((2, 3, 2), (True, True, False), 2)
TREE = Tree(
    Split(
        0,
        (
            Leaf(0, (7, 2), 2),  # 4.5 records
            Split(1, (Leaf(1, (0, 4)), Leaf(0, (1, 0)), Leaf(1, (0, 0))), 1, (1, 4)),
        ),
        0,
        (9, 10),
        denominator=2,
    )
)


def test_every_branch_answers_as_heavily_as_records_went_there() -> None:
    """4.5 records went left with 7/9 of class 0, 5 right with 1/5 of it: 4.5/9.5 7/9 + 5/9.5 1/5 = 9/19."""
    answer = predict(TREE, SCHEMA, {"a1": "v0", "a2": "v0"}, "counts")
    # a1 is known, so on the right the answer is that of its leaf: class 1.
    assert answer.label == "c1"
    assert answer.parted_at == "a0"
    assert answer.probability == pytest.approx(1 - 4.5 / 9.5 * 7 / 9)
    assert (answer.interval, answer.counts, answer.stopped_at) == (None, None, None)
    assert "all its branches answered" in str(answer.note)
    both = predict(TREE, SCHEMA, {"a2": "v0"}, "probability")
    assert both.probability == pytest.approx(10 / 19)


def test_a_record_with_its_values_walks_as_ever_and_weights_are_shown_with_two_digits() -> None:
    answer = predict(TREE, SCHEMA, {"a0": "v0"}, "counts")
    assert (answer.label, answer.parted_at) == ("c0", None)
    assert answer.counts == {"c0": 3.5, "c1": 1}
    assert answer.probability == pytest.approx(7 / 9)
    assert answer.interval is not None
    assert answer.interval[0] < 7 / 9 < answer.interval[1]


def test_an_unknown_value_stops_and_so_does_a_tree_without_counts() -> None:
    unseen = predict(TREE, SCHEMA, {"a0": "v1", "a1": "other"})
    assert (unseen.label, unseen.stopped_at, unseen.stop_reason) == ("c1", "a1", "unseen")
    bare = predict(TREE.without_counts(), SCHEMA, {"a0": None})
    assert (bare.label, bare.stopped_at, bare.stop_reason) == ("c0", "a0", "missing")
    with pytest.raises(InputError, match="without the counts"):
        predict(Tree(Split(0, (Leaf(0), Leaf(1)))), SCHEMA, {})


def test_the_class_alone_is_shown_where_no_more_is_allowed() -> None:
    answer = predict(TREE, SCHEMA, {}, "class")
    assert (answer.label, answer.probability) == ("c1", None)


@given(cases())
@settings(max_examples=25, deadline=None)
def test_votes_are_those_of_the_oracle(case: Case) -> None:
    """Every record of the training, and one that lacks everything."""
    tree = case.grown()
    form = tree.to_json(with_counts=True)
    nothing = tuple(len(attribute.values) - 1 for attribute in case.schema.attributes)
    for row in {row[:-1] for row in case.rows} | {nothing}:
        record: dict[str, Value] = {
            attribute.name: attribute.values[code]
            for attribute, code in zip(case.schema.attributes, row, strict=True)
        }
        votes = oracle.vote(form, (*row, 0), case.setting)
        answer = predict(tree, case.schema, record, "probability")
        if answer.parted_at is not None:
            assert answer.label == case.schema.classes[votes.index(max(votes))]
            assert answer.probability == float(max(votes))
        elif case.setting.class_weights is None and answer.probability is not None:
            assert answer.probability == pytest.approx(float(votes[case.schema.classes.index(answer.label)]))
