"""The journal: all or nothing, the same bytes again, one contribution a round, and nothing left of what is erased."""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hospital_agent.journal import Answer, JobEntry, JobStatus, Journal, Tally, schema, steps
from shared.crypto.identity import IdentityKey
from shared.errors import InputError, JobCode
from shared.protocol.consenting import SeenRoster
from shared.protocol.envelopes import Address, Chain, Sealed, seal
from shared.wire.envelope import MessageType
from shared.wire.rounds import Abort, Contribution

JOB = "ab" * 16
KEY = IdentityKey.from_raw(bytes(32))


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal.open(tmp_path) as opened:
        yield opened


def entry(job: str = JOB, **changes: object) -> JobEntry:
    made = JobEntry(job=job, mh="00" * 32, study="s", question="q", offer=b"offer", status=JobStatus.ACTIVE)
    return replace(made, **changes)  # type: ignore[arg-type]


def envelope(
    kind: MessageType, chain: Chain, *, number: int = 0, attempt: int = 0, seed: str = "AAAA"
) -> Sealed:
    body = (
        Contribution(ciphertexts=["AAAA", "BBBB"], seed=seed, head="0" * 64)
        if kind is MessageType.CONTRIBUTION
        else Abort(code=JobCode.CANCELLED)
    )
    return seal(KEY, Address(kind, JOB, "00" * 32, number, attempt, "h1", "cloud"), chain, body)


def test_the_file_is_private(journal: Journal, tmp_path: Path) -> None:
    assert stat.S_IMODE((tmp_path / "journal.sqlite3").stat().st_mode) == 0o600


def test_a_failed_transaction_leaves_nothing(journal: Journal) -> None:
    def cut_off() -> None:
        with journal.transaction():
            journal.put_job(entry())
            journal.queue(envelope(MessageType.CONTRIBUTION, Chain()))
            journal.move_cursor(7)
            journal.record("received", job=JOB)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cut_off()
    assert (journal.cursor, journal.jobs(), journal.pending(), journal.audit_records()) == (0, [], [], [])


def test_what_was_committed_is_there_after_a_restart(journal: Journal, tmp_path: Path) -> None:
    sealed = envelope(MessageType.CONTRIBUTION, Chain())
    written = entry(
        participation={"state": "SENT"}, tally=Tally(seconds={"count": 0.5}), certificates=("AA", "BB")
    )
    with journal.transaction():
        journal.put_job(written)
        journal.queue(sealed)
        journal.move_cursor(3)
    with Journal.open(tmp_path) as again:
        found = again.job(JOB)
        assert found is not None
        assert replace(found, created=0.0, updated=0.0) == written
        assert [message.raw for message in again.pending()] == [sealed.raw]
        assert again.cursor == 3


def test_a_second_contribution_for_one_attempt_is_impossible(journal: Journal) -> None:
    first = envelope(MessageType.CONTRIBUTION, Chain())
    journal.queue(first)
    with pytest.raises(sqlite3.IntegrityError):
        journal.queue(envelope(MessageType.CONTRIBUTION, Chain(1), seed="BBBB"))
    journal.queue(envelope(MessageType.CONTRIBUTION, Chain(2), attempt=1))
    journal.queue(envelope(MessageType.CONTRIBUTION, Chain(3), number=1))
    assert len(journal.pending()) == 3


def test_messages_wait_in_order_until_they_are_answered(journal: Journal) -> None:
    messages = [envelope(MessageType.CONTRIBUTION, Chain(n), number=n) for n in range(3)]
    for sealed in messages:
        journal.queue(sealed)
    first, second, third = journal.pending()
    journal.acknowledge(first, b"receipt")
    journal.refuse(second)
    assert journal.pending() == [third]
    sent = journal.sent(JOB)
    assert [message.state for message in sent] == ["sent", "refused", "pending"]
    assert (sent[0].raw, sent[0].receipt, sent[0].sha256) == (None, b"receipt", messages[0].sha256)


def test_an_erased_job_leaves_no_trace_in_the_files(journal: Journal, tmp_path: Path) -> None:
    secret = "5eec7e7" * 9
    with journal.transaction():
        journal.put_job(entry(participation={"ephemeral_private": secret}))
        journal.queue(envelope(MessageType.CONTRIBUTION, Chain(), seed="C0FFEE" * 20))
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert secret.encode() in content
    with journal.transaction():
        journal.erase_job(entry(status=JobStatus.FAILED))
        journal.queue(envelope(MessageType.ABORT, Chain(1)))
    journal.empty_log()
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert secret.encode() not in content
    assert b"C0FFEE" not in content
    assert [message.type for message in journal.pending()] == ["abort"]
    assert journal.sent(JOB)[0].sha256


def test_rosters_are_remembered_by_records(journal: Journal) -> None:
    sent = SeenRoster(("h1", "h2"), JOB, "ab" * 32, seen=False)
    for known in (sent, replace(sent, seen=True), sent):
        journal.remember_roster("first", known)
    assert journal.seen_rosters("first") == [replace(sent, seen=True)]
    assert journal.seen_rosters("first", besides=JOB) == []
    assert journal.seen_rosters("second") == []


def test_a_persons_word_waits_for_the_daemon(journal: Journal) -> None:
    journal.answer(Answer(JOB, False, "no"))
    journal.answer(Answer(JOB, True, ""))
    assert journal.answers() == [Answer(JOB, True, "")]
    journal.drop_answer(JOB)
    assert journal.answers() == []


def test_a_job_is_found_by_the_beginning_of_its_id(journal: Journal) -> None:
    journal.put_job(entry("aa" * 16))
    journal.put_job(entry("ab" * 16))
    assert journal.find("aa").job == "aa" * 16
    with pytest.raises(InputError, match="several jobs"):
        journal.find("a")
    with pytest.raises(InputError, match="no job of this agent"):
        journal.find("ff")


def test_the_audit_chain_shows_a_change(journal: Journal) -> None:
    heads = [journal.record("sent", job=JOB, round=n) for n in range(3)]
    assert len(set(heads)) == 3
    assert [record["round"] for record in journal.audit_records()] == [0, 1, 2]
    journal.connection.execute(
        "UPDATE audit SET record = replace(record, '\"round\":1', '\"round\":5') WHERE n = 1"
    )
    with pytest.raises(InputError, match="broken at record 1"):
        journal.audit_records()


def test_a_journal_of_a_newer_version_is_left_alone(journal: Journal, tmp_path: Path) -> None:
    journal.connection.execute("PRAGMA user_version = 99")
    with pytest.raises(InputError, match="newer version"):
        Journal.open(tmp_path)


def test_what_is_no_journal_is_named(tmp_path: Path) -> None:
    (tmp_path / "journal.sqlite3").write_bytes(b"something else entirely" * 100)
    with pytest.raises(InputError, match=r"journal\.sqlite3: the journal cannot be opened"):
        Journal.open(tmp_path)


def test_secrets_do_not_show() -> None:
    shown = repr(entry(participation={"ephemeral_private": "hidden"}, offer=b"hidden"))
    assert "hidden" not in shown


def test_tallies_add_up() -> None:
    total = Tally(seconds={"count": 1.0}).plus(
        seconds={"count": 0.5, "encrypt": 2.0}, sent={"contribution": 10}
    )
    assert (total.seconds, total.sent) == ({"count": 1.5, "encrypt": 2.0}, {"contribution": 10})
    assert Tally.from_json(total.to_json()) == total


def test_a_journal_of_the_first_version_takes_the_steps_that_it_lacks(tmp_path: Path) -> None:
    first, path = steps.STEPS[0], tmp_path / "journal.sqlite3"
    old = sqlite3.connect(path)
    old.executescript(first)
    old.execute("INSERT INTO seen_rosters VALUES ('records', 'h1,h2,h3', 'job')")
    old.execute("PRAGMA user_version = 1")
    old.commit()
    old.close()
    (tmp_path / "new").mkdir()
    with Journal.open(tmp_path) as upgraded:
        (version,) = upgraded.connection.execute("PRAGMA user_version").fetchone()
        assert version == len(steps.STEPS)
        assert upgraded.seen_rosters("records") == [SeenRoster(("h1", "h2", "h3"), "job")]
        with Journal.open(tmp_path / "new") as fresh:
            assert _tables(fresh) == _tables(upgraded)


def _tables(journal: Journal) -> list[object]:
    return journal.connection.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()


def test_a_step_that_fails_leaves_the_journal_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "STEPS", (steps.STEPS[0],))
    monkeypatch.setattr(schema, "VERSION", 1)
    Journal.open(tmp_path).connection.close()
    monkeypatch.setattr(schema, "STEPS", (steps.STEPS[0], "CREATE TABLE one (n INTEGER); CREATE nonsense"))
    monkeypatch.setattr(schema, "VERSION", 2)
    with pytest.raises(InputError, match="cannot be opened"):
        Journal.open(tmp_path)
    raw = sqlite3.connect(tmp_path / "journal.sqlite3")
    assert raw.execute("PRAGMA user_version").fetchone() == (1,)
    assert raw.execute("SELECT count(*) FROM sqlite_master WHERE name = 'one'").fetchone() == (0,)
