"""The chained log, read in parts: what was checked once is not read again, and what was altered since is noticed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hospital_agent.journal import Journal, audit, reading
from hospital_agent.journal.reading import CheckedLog, asked_by_round
from shared.errors import InputError
from shared.protocol import audit_log

JOBS = ("aa" * 16, "bb" * 16)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal.open(tmp_path) as opened:
        fill(opened, 10)
        yield opened


def fill(journal: Journal, rounds: int) -> None:
    for number in range(rounds):
        with journal.transaction():
            for job in JOBS:
                journal.record(
                    "received", job=job, type="round_open", round=number, slots=number + 7, bytes=100
                )
                journal.record("sent", job=job, type="contribution", round=number, bytes=1000 + number)
            journal.record("model_pinned", name="ward")


def alter(journal: Journal, number: int, *, rehash: bool = False) -> None:
    """Another size in one record; with all hashes from there on as somebody would write who covers it up."""
    journal.connection.execute(
        "UPDATE audit SET record = replace(record, '\"bytes\":', '\"bytes\":9') WHERE n = ?", (number,)
    )
    if not rehash:
        return
    head = journal.connection.execute("SELECT hash FROM audit WHERE n = ?", (number - 1,)).fetchone()[0]
    for n, text, _ in journal.audit_rows()[number:]:
        head = audit_log.link(head, text.encode())
        journal.connection.execute("UPDATE audit SET hash = ? WHERE n = ?", (head, n))


def test_a_jobs_records_are_those_of_the_whole_chain(journal: Journal) -> None:
    wanted = [record for record in journal.audit_records() if record.get("job") == JOBS[0]]
    found = CheckedLog().of_job(journal, JOBS[0])
    assert found == wanted
    assert asked_by_round(found) == {number: number + 7 for number in range(10)}


def test_pages_of_messages_meet_without_a_gap(journal: Journal) -> None:
    log, told, before = CheckedLog(), [], None
    while page := log.messages(journal, before=before, most=7):
        told += page
        before = int(page[-1]["n"])
    everything = [record for record in journal.audit_records() if record["kind"] in ("sent", "received")]
    assert told == everything[::-1]
    left = log.messages(journal, way="left", job=JOBS[1], most=100)
    assert [record["bytes"] for record in left] == [1000 + number for number in reversed(range(10))]
    assert {record["kind"] for record in log.messages(journal, way="came", most=100)} == {"received"}


def test_what_was_checked_is_not_read_again(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    real = audit.checked

    def counted(number: int, head: str, text: str, stored: str) -> str:
        read.append(number)
        return real(number, head, text, stored)

    monkeypatch.setattr(reading.audit, "checked", counted)
    log = CheckedLog()
    log.check(journal)
    fill(journal, 1)
    log.check(journal)
    log.check(journal)
    assert read == list(range(55))


@pytest.mark.parametrize("rehash", [False, True])
def test_what_is_altered_after_the_check_is_noticed(journal: Journal, rehash: bool) -> None:
    log = CheckedLog()
    assert len(log.of_job(journal, JOBS[0])) == 20
    alter(journal, 20, rehash=rehash)
    for look in (lambda: log.of_job(journal, JOBS[0]), lambda: log.messages(journal, most=100)):
        with pytest.raises(InputError, match="the audit chain is broken at record"):
            look()
    if not rehash:
        assert len(log.of_job(journal, JOBS[1])) == 20


def test_records_that_were_cut_off_are_missed(journal: Journal) -> None:
    log = CheckedLog()
    log.check(journal)
    journal.connection.execute("DELETE FROM audit WHERE n >= 40")
    with pytest.raises(InputError, match="broken at record 49"):
        log.check(journal)


def test_one_jobs_records_are_found_by_their_index(journal: Journal) -> None:
    plan = journal.connection.execute(
        "EXPLAIN QUERY PLAN SELECT n FROM audit WHERE json_extract(record, '$.job') = ?", (JOBS[0],)
    ).fetchall()
    assert "USING INDEX audit_by_job" in str(plan)


@pytest.mark.long
def test_a_job_of_a_long_log_is_looked_at_in_no_time_once_the_log_is_checked(tmp_path: Path) -> None:
    """100 000 records of 1 000 jobs: a later look costs a small part of the first, which reads all of them."""
    with Journal.open(tmp_path) as journal:
        head, rows = audit.START, []
        for n in range(100_000):
            kind = "sent" if n % 2 else "received"
            record = {"n": n, "time": n, "kind": kind, "job": f"{n // 100:032x}", "bytes": n}
            text, head = audit.link(head, record)
            rows.append((n, text, head))
        with journal.transaction():
            journal.connection.executemany("INSERT INTO audit VALUES (?, ?, ?)", rows)
        log = CheckedLog()
        first = _seconds(lambda: log.of_job(journal, f"{1:032x}"))
        later = [
            _seconds(lambda: log.of_job(journal, f"{500:032x}")),
            _seconds(lambda: log.messages(journal, most=50)),
            _seconds(lambda: log.messages(journal, before=1000, way="left", most=50)),
        ]
        print(f"first {first:.3f} s, later {max(later):.4f} s")
        assert max(later) * 20 < first


def _seconds(look: Callable[[], object]) -> float:
    begun = time.perf_counter()
    look()
    return time.perf_counter() - begun
