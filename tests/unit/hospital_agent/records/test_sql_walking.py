"""Records of a database that end in a tree or are held out: those of a file, and the engine does the work."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from hospital_agent.records import DataSettings, sql_walking
from hospital_agent.records.derived_source import DerivedSource, chosen_records, rows_of
from hospital_agent.records.rows import RecordRows
from hospital_agent.records.selecting import Selector
from hospital_agent.records.sql_checks import read_spellings
from hospital_agent.records.sql_numbers import MustCopyError
from hospital_agent.records.sql_rows import encode_with_patients, read_codes
from hospital_agent.records.sql_walking import (
    MAX_DEPTH,
    MAX_NODES,
    PIECE,
    count_ends,
    refuse_what_no_query_says,
)
from hospital_agent.records.walking import places_of
from shared.errors import InputError
from shared.protocol.tallies import evaluation_schema
from shared.tree.binary_tests import AtMost, Equals, UpTo
from shared.tree.frontier import NodeQuery
from shared.tree.model import Leaf, Node, Split, Tree
from shared.tree.numbers import FixedPoint
from shared.tree.schema import Attribute, Schema
from shared.wire.manifest import ClassSpec
from shared.wire.tally import SelectionSpec
from tests.support.wards import duck_ward, file_ward, insert, postgres_ward

pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")

SCHEMA = Schema.create(
    [
        Attribute("sex", ("f", "m", "missing"), missing="fractional"),
        Attribute("stage", ("1", "2", "3", "4"), treat_as="ordered"),
        replace(Attribute.numeric("temp", ["36.6", "38"], "missing"), missing="fractional"),
    ],
    "ill",
    ["no", "yes"],
)
DRAWN = random.Random(7)
ROWS: list[tuple[Any, ...]] = [
    (
        DRAWN.choice(["f", " m", None]),
        DRAWN.randint(1, 4),
        DRAWN.choice([None, 36.6, 36.7, 38.5]),
        DRAWN.choice(["no", "yes"]),
    )
    for _ in range(300)
]


def fill(execute: Callable[[str], object]) -> None:
    execute("CREATE TABLE ward (sex TEXT, stage INTEGER, temp DOUBLE PRECISION, ill TEXT)")
    insert(execute, ROWS)


@pytest.fixture(scope="module")
def duck(tmp_path_factory: pytest.TempPathFactory) -> DataSettings:
    return duck_ward(tmp_path_factory.mktemp("duck"), fill)


@pytest.fixture(scope="module")
def postgres(postgres_server: str) -> Iterator[DataSettings]:
    with postgres_ward(postgres_server, fill) as ward:
        yield ward


@pytest.fixture(params=["duck", "postgres"])
def ward(request: pytest.FixtureRequest) -> DataSettings:
    found: DataSettings = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def in_file(tmp_path: Path) -> DataSettings:
    return file_ward(tmp_path, ("sex", "stage", "temp", "ill"), ROWS)


def drawn_tree(drawn: random.Random, depth: int) -> Node:
    if not depth:
        return Leaf(drawn.randint(0, 1))
    attribute, kids = drawn.randint(0, 2), [drawn_tree(drawn, drawn.randint(0, depth - 1)) for _ in range(4)]
    if drawn.random() < 0.5:
        return Split(attribute, tuple(kids[: SCHEMA.branch_count(attribute)]))
    test = UpTo(drawn.randint(0, 1)) if drawn.random() < 0.5 else Equals(drawn.randint(0, 1))
    return Split(attribute, tuple(kids[:2]), test=test)


def grown(drawn: random.Random, nodes: int) -> Node:
    """A random tree of at most so many nodes."""
    attribute = drawn.randint(0, 2)
    branches = SCHEMA.branch_count(attribute)
    if nodes <= branches:
        return Leaf(drawn.randint(0, 1))
    left = nodes - 1 - branches
    shares = [drawn.randint(0, left // branches) for _ in range(branches - 1)]
    return Split(attribute, tuple(grown(drawn, 1 + share) for share in [*shares, left - sum(shares)]))


def chain(depth: int) -> Tree:
    node: Node = Leaf(0)
    for level in range(depth):
        node = Split(level % 2, (Leaf(1), node), test=UpTo(level % 2))
    return Tree(node)


def test_records_end_where_a_walk_of_their_codes_ends(ward: DataSettings) -> None:
    coded = encode_with_patients(SCHEMA, ward)[0]
    rows, drawn = rows_of(SCHEMA, coded), random.Random(11)
    for tree in [*(Tree(drawn_tree(drawn, 4)) for _ in range(2)), chain(2 * PIECE + 5)]:
        ends_as_walked(tree, ward, rows)


def ends_as_walked(tree: Tree, ward: DataSettings, rows: RecordRows) -> None:
    place, label, number, notes = count_ends(tree, SCHEMA, ward)
    expected = Counter(zip(places_of(tree, SCHEMA, rows).tolist(), rows.classes.tolist(), strict=True))
    assert (
        dict(zip(zip(place.tolist(), label.tolist(), strict=True), number.tolist(), strict=True)) == expected
    )
    assert notes == ()


@pytest.mark.parametrize("piece", [1, 2, 3])
def test_a_tree_in_pieces_is_the_tree(
    duck: DataSettings, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    rows, drawn = rows_of(SCHEMA, encode_with_patients(SCHEMA, duck)[0]), random.Random(piece)
    monkeypatch.setattr(sql_walking, "PIECE", piece)
    ends_as_walked(Tree(drawn_tree(drawn, 6)), duck, rows)


@pytest.mark.long
def test_trees_as_large_and_as_deep_as_may_be(ward: DataSettings) -> None:
    rows = rows_of(SCHEMA, encode_with_patients(SCHEMA, ward)[0])
    large = Tree(grown(random.Random(5), MAX_NODES - 2))
    assert MAX_NODES * 0.7 < large.node_count <= MAX_NODES
    for tree in (large, chain(MAX_DEPTH)):
        ends_as_walked(tree, ward, rows)


@pytest.mark.parametrize("missing", ["36.6", "40"])
def test_numbers_that_a_tree_compares_as_they_are(ward: DataSettings, missing: str) -> None:
    temp = Attribute("temp", (), fixed_point=FixedPoint.create("temp", "30", "45", 1, missing))
    stage = Attribute("stage", (), fixed_point=FixedPoint.create("stage", "1", "4", 0))
    schema = Schema.create([stage, temp], "ill", ["no", "yes"])
    warm = Split(
        1, (Leaf(0), Split(0, (Leaf(1), Leaf(0)), test=AtMost(Decimal(2)))), test=AtMost(Decimal("36.6"))
    )
    tree = Tree(Split(1, (warm, Leaf(1)), test=AtMost(Decimal("37.6"))))
    rows = rows_of(schema, read_codes(schema, ward))
    place, label, number, _ = count_ends(tree, schema, ward)
    expected = Counter(zip(places_of(tree, schema, rows).tolist(), rows.classes.tolist(), strict=True))
    assert (
        dict(zip(zip(place.tolist(), label.tolist(), strict=True), number.tolist(), strict=True)) == expected
    )
    narrow = FixedPoint.create("temp", "30", "38", 1, "36.6")
    with pytest.raises(InputError, match="column 'temp': a number outside the study's range"):
        count_ends(
            tree, Schema.create([stage, replace(temp, fixed_point=narrow)], "ill", ["no", "yes"]), ward
        )


def test_an_evaluation_counts_alike_in_a_database_and_in_a_file(
    ward: DataSettings, in_file: DataSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = Tree(drawn_tree(random.Random(3), 3))
    asked = _schema_of_places(tree)
    root = [NodeQuery((), tuple(range(len(asked.attributes))), (0, 1))]

    def frozen(settings: DataSettings) -> tuple[list[int], tuple[str, ...]]:
        source = DerivedSource(settings, tmp_path / "kept", asked=lambda: (tree, SCHEMA))
        snapshot = source.freeze(asked, bytes(16))
        assert source.reopen(asked, snapshot.sha256).count(root) == snapshot.count(root)
        return snapshot.count(root), snapshot.notes

    there = frozen(ward)
    assert there == frozen(in_file)
    assert there[1] == ()
    monkeypatch.setattr(sql_walking, "MAX_NODES", 1)
    assert frozen(ward) == (
        there[0],
        ("each record was fetched to see where it ends: the tree has more than 1 nodes",),
    )


def _schema_of_places(tree: Tree) -> Schema:
    spec = evaluation_schema(ClassSpec(name="ill", labels=["no", "yes"]), tree.node_count)
    return Schema.from_json(spec.model_dump(by_alias=True, exclude_none=True))


def test_held_out_records_are_those_of_a_file(ward: DataSettings, in_file: DataSettings) -> None:
    for first in range(2):
        spec = SelectionSpec(seed="5e" * 16, parts=5, first=first, last=first + 1, use="test")
        selector = Selector(spec, bytes(range(32)))
        bags = [
            sorted(map(tuple, chosen_records(settings, SCHEMA, selector).codes.T.tolist()))
            for settings in (ward, in_file)
        ]
        assert bags[0] == bags[1]
        assert bags[0]


def test_what_no_query_says_is_told() -> None:
    voting = Split(0, (Leaf(0, (1, 0)), Leaf(1, (0, 1))), counts=(1, 1))
    wide = Split(1, tuple(Split(1, (Leaf(0),) * 4) for _ in range(4)))
    cases = {
        "vote says": (Tree(voting), SCHEMA),
        f"more than {MAX_DEPTH} questions": (chain(MAX_DEPTH + 1), SCHEMA),
        f"more than {MAX_NODES} nodes": (Tree(_grown(wide, 5)), SCHEMA),
    }
    for message, (tree, schema) in cases.items():
        with pytest.raises(MustCopyError, match=message):
            refuse_what_no_query_says(tree, schema)


def _grown(node: Node, depth: int) -> Node:
    return node if not depth else Split(1, (_grown(node, depth - 1),) * 4)


def test_a_table_that_changes_meanwhile_gives_no_record_without_a_code(ward: DataSettings) -> None:
    """After the check, as another writer would: a class that the study does not list."""
    checked = read_spellings

    def changed(*arguments: Any) -> Any:
        found = checked(*arguments)
        return [*found[:-1], [found[-1][0], ()]]

    with pytest.MonkeyPatch.context() as patch:
        for module in ("sql_walking", "sql_rows"):
            patch.setattr(f"hospital_agent.records.{module}.read_spellings", changed)
        with pytest.raises(InputError, match="the records changed while they were counted"):
            count_ends(chain(2), SCHEMA, ward)
        with pytest.raises(InputError, match="the records changed while they were read"):
            encode_with_patients(SCHEMA, ward)[0]
