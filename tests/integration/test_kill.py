"""`kill -9` of the cloud and of agents in the middle of real jobs: each completes with the tree of the pooled records.

Processes, ports, journals and databases are real. Moments are taken from the cloud's database, so that a kill falls
right behind a commit: most often before the answer to it has left.
"""

from __future__ import annotations

import hashlib
import os
import random
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial

import pytest

from hospital_agent.journal import JobStatus
from tests.support.clinic import SCHEMA
from tests.support.databases import postgres_database
from tests.support.programs import Founded, Program, RealFederation, real_federation
from tests.support.weighted_clinic import pooled_tree, write_files

pytestmark = pytest.mark.xdist_group("kill")

ALL_EVENTS = 28
"""About as many events as a job of the clinic's records has."""


@pytest.fixture(scope="module")
def federation(
    founded_federation: Founded, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RealFederation]:
    with real_federation(founded_federation, tmp_path_factory.mktemp("kill")) as running:
        yield running


@pytest.fixture(scope="module")
def on_postgres(
    founded_federation: Founded, postgres_server: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RealFederation]:
    with (
        postgres_database(postgres_server) as url,
        real_federation(founded_federation, tmp_path_factory.mktemp("kill"), url) as running,
    ):
        yield running


def start(federation: RealFederation) -> str:
    folder = federation.folder / "records"
    folder.mkdir(exist_ok=True)
    return federation.start_job(SCHEMA, write_files(folder, tuple(federation.agents)))


def revive(*programs: Program) -> None:
    """Kill all, then start all again."""
    for program in programs:
        program.kill()
    for program in programs:
        program.start()


def check_exactness(federation: RealFederation, job: str) -> None:
    """The pooled tree with the pooled counts everywhere, one aggregate a round, one contribution of each for it."""
    federation.wait_until_done(job)
    expected = pooled_tree(tuple(federation.agents))
    for name in federation.agents:
        assert federation.entry(name, job).status is JobStatus.COMPLETE
        model = federation.model(name, job)
        assert model.tree.sha256 == expected.sha256
        assert model.tree.to_json(with_counts=True) == expected.to_json(with_counts=True)
    check_tables(federation, job)


def check_tables(federation: RealFederation, job: str) -> None:
    tables, hospitals = federation.tables, sorted(federation.agents)
    state, last = tables.rows("SELECT state, round FROM jobs WHERE id = :job", job=job)[0]
    rounds = list(range(last + 1))
    assert state == "DONE"
    committed = tables.rows("SELECT round FROM aggregates WHERE job = :job ORDER BY round", job=job)
    assert [row[0] for row in committed] == rounds
    sent = Counter(row[0] for row in tables.rows("SELECT type FROM outbox WHERE job = :job", job=job))
    assert sent["aggregate"] == sent["round_open"] == len(rounds)
    taken = tables.rows(
        "SELECT round, attempt, sender FROM messages_in "
        "WHERE job = :job AND type = 'contribution' AND refused IS NULL ORDER BY round, sender",
        job=job,
    )
    assert [tuple(row) for row in taken] == [(number, 0, name) for number in rounds for name in hospitals]
    assert tables.rows("SELECT count(*) FROM contributions WHERE job = :job", job=job)[0][0] == 0
    assert tables.rows("SELECT count(*) FROM evidence WHERE job = :job", job=job)[0][0] == 0
    assert tables.rows("SELECT count(*) FROM messages_in WHERE refused IS NOT NULL")[0][0] == 0


@pytest.mark.parametrize(
    "moments",
    [
        [("invited", 1), ("contributed", 1), ("aggregate", 1)],
        pytest.param([("accepted", 2), ("contributed", 3), ("decided", 2)], marks=pytest.mark.long),
    ],
    ids=["offer-contribution-sum", "acceptance-complete-decision"],
)
def test_cloud(federation: RealFederation, moments: list[tuple[str, int]]) -> None:
    job = start(federation)
    for kind, times in moments:
        federation.wait_for(job, kind, times)
        revive(federation.cloud)
    check_exactness(federation, job)


def test_agents(federation: RealFederation) -> None:
    job = start(federation)
    for name, kind, times in [
        ("h1", "invited", 1),
        ("h2", "roster", 1),
        ("h3", "contributed", 2),
        ("h1", "aggregate", 1),
        ("h2", "decided", 1),
    ]:
        federation.wait_for(job, kind, times)
        revive(federation.agents[name])
    check_exactness(federation, job)


def test_journalled_contribution_is_sent_as_it_was(federation: RealFederation) -> None:
    job = start(federation)
    kept: dict[str, str] = {}
    while not kept:
        if "done" in federation.events(job):  # every receipt of that job was quicker than the kills
            federation.wait_until_done(job)
            job = start(federation)
        federation.wait(
            partial(is_worth_a_kill, federation, job),
            "a contribution without its receipt",
        )
        for program in federation.programs:
            program.kill()
        kept = journalled(federation, job)
        for program in federation.programs:
            program.start()
    check_exactness(federation, job)
    rows = federation.tables.rows(
        "SELECT sha256 FROM messages_in WHERE job = :job AND type = 'contribution'", job=job
    )
    assert set(kept.values()) <= {row[0] for row in rows}


def is_worth_a_kill(federation: RealFederation, job: str) -> bool:
    return bool(journalled(federation, job)) or "done" in federation.events(job)


def journalled(federation: RealFederation, job: str) -> dict[str, str]:
    """SHA-256 of each contribution whose bytes wait in a journal."""
    found = {}
    for name in federation.agents:
        with sqlite3.connect(federation.folder / name / "journal.sqlite3") as connection:
            row = connection.execute(
                "SELECT raw FROM outbox WHERE job = ? AND type = 'contribution' AND state = 'pending'", (job,)
            ).fetchone()
        connection.close()
        if row is not None:
            found[name] = hashlib.sha256(row[0]).hexdigest()
    return found


@pytest.mark.long
def test_everything_at_once(federation: RealFederation) -> None:
    job = start(federation)
    federation.wait_for(job, "contributed", 2)
    revive(*federation.programs)
    check_exactness(federation, job)


def test_on_postgres(on_postgres: RealFederation) -> None:
    job = start(on_postgres)
    on_postgres.wait_for(job, "contributed", 3)
    revive(on_postgres.cloud)
    on_postgres.wait_for(job, "decided", 1)
    revive(on_postgres.agents["h1"])
    check_exactness(on_postgres, job)


def has_come_to(federation: RealFederation, job: str, number: int) -> bool:
    """Whether the job has had so many events, or can have no more that matter."""
    events = federation.events(job)
    return len(events) >= number or "done" in events


def kill_at_random(federation: RealFederation, choose: random.Random, kills: int) -> int:
    """One job with up to so many kills, each of a random program at a random moment; how many there were."""
    job, done = start(federation), 0
    while done < kills and federation.events(job).count("attested") < len(federation.agents):
        wanted = len(federation.events(job)) + choose.randrange(1, ALL_EVENTS // kills + 1)
        federation.wait(partial(has_come_to, federation, job, wanted), f"event number {wanted}")
        time.sleep(choose.random() * 0.03)
        victims = [choose.choice(federation.programs)]
        if choose.random() < 0.3:
            victims = choose.sample(federation.programs, 2)
        revive(*victims)
        done += 1
    check_exactness(federation, job)
    return done


@pytest.mark.long
def test_random_moments(federation: RealFederation) -> None:
    seed = int(os.environ.get("PRIVET_KILL_SEED", "0")) or random.SystemRandom().randrange(1, 2**32)
    print(f"PRIVET_KILL_SEED={seed}")
    assert kill_at_random(federation, random.Random(seed), kills=3) > 0


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("database", ["federation", "on_postgres"])
def test_hundreds_of_random_kills(request: pytest.FixtureRequest, database: str) -> None:
    federation: RealFederation = request.getfixturevalue(database)
    seed = random.SystemRandom().randrange(1, 2**32)
    print(f"seed {seed}")
    choose, kills = random.Random(seed), 0
    while kills < 100:
        kills += kill_at_random(federation, choose, kills=5)
