"""What must hold in the cloud's database and in a hospital's journal between any two transactions, whatever happened.

    check_cloud(database_url)      # after every kill, every failed statement, every full disk
    check_agent(folder)
    check_together(database_url, {"h1": folder}, job)    # once the job is over

Everything is read past the programs, so that a fault of theirs cannot hide.
"""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, create_engine, text
from sqlalchemy.pool import NullPool

from hospital_agent.journal import audit
from hospital_agent.journal.store import JOURNAL_FILE
from shared.protocol.audit_log import START, link
from shared.protocol.envelopes import ZERO_HASH, Sealed, unseal
from shared.wire.envelope import MessageType

ONCE = frozenset({"contribution", "partial", "decision", "notify"})
"""What each member says once in a round and attempt."""
_MAX_BYTES = 2**28


def check_cloud(url: str) -> None:
    """Every job of a database at rest or at work. Raises: AssertionError: a half state, named."""
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:", 1), poolclass=NullPool)
    with engine.connect() as connection:
        _check_chain(
            "the log of acts", _rows(connection, "SELECT number, record, hash FROM acts ORDER BY number")
        )
        for job in _rows(connection, "SELECT * FROM jobs"):
            _check_job(connection, job)
    engine.dispose()


def check_agent(folder: Path) -> None:
    """One hospital's journal. Raises: AssertionError: a half state, named. InputError: its log is broken."""
    with closing(sqlite3.connect(folder / JOURNAL_FILE)) as journal:
        audit.check(journal.execute("SELECT record, hash FROM audit ORDER BY n").fetchall())
        places: dict[str, list[int]] = defaultdict(list)
        once: Counter[tuple[Any, ...]] = Counter()
        statement = (
            "SELECT job, type, round, attempt, seq, state, raw IS NULL, receipt IS NULL FROM outbox "
            "ORDER BY seq"
        )
        for job, kind, number, attempt, seq, state, is_empty, unanswered in journal.execute(statement):
            places[job].append(seq)
            once[job, kind, number, attempt] += kind in ONCE
            assert (state == "pending") != bool(is_empty), (
                f"{job}: {kind} {seq} is {state}, its bytes contradict that"
            )
            assert (state == "sent") != bool(unanswered), (
                f"{job}: {kind} {seq} is {state}, its receipt contradicts that"
            )
        for job, found in places.items():
            assert found == list(range(found[0], found[0] + len(found))), (
                f"{job}: own messages {found} have gaps"
            )
        assert not [key for key, count in once.items() if count > 1], f"said twice: {once}"
        over = "SELECT count(*) FROM jobs WHERE status NOT IN ('active', 'awaiting') AND participation IS NOT NULL"
        assert journal.execute(over).fetchone()[0] == 0, "a finished job still has its secrets in the journal"


def check_together(url: str, folders: Mapping[str, Path], job: str) -> None:
    """Of a job that is over: the cloud and each hospital hold the same messages, each once, none lost.

    What the cloud refused and kept, its sender knows as refused.
    """
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:", 1), poolclass=NullPool)
    with engine.connect() as connection:
        taken = _rows(
            connection, "SELECT sender, seq, type, refused FROM messages_in WHERE job = :job", job=job
        )
    engine.dispose()
    for name, folder in folders.items():
        with closing(sqlite3.connect(folder / JOURNAL_FILE)) as journal:
            own = journal.execute("SELECT state, seq, type FROM outbox WHERE job = ?", (job,)).fetchall()
            waiting = journal.execute("SELECT count(*) FROM outbox WHERE state = 'pending'").fetchone()[0]
        sent = sorted(rest for state, *rest in own if state == "sent")
        at_cloud = sorted([row.seq, row.type] for row in taken if row.sender == name and row.refused is None)
        assert sent == at_cloud, f"{name} has sent {sent}, the cloud has {at_cloud}"
        refused = [[row.seq, row.type] for row in taken if row.sender == name and row.refused is not None]
        known = [rest for state, *rest in own if state == "refused"]
        assert all(one in known for one in refused), f"{name} knows {known} as refused, the cloud {refused}"
        assert waiting == 0, f"{name} still has {waiting} messages to send"


def _rows(connection: Connection, statement: str, **values: object) -> list[Any]:
    return list(connection.execute(text(statement), values))


def _check_chain(name: str, rows: Iterable[Any]) -> str:
    """Numbers from 0 without a gap, each hash over the one before; the last hash."""
    head = START
    for expected, row in enumerate(rows):
        assert row.number == expected, f"{name}: record {row.number} where {expected} belongs"
        head = link(head, bytes(row.record))
        assert row.hash == head, f"{name}: the chain breaks at record {expected}"
    return head


def _check_job(connection: Connection, job: Any) -> None:
    log = _rows(
        connection, "SELECT number, record, hash FROM audit WHERE job = :job ORDER BY number", job=job.id
    )
    assert len(log) == job.audited, f"{job.id}: {len(log)} records, the job says {job.audited}"
    assert _check_chain(job.id, log) == job.head, f"{job.id}: the job's head is not its log's"
    _check_heard(connection, job)
    _check_said(connection, job)
    _check_sums(connection, job)


def _check_heard(connection: Connection, job: Any) -> None:
    """Each member's messages are a chain without gaps, and each was taken once."""
    heard = _rows(
        connection,
        "SELECT sender, seq, type, round, attempt, refused FROM messages_in WHERE job = :job ORDER BY sender, seq",
        job=job.id,
    )
    once = Counter(
        (row.sender, row.type, row.round, row.attempt)
        for row in heard
        if row.type in ONCE and row.refused is None
    )
    assert not [key for key, count in once.items() if count > 1], f"{job.id}: taken twice: {once}"
    for member in _rows(connection, "SELECT agent, chain_seq FROM job_members WHERE job = :job", job=job.id):
        found = [row.seq for row in heard if row.sender == member.agent]
        assert found == list(range(member.chain_seq)), (
            f"{job.id}: {member.agent} sent {found}, next {member.chain_seq}"
        )


def _check_said(connection: Connection, job: Any) -> None:
    """The cloud's messages are one chain that ends where the job says, and each is in somebody's inbox."""
    said = _rows(connection, "SELECT id, type, raw FROM outbox WHERE job = :job ORDER BY id", job=job.id)
    sealed: list[Sealed] = [unseal(bytes(row.raw), max_bytes=_MAX_BYTES) for row in said]
    found = _rows(
        connection, "SELECT reply FROM messages_in WHERE job = :job AND refused IS NULL", job=job.id
    )
    receipts = [unseal(bytes(row.reply), max_bytes=_MAX_BYTES) for row in found]
    chain = sorted([*sealed, *receipts], key=lambda each: each.envelope.seq)
    if not _drops_sums(job):
        found_seqs = [each.envelope.seq for each in chain]
        assert found_seqs == list(range(job.chain_seq)), f"{job.id}: the cloud's chain has gaps"
        assert (chain[-1].sha256 if chain else ZERO_HASH) == job.chain_prev, (
            f"{job.id}: the chain's end is another"
        )
    for before, after in itertools.pairwise(chain):
        if after.envelope.seq == before.envelope.seq + 1:
            assert after.envelope.prev == before.sha256, f"{job.id}: the chain breaks at {after.envelope.seq}"
    without = (
        "SELECT count(*) FROM outbox WHERE job = :job AND NOT EXISTS "
        "(SELECT 1 FROM deliveries WHERE message = outbox.id)"
    )
    assert _rows(connection, without, job=job.id)[0][0] == 0, f"{job.id}: a message in nobody's inbox"


def _check_sums(connection: Connection, job: Any) -> None:
    """One sum a round and its message, in order; contributions only while they wait for it."""
    rounds = [
        row[0]
        for row in _rows(
            connection, "SELECT round FROM aggregates WHERE job = :job ORDER BY round", job=job.id
        )
    ]
    assert rounds == list(range(len(rounds))), f"{job.id}: sums of rounds {rounds}"
    said = _rows(
        connection,
        "SELECT count(*) FROM outbox WHERE job = :job AND type = :kind",
        job=job.id,
        kind=MessageType.AGGREGATE.value,
    )
    fits = said[0][0] <= len(rounds) if _drops_sums(job) else said[0][0] == len(rounds)
    assert fits, f"{job.id}: {said[0][0]} messages for {len(rounds)} sums"
    kept = {
        row[0] for row in _rows(connection, "SELECT agent FROM contributions WHERE job = :job", job=job.id)
    }
    noted = {
        row[0]
        for row in _rows(
            connection,
            "SELECT agent FROM job_members WHERE job = :job AND contributed IS NOT NULL",
            job=job.id,
        )
    }
    if job.state == "COLLECTING":
        assert kept == noted, f"{job.id}: bytes of {sorted(kept)}, noted {sorted(noted)}"
    else:
        assert not kept, f"{job.id}: {job.state} with contributions of {sorted(kept)}"


def _drops_sums(job: Any) -> bool:
    """In key mode threshold sums and partial decryptions leave the outbox once every member has worked on them."""
    return bool(json.loads(bytes(job.manifest)).get("key_mode") == "threshold")
