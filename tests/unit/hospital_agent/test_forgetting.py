"""Finished jobs leave the journal after the time that the settings name; the difference rule keeps its rosters."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hospital_agent.daemon.forgetting import forget_old
from hospital_agent.daemon.office import Office
from hospital_agent.journal import JobEntry, JobStatus, Journal
from privet.__main__ import run
from shared.crypto.identity import IdentityKey
from shared.errors import JobCode
from shared.protocol.consenting import SeenRoster
from shared.protocol.envelopes import Address, Chain, seal
from shared.wire.envelope import MessageType
from shared.wire.rounds import Abort

DAY = 86_400


def entry(job: str, status: JobStatus) -> JobEntry:
    return JobEntry(job, "mh", "study", "question?", b"offer", status)


def office(journal: Journal, days: int, now: float) -> Office:
    parts: Any = SimpleNamespace(
        journal=journal, settings=SimpleNamespace(retention_days=days), clock=lambda: now
    )
    return cast(Office, parts)


@pytest.mark.parametrize(
    ("days", "later", "left"),
    [(30, 31, {"running"}), (30, 29, {"running", "over"}), (0, 9999, {"running", "over"})],
)
def test_after_its_time(tmp_path: Path, days: int, later: int, left: set[str]) -> None:
    with Journal.open(tmp_path) as journal:
        with journal.transaction():
            journal.put_job(entry("over", JobStatus.COMPLETE))
            journal.put_job(entry("running", JobStatus.ACTIVE))
            journal.remember_roster("records", SeenRoster(("h1", "h2", "h3"), "over"))
        stored = journal.job("over")
        assert stored is not None
        forget_old(office(journal, days, stored.updated + later * DAY))
        assert {kept.job for kept in journal.jobs()} == left
        assert journal.seen_rosters("records")
        kinds = [record["kind"] for record in journal.audit_records()]
    assert kinds == (["forgotten"] if "over" not in left else [])


def test_a_job_is_kept_until_the_cloud_has_its_last_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The others wait for that message, and the agent that sends it looks the job up when it is answered."""
    (tmp_path / "agent.toml").write_text('id = "h1"\n')
    job, key = "ab" * 16, IdentityKey.from_raw(bytes(32))
    last = seal(
        key,
        Address(MessageType.ABORT, job, "00" * 32, 0, 0, "h1", "cloud"),
        Chain(),
        Abort(code=JobCode.CANCELLED),
    )
    with Journal.open(tmp_path) as journal:
        with journal.transaction():
            journal.put_job(entry(job, JobStatus.FAILED))
            journal.queue(last)
        assert run(["agent", "forget", str(tmp_path), job]) == 3
        assert "has not reached the cloud" in capsys.readouterr().err
        (message,) = journal.pending()
        with journal.transaction():
            journal.acknowledge(message, b"receipt")
        assert run(["agent", "forget", str(tmp_path), job]) == 0
        assert journal.job(job) is None
