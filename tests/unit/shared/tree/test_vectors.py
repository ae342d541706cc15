"""T1, T2, T3 and T8 of protocol section 14: files, printed figures, product and second way agree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shared.errors import InternalError
from shared.tree.contingency import ContingencyTable
from shared.tree.counting import count_rows
from shared.tree.criteria import (
    conditional_entropy,
    entropy,
    f_entry,
    f_table_sha256,
    has_zero_gain,
    information_gain,
    information_gain_score,
)
from shared.tree.growing import Growth, grow
from shared.tree.growth_rules import GrowthRules
from shared.tree.prediction import predict
from shared.tree.schema import Attribute, Schema
from shared.tree.splitting import best_attribute
from tests.vectors import generate_tree

FOLDER = Path(generate_tree.__file__).parent


def read(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    return document


@pytest.fixture(scope="module")
def example() -> tuple[Schema, list[list[tuple[int, ...]]], dict[str, Any]]:
    document = read("tree_example.json")
    attributes = [Attribute(name, ("0", "1")) for name in document["attributes"]]
    schema = Schema.create(attributes, "diagnosis", document["classes"])
    dealt = [[tuple(map(int, row)) for row in text.split()] for text in document["hospitals"]]
    return schema, dealt, document


def test_files_are_what_the_second_way_computes() -> None:
    for name, document in generate_tree.documents().items():
        assert read(name) == json.loads(json.dumps(document)), name


def test_t1_entries() -> None:
    document = read("tree_table.json")
    for entry in document["entries"]:
        assert f_entry(entry["x"], entry["s"]) == int(entry["f"]), entry
    for s, digest in document["sha256_of_0_to_4096"].items():
        assert f_table_sha256(int(s)) == digest
    for entry in document["refused"]:
        with pytest.raises(InternalError):
            f_entry(entry["x"], entry["s"])


def test_t1_as_printed_in_the_protocol() -> None:
    printed = [
        0,
        0,
        8589934592,
        20422086318,
        34359738368,
        49863026156,
        66613976412,
        84402483050,
        103079215104,
    ]
    assert [f_entry(x) for x in range(9)] == printed
    assert (f_entry(22), f_entry(3, 16), f_entry(5, 16)) == (421368485138, 311616, 760849)
    assert f_table_sha256(32) == "8828a3c441b6179fb1af6a63fba663419096c79fe04eca63e766851bc1458257"
    assert f_table_sha256(16) == "8db199a961d8c150c561c1c99c6de04bd70a84536bc1fc3b2bdfb92110848eb9"


def test_t2_published_figures() -> None:
    document = read("tree_published.json")
    table = ContingencyTable.of(document["matrix"])
    assert str(round(entropy(table.class_totals), 5)) == document["entropy"] == "1.94946"
    assert str(round(conditional_entropy(table), 5)) == document["conditional_entropy"] == "1.32478"
    assert str(round(information_gain(table), 5)) == document["information_gain"] == "0.62468"
    assert information_gain_score(table) == document["score"] == -125177882818


@pytest.mark.parametrize("skip_known", [False, True])
def test_t3_tree(example: Any, skip_known: bool) -> None:
    schema, dealt, document = example
    rules = GrowthRules(**document["rules"], skip_known=skip_known)
    rows = [row for hospital in dealt for row in hospital]
    growth = grow(schema, rules, lambda queries: count_rows(rows, queries, schema))
    assert json.loads(growth.tree.canonical()) == document["tree"]
    assert growth.tree.sha256 == document["sha256"]
    assert growth.tree.sha256 == "3f3533ae0ea8824fce928c6fa2fe0333866334f93967a6d89099c2aba1951961"
    codes, answer = document["patient"]["codes"], document["patient"]["class"]
    patient = {attribute.name: code for attribute, code in zip(schema.attributes, codes, strict=True)}
    assert predict(growth.tree, schema, patient).label == schema.classes[answer]


def test_t3_root_scores(example: Any) -> None:
    schema, dealt, document = example
    query = Growth.start(schema, GrowthRules(), bytes(32)).queries
    cells = count_rows([row for hospital in dealt for row in hospital], query, schema)
    tables = [ContingencyTable.from_cells(cells[start : start + 8], 4) for start in range(0, len(cells), 8)]
    assert [information_gain_score(table) for table in tables] == document["root_scores"]
    assert document["root_scores"] == [
        -125177882818,
        -126812291424,
        -110565204088,
        -133682001029,
        -154576649866,
    ]


def test_t8_float_trap() -> None:
    document = read("tree_float_trap.json")
    tables = [ContingencyTable.of(table) for table in document["tables"]]
    assert document["exactly_equal"] is True
    assert [information_gain_score(table) for table in tables] == document["scores"]
    assert document["scores"] == [-75203911004, -75203911004]
    assert not has_zero_gain(tables[0])
    rules = GrowthRules(min_child=1)
    assert best_attribute(dict(enumerate(tables)), rules) == document["chosen"] == 0
    assert best_attribute(dict(enumerate(reversed(tables))), rules) == 0
