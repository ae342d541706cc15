"""Members are read as far as a step asks for them, and are the same as if all had been read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from sqlalchemy import Connection, event, insert

from cloud_service.store import jobs, members, schema
from cloud_service.store.database import Database
from cloud_service.store.jobs import StoredJob
from cloud_service.store.tables import Study, table_of
from shared.ids import AgentId, StudyId
from shared.protocol import coordinator
from shared.protocol.job import Job, Member
from shared.protocol.states import CloudState
from tests.support.clinic import SCHEMA
from tests.support.toy_keys import fixed_key
from tests.support.world import Parties

NAMES = [AgentId(f"h{number:02}") for number in range(1, 13)]
PARTIES = Parties(NAMES, fixed_key(512))


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    opened = Database(database_url)
    schema.upgrade(opened)
    yield opened
    opened.dispose()


def stored_job(database: Database, number: int = 1) -> str:
    """A job that collects, to which the first of the hospitals has contributed."""
    manifest = PARTIES.manifest(SCHEMA, job=f"{number:032x}")
    certificates = {agent: PARTIES.certificates[agent] for agent in NAMES}
    job = coordinator.create(manifest, certificates, 1).job
    begun = {
        agent: replace(m, contributed="ab" * 32 if agent == NAMES[0] else None)
        for agent, m in job.members.items()
    }
    job = replace(
        job, members=begun, state=CloudState.COLLECTING, roster=tuple(NAMES), expected_state="cd" * 32
    )
    with database.write() as connection:
        if number == 1:
            row = {"id": manifest.study, "question": "?", "schema": b"{}", "publish_tree": False}
            more = {"disclosure": "counts", "synthetic": True, "created": 1}
            connection.execute(insert(table_of(Study)), row | more)
        jobs.add(connection, StoredJob(job, StudyId(manifest.study), 0, 1, None, None))
    return manifest.job


@contextmanager
def rows_read(database: Database) -> Iterator[list[str]]:
    """The statements on members that are run meanwhile."""
    statements: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_rest: object) -> None:
        if "job_members" in statement:
            statements.append(statement)

    event.listen(database.engine, "before_cursor_execute", note)
    try:
        yield statements
    finally:
        event.remove(database.engine, "before_cursor_execute", note)


def both(connection: Connection, job_id: str) -> tuple[Job, Job]:
    glanced, whole = jobs.glance(connection, job_id), jobs.load(connection, job_id)
    assert glanced is not None
    assert whole is not None
    return glanced.job, whole.job


def test_glance_says_what_the_whole_job_says(database: Database) -> None:
    job_id = stored_job(database)
    with database.read() as connection:
        glanced, whole = both(connection, job_id)
        assert glanced.waiting_for == whole.waiting_for == tuple(NAMES[1:])
        assert glanced.context() == whole.context()
        assert glanced.members[NAMES[3]] == whole.members[NAMES[3]]
        assert glanced.members.get(AgentId("stranger")) is None
        assert dict(glanced.members) == whole.members
        later = [
            job.with_member(replace(job.members[NAMES[5]], contributed="ee" * 32)) for job in (glanced, whole)
        ]
        assert later[0].waiting_for == later[1].waiting_for == (*NAMES[1:5], *NAMES[6:])
        undone = [job.with_member(replace(job.members[NAMES[0]], contributed=None)) for job in later]
        assert undone[0].waiting_for == undone[1].waiting_for == (*NAMES[:5], *NAMES[6:])
        assert glanced.waiting_for == tuple(NAMES[1:])  # as it was


def test_one_member_is_read_and_written_alone(database: Database) -> None:
    job_id = stored_job(database)
    with database.write() as connection, rows_read(database) as statements:
        stored = jobs.glance(connection, job_id, lock=True)
        assert stored is not None
        job = stored.job.with_member(replace(stored.job.members[NAMES[2]], contributed="ef" * 32))
        assert NAMES[2] not in job.waiting_for
        jobs.save(connection, stored, job, audited=0, now=2)
    assert [text.split()[0] for text in statements] == ["SELECT", "SELECT", "UPDATE"]
    with database.read() as connection:
        after = jobs.load(connection, job_id)
    assert after is not None
    assert after.job.waiting_for == (NAMES[1], *NAMES[3:])


def test_a_step_that_goes_through_all_reads_them_together(database: Database) -> None:
    job_id = stored_job(database)
    with database.write() as connection, rows_read(database) as statements:
        stored = jobs.glance(connection, job_id, lock=True)
        assert stored is not None
        seen: list[Member] = [stored.job.members[agent] for agent in NAMES]
        assert len(statements) < len(NAMES) / 2
        assert all(stored.job.members[member.id] is member for member in seen)
        fresh = {agent: replace(member, contributed=None) for agent, member in stored.job.members.items()}
        jobs.save(connection, stored, replace(stored.job, members=fresh), audited=0, now=2)
    with database.read() as connection:
        after = jobs.load(connection, job_id)
    assert after is not None
    assert after.job.waiting_for == tuple(NAMES)


def test_hashes_of_certificates_are_kept_for_so_many_jobs(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(members, "MAX_HASHED_JOBS", 2)
    ids = [stored_job(database, number) for number in (1, 2, 3)]
    with database.read() as connection, rows_read(database) as statements:
        for job_id in (*ids, ids[-1]):
            glanced, whole = both(connection, job_id)
            assert glanced.context() == whole.context()
    assert sum("certificate" in text and "accept" not in text for text in statements) == len(ids)
    assert members.hashed_jobs(database.engine.pool) == 2
