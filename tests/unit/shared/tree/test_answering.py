"""A tree made ready answers as the plain walk does, whatever it is asked and however often."""

from __future__ import annotations

import json
from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from shared.errors import InputError
from shared.tree.answering import AnswerBook, answer_document
from shared.tree.binary_tests import AtMost
from shared.tree.counting import count_rows
from shared.tree.growing import grow
from shared.tree.growth_rules import GrowthRules
from shared.tree.model import Leaf, Split, Tree
from shared.tree.numbers import FixedPoint
from shared.tree.prediction import Disclosure, Value, predict
from shared.tree.schema import Attribute, Schema
from tests.support.tree_strategies import Sample, rules, samples

_VALUES = st.one_of(
    st.sampled_from(["v0", "v1", "v2", "", "  ", "v99", "missing"]),
    st.none(),
    st.booleans(),
    st.integers(-2, 300),
    st.decimals(allow_nan=False, allow_infinity=False, places=2),
)


@settings(max_examples=50)
@given(samples(), rules("information-gain"), st.sampled_from(["class", "probability", "counts"]), st.data())
def test_answers_are_those_of_the_plain_walk(
    sample: Sample, rule: GrowthRules, disclosure: Disclosure, data: st.DataObject
) -> None:
    tree = grow(sample.schema, rule, lambda queries: count_rows(sample.rows, queries, sample.schema)).tree
    book = AnswerBook(tree, sample.schema, disclosure)
    names = [attribute.name for attribute in sample.schema.attributes]
    for record in data.draw(st.lists(st.dictionaries(st.sampled_from(names), _VALUES), max_size=8)) * 2:
        expected = predict(tree, sample.schema, record, disclosure)
        found = book.answer(record)
        gaps = tuple(entry["attribute"] for entry in found.document["missing"])
        assert found.document == answer_document(expected, gaps)
        assert json.loads(found.text) == json.loads(json.dumps(found.document))
        assert all(record.get(name) is None or not str(record[name]).strip() for name in gaps)


def _numbers() -> tuple[Tree, Schema]:
    bmi = Attribute("bmi", (), fixed_point=FixedPoint.create("bmi", "10", "80", 1))
    schema = Schema.create([bmi], "ill", ["no", "yes"])
    return Tree(Split(0, (Leaf(0), Leaf(1)), 0, test=AtMost(Decimal("17.5")))), schema


@given(
    st.one_of(
        st.floats(),
        st.decimals(allow_nan=False),
        st.text(max_size=4),
        st.none(),
        st.booleans(),
        st.integers(),
    )
)
def test_numbers_are_answered_or_refused_as_by_the_plain_walk(value: Value) -> None:
    tree, schema = _numbers()
    book = AnswerBook(tree, schema, "class")
    try:
        expected = predict(tree, schema, {"bmi": value}).label
    except InputError as error:
        expected = str(error)
    try:
        found = book.answer({"bmi": value}).label
    except InputError as error:
        found = str(error)
    assert found == expected
    assert not book._root.listed
    assert all(not isinstance(kept, float | Decimal | str) for _, kept in book._root.plain)


def test_what_is_missing_and_what_is_not_covered_is_said() -> None:
    told = Attribute("fever", ("no", "yes", "missing"))
    schema = Schema.create([told, Attribute("cough", ("no", "yes"))], "ill", ["no", "yes"])
    kid = Split(1, (Leaf(0, (8, 2)), Leaf(1, (1, 9))), 1, (9, 11))
    tree = Tree(Split(0, (Leaf(0, (9, 1)), Leaf(1, (1, 9)), kid), 0, (19, 21)))
    book = AnswerBook(tree, schema, "probability")
    declared = book.answer({"cough": "yes"}).document
    assert declared["missing"] == [{"attribute": "fever", "treated": "declared"}]
    assert (declared["class"], declared["covered"]) == ("yes", True)
    ended = book.answer({}).document
    assert ended["missing"][1] == {"attribute": "cough", "treated": "majority"}
    assert ended["explanation"].startswith("yes, because fever = missing. Not covered: cough has no value")
    unseen = book.answer({"fever": "perhaps"}).document
    assert (unseen["covered"], unseen["stop_reason"], unseen["missing"]) == (False, "unseen", [])
    assert "48 % of the training records" in unseen["explanation"]


def test_intervals_between_cut_points_are_no_names_that_a_record_could_give() -> None:
    schema = Schema.create([Attribute.numeric("age", [40, 60])], "ill", ["no", "yes"])
    book = AnswerBook(Tree(Split(0, (Leaf(0), Leaf(1), Leaf(0)), 0)), schema, "class")
    assert [book.answer({"age": age}).label for age in (40, "40.5", Decimal("60.1"))] == ["no", "yes", "no"]
    assert not book._root.listed
