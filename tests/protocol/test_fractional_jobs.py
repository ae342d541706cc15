"""Jobs with fractional missing values over the same protocol: the tree of the pooled records, weights and all."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from pydantic import ValidationError

from shared.ids import AgentId
from shared.protocol.disclosure import cells, entries_of, forecast
from shared.protocol.disclosure_facts import fact
from shared.protocol.disclosure_words import Learned, Party
from shared.protocol.plain_words import words_of
from shared.protocol.states import CloudState
from shared.tree.counting import count_rows
from shared.tree.fractional_growing import FractionalGrowth
from shared.wire.manifest import MAX_FRACTIONAL_STEPS
from tests.protocol.test_secret_jobs import RULES
from tests.protocol.test_simulation import NAMES, PATTERNS
from tests.support import exact_fractional as oracle
from tests.support.ledgers import course_so_far, exceeding, listen, terms_of_tables
from tests.support.studies import document
from tests.support.threshold_keys import dealt
from tests.support.world import Parties, Rows, World
from tests.unit.shared.tree.test_fractional import Case, cases

SCHEMA: dict[str, Any] = {
    "attributes": [
        {"name": "a", "values": ["0", "1", "missing"], "missing": "fractional"},
        {"name": "b", "values": ["0", "1", "2", ""], "missing": "fractional"},
        {"name": "c", "values": ["0", "1"]},
    ],
    "class": {"name": "class", "labels": ["no", "yes", "both"]},
}
MISSING: Rows = [(2, 0, 0, 0), (2, 3, 1, 1), (0, 3, 0, 0), (1, 3, 0, 2), (2, 2, 1, 2)]
SETTING = oracle.Setting((2, 3, 2), frozenset({0, 1}), 3)
SEEDS = range(30)


def world(seed: int, **changes: object) -> World:
    rows = {name: PATTERNS * 2**k + MISSING * (k + 1) for k, name in enumerate(NAMES)}
    return World(seed, rows, SCHEMA, **changes)  # type: ignore[arg-type]


def check(built: World) -> None:
    assert built.cloud.job.state is CloudState.DONE
    rows = [row for hospital in built.hospitals.values() for row in hospital.rows]
    for hospital in built.hospitals.values():
        participation = hospital.participation
        assert participation is not None
        assert isinstance(participation.growth, FractionalGrowth)
        tree = participation.growth.tree.to_json(with_counts=True)
        assert oracle.faults(tree, rows, SETTING) == []
    assert len({hospital.tree for hospital in built.hospitals.values()}) == 1


@pytest.mark.long
@pytest.mark.parametrize("seed", SEEDS)
def test_every_hospital_grows_the_tree_of_the_pooled_records(seed: int) -> None:
    built = world(seed)
    built.run(4000)
    check(built)
    assert len(built.cloud.aggregates) > 1


@pytest.mark.long
def test_facts_stay_within_the_forecast_which_names_the_groups() -> None:
    built = world(3)
    heard = listen(built)
    manifest = built.cloud.job.manifest
    for moves in (10, 50, 100, 4000):
        built.run(moves)
        ledger = fact(manifest, course_so_far(built, heard))
        assert exceeding(forecast(manifest), ledger) == []
    told = {(entry.party, entry.learned) for entry in ledger.entries}
    assert (Party.HOSPITAL, Learned.MISSING_GROUPS) in told


@given(cases())
@settings(max_examples=20, deadline=None)
def test_no_records_ask_more_cells_than_the_forecast(case: Case) -> None:
    growth, asked = FractionalGrowth.start(case.schema, case.rules, bytes(32)), 0
    while not growth.is_done:
        asked += growth.slot_count
        growth = growth.absorb(count_rows(case.rows, growth.queries, case.schema))
    terms = terms_of_tables(case.schema, case.rules.max_depth)
    assert asked <= cells(terms)
    learned = {entry.learned for entry in entries_of(terms)}
    assert (Learned.MISSING_GROUPS in learned) == bool(terms.fractional)


def test_a_steward_reads_what_parts_of_records_mean() -> None:
    parties = Parties([AgentId(name) for name in NAMES])
    told = " ".join(words_of(document(parties, schema=SCHEMA), "h1"))
    assert "Missing values of a and b" in told
    assert "allow_fractional" in told
    assert "allow_fractional" not in " ".join(words_of(document(parties), "h1"))


@pytest.mark.long
def test_a_key_in_shares_does_as_well() -> None:
    built = world(7, dealt=dealt(512, 4, 4))
    built.run(4000)
    check(built)


def manifest(schema: dict[str, Any], **changes: object) -> None:
    Parties(list(NAMES)).manifest(schema, **changes)  # type: ignore[arg-type]


def test_what_cannot_have_parts_of_records_says_so() -> None:
    with pytest.raises(ValidationError, match="profile hardened"):
        manifest(SCHEMA, profile="paper")
    noise = {"sigma_squared": 400, "untrusted": 1, "delta": "0.000001"}
    with pytest.raises(ValidationError, match="without noise"):
        manifest(SCHEMA, skip_known=False, noise=noise)
    with pytest.raises(ValidationError, match="missing: fractional needs"):
        manifest(SCHEMA, **RULES)
    manifest(SCHEMA, max_depth=1, skip_known=False, noise=noise, tally={"kind": "histogram"})


def test_the_number_of_parts_is_bounded_before_the_start() -> None:
    marked = [
        {"name": f"a{index}", "values": ["0", "1", "missing"], "missing": "fractional"}
        for index in range(MAX_FRACTIONAL_STEPS + 1)
    ]
    schema = {**SCHEMA, "attributes": marked}
    with pytest.raises(ValidationError, match="max_depth at most 8"):
        manifest(schema, max_depth=None)
    manifest(schema, max_depth=MAX_FRACTIONAL_STEPS)
    manifest({**SCHEMA, "attributes": marked[1:]}, max_depth=None)
