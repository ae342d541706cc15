"""Mode G's columns of a study, and the tree under the attributes' own names: built, shown, read back, asked."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from shared.errors import InputError, InternalError
from shared.tree.binary_tests import AtMost, Equals, UpTo, branch_names
from shared.tree.checking import check_tree
from shared.tree.drawing import draw
from shared.tree.export import reference_form
from shared.tree.gain_ratio_growing import GainRatioRules, GroupLeaf, GroupTest, grow_by_gain_ratio
from shared.tree.model import Leaf, Split, Tree
from shared.tree.numbers import FixedPoint
from shared.tree.numeric import NumericColumn, column_keys, grid_steps, numeric_columns, tree_of_layers
from shared.tree.prediction import predict
from shared.tree.schema import Attribute, Schema

SCHEMA = Schema.create(
    [
        Attribute("bmi", (), fixed_point=FixedPoint.create("bmi", "10", "80", 1)),
        Attribute("stage", ("I", "II", "III"), treat_as="ordered"),
        Attribute("site", ("lung", "skin", "other"), treat_as="equality"),
        Attribute.numeric("age", ["40", "60"]),
        Attribute("sex", ("f", "m"), treat_as="equality"),
    ],
    "state",
    ("sick", "well"),
)
COLUMNS = numeric_columns(SCHEMA)
TREE = tree_of_layers(
    [
        (GroupTest(0, 75),),
        (GroupTest(1, 0), GroupTest(3, 0)),
        (GroupLeaf(0), GroupTest(6, 0), GroupTest(5, 1), GroupLeaf(1)),
        (GroupLeaf(1), GroupLeaf(0), GroupLeaf(0), GroupLeaf(1)),
    ],
    SCHEMA,
    COLUMNS,
)


def test_columns_follow_from_the_schema() -> None:
    expected = (
        NumericColumn(0, 700),
        NumericColumn(1, 2),
        NumericColumn(2, 1, 0),
        NumericColumn(2, 1, 1),
        NumericColumn(2, 1, 2),
        NumericColumn(3, 2),
        NumericColumn(4, 1, 1),
    )
    assert list(COLUMNS) == list(expected)
    assert [column.width_bits for column in COLUMNS] == [10, 2, 1, 1, 1, 2, 1]


def test_keys_of_records() -> None:
    codes = [
        np.array([700, 0], np.uint32),
        *(np.array(pair, np.uint8) for pair in ([2, 1], [1, 2], [0, 2], [0, 1])),
    ]
    keys = column_keys(COLUMNS, codes)
    assert keys.dtype == np.uint32
    assert keys.T.tolist() == [[700, 2, 0, 1, 0, 0, 0], [0, 1, 0, 0, 1, 2, 1]]


def test_one_value_makes_one_column() -> None:
    schema = Schema.create([Attribute("a", ("x",), treat_as="equality")], "c", ("p", "q"))
    assert numeric_columns(schema) == (NumericColumn(0, 1, 0),)


def test_an_attribute_must_say_how_it_is_compared() -> None:
    schema = Schema.create([Attribute("a", ("x", "y"))], "c", ("p", "q"))
    with pytest.raises(InputError, match=r"attribute 'a': .*treat_as"):
        numeric_columns(schema)


def test_too_many_columns() -> None:
    many = [Attribute(f"a{i}", tuple(map(str, range(205))), treat_as="equality") for i in range(5)]
    with pytest.raises(InputError, match="1025 numeric columns"):
        numeric_columns(Schema.create(many, "c", ("p", "q")))


def test_canonical_json_and_back() -> None:
    assert TREE.canonical().decode() == (
        '{"attr":0,"kids":['
        '{"attr":1,"kids":[{"leaf":0},{"attr":4,"equals":1,"kids":[{"leaf":1},{"leaf":0}]}],"up_to":0},'
        '{"attr":2,"equals":1,"kids":[{"attr":3,"kids":[{"leaf":0},{"leaf":1}],"up_to":1},{"leaf":1}]}'
        '],"threshold":"17.5"}'
    )
    assert Tree.from_json(json.loads(TREE.canonical())) == TREE
    assert Tree.from_json(TREE.to_json(with_counts=False)) == TREE
    assert TREE.without_counts() == TREE
    check_tree(TREE, SCHEMA)


@pytest.mark.parametrize(
    "change",
    [
        {"threshold": "17.50"},
        {"threshold": 17},
        {"threshold": "x"},
        {"threshold": "1", "up_to": 1},
        {"up_to": -1},
        {"equals": True},
        {"equals": 0, "kids": [{"leaf": 0}]},
        {"equals": 0, "kids": [{"leaf": 0}] * 3},
    ],
)
def test_tests_in_another_form(change: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Tree.from_json({"attr": 0, "kids": [{"leaf": 0}, {"leaf": 1}]} | change)


@pytest.mark.parametrize(
    "root",
    [
        Leaf(2),
        Split(5, (Leaf(0), Leaf(0))),
        Split(4, (Leaf(0), Leaf(0)), majority=2),
        Split(1, (Leaf(0), Leaf(0))),
        Split(1, (Leaf(0), Leaf(0)), test=AtMost(Decimal(1))),
        Split(0, (Leaf(0), Leaf(0)), test=AtMost(Decimal(9))),
        Split(0, (Leaf(0), Leaf(0)), test=UpTo(0)),
        Split(1, (Leaf(0), Leaf(0)), test=UpTo(2)),
        Split(2, (Leaf(0), Leaf(0)), test=Equals(3)),
    ],
)
def test_trees_of_another_schema(root: Leaf | Split) -> None:
    with pytest.raises(InputError, match=r"attribute|class"):
        check_tree(Tree(root), SCHEMA)


def test_drawing() -> None:
    assert draw(TREE, SCHEMA).splitlines() == [
        "bmi?",
        "├─ <= 17.5: stage?",
        "│  ├─ <= I: sick",
        "│  └─ > I: sex?",
        "│     ├─ != m: well",
        "│     └─ = m: sick",
        "└─ > 17.5: site?",
        "   ├─ != skin: age?",
        "   │  ├─ <= 60: sick",
        "   │  └─ > 60: well",
        "   └─ = skin: well",
    ]


def test_intervals_with_a_value_for_empty_fields() -> None:
    attribute = Attribute.numeric("age", ["40", "60"], "unknown")
    names = [branch_names(attribute, UpTo(value)) for value in range(3)]
    assert names == [
        ("<= 40", "> 40 or unknown"),
        ("<= 60", "> 60 or unknown"),
        ("!= unknown", "= unknown"),
    ]


def test_reference_form() -> None:
    form = reference_form(TREE, SCHEMA)
    assert (form["attribute"], form["threshold"], list(form["branches"])) == (
        "bmi",
        "17.5",
        ["<= 17.5", "> 17.5"],
    )
    stage = form["branches"]["<= 17.5"]
    assert "threshold" not in stage
    assert list(stage["branches"]) == ["<= I", "> I"]


@pytest.mark.parametrize(
    ("record", "label", "path"),
    [
        ({"bmi": 17.5, "stage": "I"}, "sick", "bmi <= 17.5 and stage <= I"),
        ({"bmi": "17.5", "stage": "III", "sex": "f"}, "well", "bmi <= 17.5 and stage > I and sex != m"),
        ({"bmi": Decimal("17.50000000000000000001"), "site": "skin"}, "well", "bmi > 17.5 and site = skin"),
        ({"bmi": "17.500001", "site": "skin"}, "well", "bmi > 17.5 and site = skin"),
        (
            {"bmi": 17.6, "site": "lung", "age": 60},
            "sick",
            "bmi > 17.5 and site != skin and age <= 60",
        ),
        (
            {"bmi": 500, "site": "other", "age": 61},
            "well",
            "bmi > 17.5 and site != skin and age > 60",
        ),
    ],
)
def test_prediction(record: dict[str, Any], label: str, path: str) -> None:
    answer = predict(TREE, SCHEMA, record)
    assert (answer.label, answer.path, answer.stop_reason) == (label, path, None)


@pytest.mark.parametrize(
    "value",
    ["nan", "17,5", "17.5 kg", float("nan"), float("inf"), True, Decimal("NaN"), Decimal("1e999999999")],
)
def test_garbage_is_no_number(value: Any) -> None:
    with pytest.raises(InputError, match="'bmi'"):
        predict(TREE, SCHEMA, {"bmi": value})


def test_a_missing_number() -> None:
    with pytest.raises(InputError, match="no usable value"):
        predict(TREE, SCHEMA, {})
    root = Split(0, (Leaf(0), Leaf(0)), majority=1, test=AtMost(Decimal(20)))
    answer = predict(Tree(root), SCHEMA, {"bmi": " "})
    assert (answer.label, answer.stopped_at, answer.stop_reason) == ("well", "bmi", "missing")
    declared = Attribute("bmi", (), fixed_point=FixedPoint.create("bmi", "10", "80", 1, "12.5"))
    schema = Schema.create([declared], "state", ("sick", "well"))
    assert predict(Tree(root), schema, {}).path == "bmi <= 20"


def test_an_unseen_category_stops_at_a_test() -> None:
    root = Split(4, (Leaf(0), Leaf(0)), majority=1, test=Equals(1))
    answer = predict(Tree(root), SCHEMA, {"sex": "x"})
    assert (answer.label, answer.stop_reason) == ("well", "unseen")


def test_grid_steps() -> None:
    assert grid_steps(SCHEMA, COLUMNS, {0: Decimal("2.5")}) == (25, 0, 0, 0, 0, 0, 0)
    for index, step in ((0, "0.25"), (0, "0"), (0, "-1"), (1, "1")):
        with pytest.raises(InputError, match="grid of attribute"):
            grid_steps(SCHEMA, COLUMNS, {index: Decimal(step)})


def test_layers_that_do_not_fit_together() -> None:
    for layers in ([(GroupTest(0, 1),)], [(GroupTest(0, 1),), (GroupLeaf(0),)]):
        with pytest.raises(InternalError, match="two kids"):
            tree_of_layers(layers, SCHEMA, COLUMNS)


def test_a_threshold_between_codes_is_a_number_of_the_grid() -> None:
    keys = np.array([[3, 3, 41, 41]], dtype=np.uint32)
    schema = Schema.create([SCHEMA.attributes[0]], "state", ("sick", "well"))
    columns = numeric_columns(schema)
    rules = GainRatioRules(1, grid=grid_steps(schema, columns, {0: Decimal(1)}))
    tree = tree_of_layers(grow_by_gain_ratio(keys, np.array([0, 0, 1, 1]), 2, rules), schema, columns)
    assert tree.canonical() == b'{"attr":0,"kids":[{"leaf":0},{"leaf":1}],"threshold":"14"}'
