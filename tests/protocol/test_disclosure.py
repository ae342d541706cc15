"""Ledgers: what a job discloses in fact is never more than its forecast, whatever happens to it."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import JobFailure
from shared.protocol.disclosure import (
    Terms,
    about,
    cells,
    entries_of,
    forecast,
    levels,
    nodes_at,
)
from shared.protocol.disclosure_facts import Course, fact
from shared.protocol.disclosure_page import ledger_page
from shared.protocol.disclosure_words import (
    Condition,
    Learned,
    Party,
    amount_in_words,
)
from shared.protocol.states import CloudState
from shared.secure_tree.secret_id3_openings import openings_shown_by
from shared.texts import texts
from shared.tree.counting import count_rows
from shared.tree.growing import Growth
from shared.wire.secret import SecretSpec
from tests.protocol.test_secret_jobs import RULES
from tests.protocol.test_simulation import NAMES, PATTERNS, SCHEMA
from tests.support.ledgers import course_so_far, exceeding, listen
from tests.support.threshold_keys import dealt
from tests.support.tree_strategies import Sample, rules, samples
from tests.support.world import World

SHAPES: dict[str, dict[str, Any]] = {
    "hardened": {},
    "every cell": {"skip_known": False},
    "shallow": {"max_depth": 2},
    "published": {"publish_tree": True},
    "paper": {"profile": "paper", "skip_known": False, "max_depth": 2},
    "threshold": {"dealt": dealt(512, 4, 4), "max_depth": 2},
    "mode I": RULES,
    "mode I, published": {**RULES, "publish_tree": True},
}


DEFAULT = ("shallow", "paper", "threshold", "mode I, published")
LONG = tuple(shape for shape in SHAPES if shape not in DEFAULT)


def built(seed: int, changes: dict[str, Any]) -> World:
    rows = {name: PATTERNS * 2**k for k, name in enumerate(NAMES)}
    return World(seed, rows, SCHEMA, **changes)


@pytest.mark.parametrize(
    "shape", [*DEFAULT, *(pytest.param(shape, marks=pytest.mark.long) for shape in LONG)]
)
def test_facts_stay_within_the_forecast_at_every_stage(shape: str) -> None:
    world = built(7, SHAPES[shape])
    heard = listen(world)
    manifest = world.cloud.job.manifest
    for moves in (10, 50, 100, 4000):
        world.run(moves)
        ledger = fact(manifest, course_so_far(world, heard))
        assert exceeding(forecast(manifest), ledger) == []
    assert world.cloud.job.state is CloudState.DONE
    told = {entry.learned: entry.amount for entry in ledger.entries}
    assert told.keys() >= {Learned.ROSTER, Learned.TREE, Learned.TREE_HASH}
    assert (Learned.SUMS in told) == (manifest.secret is None)
    assert manifest.secret is not None or told[Learned.SUMS]
    assert (Learned.TREE_WITHOUT_COUNTS in told) == manifest.publish_tree
    document = ledger.to_json()
    assert (document["kind"], document["about"]["job"]) == ("fact", manifest.job)
    assert {"who", "what", "when", "why", "amount", "unit"} <= set(document["entries"][0])
    assert document["course"]["done"]
    if shape == "shallow":
        tighter = forecast(manifest.model_copy(update={"max_depth": 1}))
        beyond = {entry.learned for entry in exceeding(tighter, ledger)}
        assert beyond >= {Learned.SUMS, Learned.COUNTS_OF_LAST}


def test_a_hospital_that_drops_out_shows_in_fact_and_forecast() -> None:
    world = built(3, {"min_hospitals": 3, "max_shrinks": 1})
    heard = listen(world)
    while not world.cloud.job.roster:
        world.move(0.1)
    world.silent.add("h4")
    for _ in range(400):
        world.move(0.1)
    if world.cloud.job.round == 0:
        world.wait(200)
    world.run(4000)
    manifest = world.cloud.job.manifest
    ledger = fact(manifest, course_so_far(world, heard))
    assert exceeding(forecast(manifest), ledger) == []
    assert Learned.COUNTS_OF_DROPPED in {entry.learned for entry in ledger.entries}
    without = forecast(manifest.model_copy(update={"max_shrinks": 0}))
    assert exceeding(without, ledger), "a fact beyond its forecast is not noticed"


@given(samples(), st.sampled_from(["information-gain", "gain-ratio"]).flatmap(rules))  # type: ignore[arg-type]
def test_no_records_ask_more_cells_or_open_more_nodes_than_the_bounds(sample: Sample, rule: Any) -> None:
    growth, asked, rounds = Growth.start(sample.schema, rule, bytes(32)), 0, 0
    try:
        while not growth.is_done:
            asked, rounds = asked + growth.slot_count, rounds + 1
            growth = growth.absorb(count_rows(sample.rows, growth.queries, sample.schema))
    except JobFailure:
        return
    terms = Terms(
        profile="hardened",
        hospitals=3,
        values=tuple(len(attribute.values) for attribute in sample.schema.attributes),
        classes=sample.schema.class_count,
        max_depth=rule.max_depth,
    )
    assert rounds <= levels(terms)
    assert asked <= cells(terms)
    spec = secret_spec(open_empty=True)
    secret = entries_of(replace(terms, profile="secret-id3", secret=spec))
    bounds = {entry.learned: entry.amount for entry in secret}
    opened = openings_shown_by(growth.tree, sample.schema, rule, len(sample.rows), open_empty=True)
    kinds = {"choice": Learned.CHOICES, "leaf_class": Learned.LEAF_CLASSES, "emptiness": Learned.EMPTINESS}
    for kind, count in opened.items():
        bound = bounds[kinds[kind]]
        assert bound is None or count <= bound
    assert nodes_at(terms, 0) == 1


def test_every_code_has_its_words_and_every_thing_learned_a_job_that_shows_it() -> None:
    for table, codes in (("party", Party), ("condition", Condition), ("learned", Learned), ("why", Learned)):
        assert {code for code in codes if f"ledger.{table}.{code}" not in texts()} == set()
    shown = {entry.learned for terms in all_terms() for entry in entries_of(terms)}
    assert shown == set(Learned)
    units = {entry.unit for terms in all_terms() for entry in entries_of(terms)}
    assert {unit for unit in units - {""} if amount_in_words(1, unit) == amount_in_words(2, unit)} == set()
    assert {entry.party for terms in all_terms() for entry in entries_of(terms)} == set(Party)


def secret_spec(**changes: Any) -> SecretSpec:
    return SecretSpec.model_validate({"compute_parties": ["h1", "h2", "h3"], **changes})


def all_terms() -> list[Terms]:
    """One of every kind of job."""
    base = Terms("hardened", 4, (2, 3), 2, 3, max_shrinks=1, publish_tree=True, consents=1)
    secret = [
        secret_spec(open_empty=True),
        secret_spec(),
        secret_spec(result="shared"),
        secret_spec(purpose="predict", model="ab" * 16),
    ]
    hardened = [
        replace(base, threshold=threshold, noisy=noisy)
        for threshold, noisy in product((None, 4), (False, True))
    ]
    return [
        *hardened,
        replace(base, fractional=frozenset({1})),
        replace(base, ordered=frozenset({1})),
        replace(base, figures=frozenset({"importance"})),
        replace(base, tally="evaluation", figures=frozenset({"evaluation"})),
        replace(base, tally="histogram"),
        replace(base, profile="paper"),
        replace(base, profile="secret-id3", secret=secret[0]),
        *(replace(base, profile="secret-gainratio", secret=spec) for spec in secret[1:]),
    ]


def test_noise_and_missing_shrinks_take_lines_away() -> None:
    base = Terms("hardened", 4, (2, 3), 2, 3)
    plain = {entry.learned for entry in entries_of(base)}
    noisy = {entry.learned for entry in entries_of(replace(base, noisy=True))}
    assert Learned.COUNTS_OF_DROPPED not in plain
    assert plain - noisy == {Learned.SUMS, Learned.COUNTS_OF_LAST}
    assert noisy - plain == {Learned.NOISY_SUMS, Learned.NOISY_COUNTS_OF_LAST}


def test_noise_is_told_with_its_epsilon_and_consents_with_their_hospital() -> None:
    plain = built(1, {}).cloud.job.manifest
    assert (about(plain)["epsilon_at_most"], about(plain)["consents"]) == (None, [])
    noise = {"sigma_squared": 400, "untrusted": 1, "delta": "0.000001"}
    noisy = built(1, {"noise": noise, "skip_known": False, "max_depth": 2}).cloud.job.manifest
    told = about(noisy)
    assert float(told["epsilon_at_most"]) > 0
    assert told["delta"] == "0.000001"
    page = ledger_page(
        {"forecast": forecast(noisy).to_json(), "fact": fact(noisy, Course()).to_json()}, keeper="the cloud"
    )
    secret = built(1, RULES).cloud.job.manifest
    assert about(secret)["secret"]["result_parties"] is None
    pages = {"forecast": forecast(secret).to_json(), "fact": fact(secret, Course()).to_json()}
    assert "is opened to every member" in " ".join(ledger_page(pages, keeper="the cloud").split())
    assert f"epsilon {told['epsilon_at_most']} at most at delta" in " ".join(page.split())
