"""Jobs that only count, over the same protocol: the table that all hospitals open is that of the pooled records."""

from __future__ import annotations

import pytest

from shared.errors import InputError, JobCode
from shared.protocol.disclosure import forecast
from shared.protocol.disclosure_facts import fact
from shared.protocol.disclosure_page import ledger_page, ledger_text
from shared.protocol.disclosure_words import Learned
from shared.protocol.participation import schema_of, to_json
from shared.protocol.states import CloudState
from shared.protocol.tallies import counts_by_place, evaluation_schema
from shared.tree.counting import count_rows
from shared.tree.frontier import root_node
from shared.tree.schema import Schema
from shared.tree.tallying import TallyGrowth, tables_of
from shared.wire.manifest import MAX_ATTRIBUTES, MAX_VALUES, ClassSpec, SchemaSpec
from shared.wire.tally import MAX_PLACES, TallySpec
from tests.protocol.test_simulation import NAMES, PATTERNS, SCHEMA
from tests.support.ledgers import course_so_far, exceeding, listen
from tests.support.places import place_codes
from tests.support.threshold_keys import dealt
from tests.support.world import Rows, World

TALLY = {"max_depth": 1, "tally": {"kind": "histogram"}}
LABELS = ("no", "yes", "both")
TARGET = ClassSpec(name="class", labels=list(LABELS))
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 30))]


def world(seed: int, rows: dict[str, Rows] | None = None, **changes: object) -> World:
    own = rows or {name: PATTERNS * 2**k for k, name in enumerate(NAMES)}
    schema = changes.pop("schema", SCHEMA)
    return World(seed, own, schema, **{**TALLY, **changes})  # type: ignore[arg-type]


def opened(built: World, name: str) -> list[list[tuple[int, ...]]]:
    participation = built.hospitals[name].participation
    assert participation is not None
    assert isinstance(participation.growth, TallyGrowth)
    assert participation.growth.tables is not None
    return [list(table.rows) for table in participation.growth.tables]


def pooled(built: World) -> list[list[tuple[int, ...]]]:
    schema = schema_of(built.cloud.job.manifest)
    rows = [row for hospital in built.hospitals.values() for row in hospital.rows]
    cells = iter(count_rows(rows, [root_node(schema).query], schema))
    return [
        [tuple(next(cells) for _ in schema.classes) for _ in attribute.values]
        for attribute in schema.attributes
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_every_hospital_opens_the_pooled_tables_and_the_cloud_learns_a_constant(seed: int) -> None:
    built = world(seed)
    built.run(4000)
    assert built.cloud.job.state is CloudState.DONE
    assert [opened(built, name) for name in NAMES] == [pooled(built)] * len(NAMES)
    other = world(seed, dict.fromkeys(NAMES, PATTERNS[:3]))
    other.run(4000)
    assert {h.tree for h in built.hospitals.values()} == {h.tree for h in other.hospitals.values()}
    assert opened(other, "h1") != opened(built, "h1")
    assert sorted(built.cloud.aggregates) == [0]


def test_a_key_in_shares_opens_a_tally_as_well() -> None:
    built = world(5, dealt=dealt(512, 4, 4))
    built.run(4000)
    assert opened(built, "h2") == pooled(built)


def test_other_tables_give_another_state_so_that_nobody_agrees_to_them() -> None:
    built = world(1)
    built.run(4000)
    participation = built.hospitals["h1"].participation
    assert participation is not None
    kept = to_json(participation)["growth"]
    schema = schema_of(participation.manifest)
    read = TallyGrowth.from_json(schema, participation.growth.rules, kept)
    assert read.state == participation.growth.state
    kept["tables"][0][0][0] += 1
    with pytest.raises(InputError, match="damaged"):
        TallyGrowth.from_json(schema, participation.growth.rules, kept)


def test_fewer_records_than_min_node_in_all_end_the_job_without_a_table() -> None:
    few = dict.fromkeys(NAMES, PATTERNS[:2])
    built = world(3, few, min_node=9)
    built.run(4000)
    assert built.cloud.job.failure == JobCode.TOO_FEW_RECORDS
    enough = world(3, few, min_node=8)
    enough.run(4000)
    assert enough.cloud.job.state is CloudState.DONE


@pytest.mark.parametrize("places", [1, 7, MAX_VALUES, MAX_VALUES + 1, 3 * MAX_VALUES])
def test_places_beyond_one_attribute_are_parted_and_put_together_again(places: int) -> None:
    spec = evaluation_schema(TARGET, places)
    assert all(len(attribute.values) <= MAX_VALUES for attribute in spec.attributes)
    schema = schema_of_spec(spec)
    ends = [place for place in range(places) for _ in range(place % 3 + 1)]
    rows = [(*place_codes(spec, place), place % len(LABELS)) for place in ends]
    cells = iter(count_rows(rows, [root_node(schema).query], schema))
    nested = [[[next(cells) for _ in LABELS] for _ in a.values] for a in schema.attributes]
    expected = [tuple((place % 3 + 1) * (place % 3 == c) for c in range(3)) for place in range(places)]
    assert counts_by_place(tables_of(schema, nested), places) == expected


def test_every_number_of_places_that_a_manifest_can_name_has_a_schema() -> None:
    assert len(evaluation_schema(TARGET, MAX_PLACES).attributes) == MAX_ATTRIBUTES
    with pytest.raises(ValueError, match="places"):
        TallySpec(kind="evaluation", model="ab" * 16, tree_sha256="cd" * 32, places=MAX_PLACES + 1)


def test_the_places_are_named_apart_from_the_class() -> None:
    spec = evaluation_schema(ClassSpec(name="places 0 to 2", labels=["a"]), 3)
    assert schema_of_spec(spec).class_name == "places 0 to 2"


def schema_of_spec(spec: SchemaSpec) -> Schema:
    return Schema.from_json(spec.model_dump(mode="json", by_alias=True))


@pytest.mark.parametrize("kind", [pytest.param("histogram", marks=pytest.mark.long), "evaluation"])
def test_the_ledger_of_a_tally_forecasts_and_states_its_counts_and_no_tree(kind: str) -> None:
    spec = evaluation_schema(TARGET, 5)
    tally: dict[str, object] = {"kind": kind}
    if kind == "evaluation":
        tally |= {"model": "ab" * 16, "tree_sha256": "cd" * 32, "places": 5}
    own = {
        "tally": tally,
        "schema": spec.model_dump(mode="json", by_alias=True) if kind == "evaluation" else SCHEMA,
    }
    rows = {name: [(*place_codes(spec, place), place % 3) for place in range(5)] for name in NAMES}
    built = world(4, rows if kind == "evaluation" else None, **own)
    heard = listen(built)
    built.run(4000)
    manifest = built.cloud.job.manifest
    foreseen, done = forecast(manifest), fact(manifest, course_so_far(built, heard))
    assert exceeding(foreseen, done) == []
    told = {entry.learned for entry in done.entries}
    assert Learned(kind) in told
    assert not told & {Learned.TREE, Learned.PREDICTIONS}
    assert {Learned.SUMS, Learned.COUNTS_OF_LAST} <= told
    cells = 5 * 3 if kind == "evaluation" else 7 * 3
    assert {e.amount for e in foreseen.entries if e.learned in (Learned.SUMS, Learned(kind))} == {cells}
    assert "grows no tree" in foreseen.to_json()["about"]["counts"][0]
    assert "grows no tree" in ledger_text(foreseen, done)
    page = ledger_page({"forecast": foreseen.to_json(), "fact": done.to_json()}, keeper="h1")
    assert "grows no tree" in page


def test_a_manifest_of_a_tally_has_one_round_and_nothing_to_publish() -> None:
    for wrong in ({"max_depth": 2}, {"publish_tree": True}, {"profile": "paper", "skip_known": False}):
        with pytest.raises(ValueError, match="tally"):
            world(1, **wrong)
    with pytest.raises(ValueError, match="an evaluation names all three"):
        world(1, tally={"kind": "evaluation"})
