"""Jobs with thresholds over the same protocol: all hospitals grow the oracle's tree, and learn what was forecast."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from shared.protocol.disclosure import Terms, cells, entries_of, forecast, levels
from shared.protocol.disclosure_facts import fact
from shared.protocol.disclosure_words import Learned, Party
from shared.protocol.participation import rules_of, schema_of
from shared.protocol.states import CloudState
from shared.tree.counting import count_rows
from shared.tree.fractional_growing import FractionalGrowth
from shared.tree.growth_rules import GrowthRules
from shared.tree.ordered_growing import OrderedGrowth
from tests.protocol.test_secret_jobs import RULES
from tests.support.ledgers import course_so_far, exceeding, listen, terms_of_tables
from tests.support.threshold_keys import dealt
from tests.support.world import Parties, Rows, World
from tests.unit.shared.tree.test_fractional_thresholds import Sample as Parted
from tests.unit.shared.tree.test_fractional_thresholds import grown as grown_in_parts
from tests.unit.shared.tree.test_fractional_thresholds import samples as parted_samples
from tests.unit.shared.tree.test_ordered_growing import Sample, oracle_tree, samples, shape

NAMES = ("h1", "h2", "h3", "h4")
SCHEMA: dict[str, Any] = {
    "attributes": [
        {"name": "age", "values": ["<= 40", "> 40 to 50", "> 50 to 65", "> 65"], "cuts": ["40", "50", "65"]},
        {"name": "ward", "values": ["a", "b", "c"]},
        {"name": "stage", "values": ["I", "II", "III"], "treat_as": "ordered"},
    ],
    "class": {"name": "class", "labels": ["no", "yes"]},
}
ROWS: Rows = [
    (age, (age + stage) % 3, stage, int((age in (1, 2)) != (stage == 2)))
    for age in range(4)
    for stage in range(3)
    for _ in range(4)
]
FULL: dict[str, Any] = {
    "criterion": "c45",
    "thresholds": "gain",
    "min_node": 1,
    "min_child": 1,
    "max_depth": None,
}


def world(seed: int, **changes: Any) -> World:
    return World(seed, {name: ROWS[k::4] for k, name in enumerate(NAMES)}, SCHEMA, **FULL, **changes)


def check(built: World) -> None:
    assert built.cloud.job.state is CloudState.DONE
    schema = schema_of(built.cloud.job.manifest)
    expected = shape(oracle_tree(schema, ROWS).root)
    for hospital in built.hospitals.values():
        assert hospital.participation is not None
        assert shape(hospital.participation.growth.tree.root) == expected
    assert len({hospital.tree for hospital in built.hospitals.values()}) == 1


def test_facts_stay_within_the_forecast_which_names_the_intervals() -> None:
    built = world(3)
    heard = listen(built)
    manifest = built.cloud.job.manifest
    for moves in (10, 50, 4000):
        built.run(moves)
        ledger = fact(manifest, course_so_far(built, heard))
        assert exceeding(forecast(manifest), ledger) == []
    check(built)
    assert (Party.HOSPITAL, Learned.INTERVALS) in {(e.party, e.learned) for e in ledger.entries}


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
def test_every_hospital_grows_the_oracles_tree_whatever_is_lost(seed: int) -> None:
    built = world(seed)
    built.run(4000)
    check(built)


@pytest.mark.long
def test_records_in_parts_and_thresholds_stay_within_the_forecast_together() -> None:
    gaps = {**SCHEMA["attributes"][0], "values": [*SCHEMA["attributes"][0]["values"], "missing"]}
    schema = SCHEMA | {"attributes": [gaps | {"missing": "fractional"}, *SCHEMA["attributes"][1:]]}
    rows = [*ROWS, *[(4, 1, stage, stage % 2) for stage in range(3)]]
    built = World(5, {name: rows[k::4] for k, name in enumerate(NAMES)}, schema, **FULL)
    heard = listen(built)
    manifest = built.cloud.job.manifest
    for moves in (10, 50, 4000):
        built.run(moves)
        ledger = fact(manifest, course_so_far(built, heard))
        assert exceeding(forecast(manifest), ledger) == []
    assert built.cloud.job.state is CloudState.DONE
    assert {Learned.INTERVALS, Learned.MISSING_GROUPS} <= {entry.learned for entry in ledger.entries}
    pooled = grown_in_parts(schema_of(manifest), rules_of(manifest), rows).tree
    for hospital in built.hospitals.values():
        assert hospital.participation is not None
        assert hospital.participation.growth.tree == pooled


@given(parted_samples(), st.one_of(st.none(), st.integers(1, 4)))
@settings(max_examples=30)
def test_no_records_in_parts_ask_more_than_the_forecast(sample: Parted, max_depth: int | None) -> None:
    rules = GrowthRules(min_node=1, min_child=1, max_depth=max_depth, thresholds="gain", skip_known=False)
    growth, asked = FractionalGrowth.start(sample.schema, rules, bytes(32)), 0
    while not growth.is_done:
        asked += growth.slot_count
        growth = growth.absorb(count_rows(sample.rows, growth.queries, sample.schema))
    terms = terms_of_tables(sample.schema, max_depth, thresholds=True)
    assert growth.depth <= levels(terms)
    assert asked <= cells(terms)


@pytest.mark.long
def test_a_key_in_shares_does_as_well() -> None:
    built = world(7, dealt=dealt(512, 4, 4))
    built.run(4000)
    check(built)


@given(samples(), st.one_of(st.none(), st.integers(1, 4)))
@settings(max_examples=30)
def test_no_records_ask_more_than_the_forecast(sample: Sample, max_depth: int | None) -> None:
    rules = GrowthRules(min_node=1, min_child=1, max_depth=max_depth, thresholds="gain", skip_known=False)
    growth, asked, rounds = OrderedGrowth.start(sample.schema, rules, bytes(32)), 0, 0
    while not growth.is_done:
        asked, rounds = asked + growth.slot_count, rounds + 1
        growth = growth.absorb(count_rows(sample.rows, growth.queries, sample.schema))
    terms = terms_of_tables(sample.schema, max_depth, thresholds=True)
    assert rounds <= levels(terms)
    assert asked <= cells(terms)
    assert (Learned.INTERVALS in {entry.learned for entry in entries_of(terms)}) == bool(terms.ordered)


def test_a_forecast_of_the_widest_schema_is_quick_and_finite() -> None:
    terms = Terms("hardened", 3, (256,) * 1024, 64, None, ordered=frozenset(range(1024)))
    assert cells(terms) == levels(terms) * 2**20


def manifest(schema: dict[str, Any] | None = None, **changes: Any) -> Any:
    return Parties(list(NAMES)).manifest(SCHEMA if schema is None else schema, **changes)  # type: ignore[arg-type]


def test_a_manifest_without_thresholds_keeps_its_bytes() -> None:
    plain = manifest()
    assert "thresholds" not in plain.model_dump(mode="json", by_alias=True)
    assert rules_of(plain).thresholds is None
    assert rules_of(manifest(thresholds="gain-mdl")).thresholds == "gain-mdl"
    assert plain.schema_.ordered == ["age", "stage"]


def test_what_cannot_have_thresholds_says_so() -> None:
    with pytest.raises(ValidationError, match="thresholds: it is for profile hardened"):
        manifest(thresholds="gain", profile="paper")
    noise = {"sigma_squared": 400, "untrusted": 1, "delta": "0.000001"}
    with pytest.raises(ValidationError, match=r"thresholds: .*without noise"):
        manifest(thresholds="gain", skip_known=False, noise=noise)
    with pytest.raises(ValidationError, match="thresholds: it is for profile hardened"):
        manifest(thresholds="gain", **RULES)
    with pytest.raises(ValidationError, match="thresholds: a job that only counts"):
        manifest(thresholds="gain", max_depth=1, tally={"kind": "histogram"})
    categories = SCHEMA | {"attributes": [SCHEMA["attributes"][1]]}
    with pytest.raises(ValidationError, match="thresholds: no attribute has an order"):
        manifest(categories, thresholds="gain")
    with pytest.raises(ValidationError):
        manifest(thresholds="median")
