"""The journal: one transaction holds the new state, the outgoing bytes and the place in the inbox (rule A2).

After `kill -9` the very same bytes go out again, and the index `one_contribution` makes a second contribution for
one (round, attempt) impossible even for a bug. At the end of a job its ephemeral key, seeds and counts are erased
(rule A6): deleted content is overwritten, and the write-ahead log is emptied.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from hospital_agent.journal import audit
from hospital_agent.journal.cover import Cover
from hospital_agent.journal.entries import Answer, JobEntry, JobStatus, OutgoingMessage, Tally
from hospital_agent.journal.schema import connect
from hospital_agent.protection import Protection
from shared.errors import InputError
from shared.protocol.consenting import SeenRoster
from shared.protocol.envelopes import Sealed

JOURNAL_FILE: Final = "journal.sqlite3"
_JOB_COLUMNS: Final = (
    "job, mh, study, question, offer, status, phase, round, participation, snapshot_sha256, "
    "records_identity, certificates, code, reason, tally, created, updated"
)
_OUTBOX_COLUMNS: Final = "id, job, type, round, attempt, sha256, raw, state, receipt"


@dataclass(slots=True)
class Journal:
    """One agent's journal. Each thread or process opens its own; SQLite keeps them apart."""

    connection: sqlite3.Connection = field(repr=False)
    cover: Cover = field(repr=False)

    @classmethod
    def open(cls, folder: Path) -> Self:
        """The journal of the agent in `folder`, made if it is not there."""
        return cls(connect(folder / JOURNAL_FILE), Cover(Protection.of(folder)))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.connection.close()

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[None]:
        """All or nothing. `durable=False`: not synced at once; for what a repeat would bring back."""
        self.connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.connection.execute("COMMIT")
        except BaseException:
            if self.connection.in_transaction:  # SQLite ends some by itself, such as on a full disk
                self.connection.execute("ROLLBACK")
            raise

    # --- the place in the inbox -------------------------------------------------------------------------------

    @property
    def cursor(self) -> int:
        """Id of the last inbox message that was dealt with; 0 at first."""
        row = self._one("SELECT value FROM place WHERE name = 'cursor'")
        return 0 if row is None else int(row[0])

    def move_cursor(self, inbox_id: int) -> None:
        """Everything up to this message is dealt with."""
        self._write("INSERT OR REPLACE INTO place VALUES ('cursor', ?)", (str(inbox_id),))

    # --- jobs -------------------------------------------------------------------------------------------------

    def put_job(self, entry: JobEntry) -> None:
        """Insert or replace; `updated` becomes now."""
        now = time.time()
        values = (
            entry.job,
            entry.mh,
            entry.study,
            entry.question,
            entry.offer,
            entry.status.value,
            entry.phase,
            entry.round,
            None
            if entry.participation is None
            else self.cover.hide_state(entry.job, json.dumps(entry.participation)),
            entry.snapshot_sha256,
            entry.records_identity,
            json.dumps(entry.certificates),
            entry.code,
            entry.reason,
            json.dumps(entry.tally.to_json()),
            entry.created or now,
            now,
        )
        self._write(f"INSERT OR REPLACE INTO jobs ({_JOB_COLUMNS}) VALUES ({_marks(values)})", values)  # noqa: S608 - constants only

    def job(self, job: str) -> JobEntry | None:
        """The entry of a job, or None."""
        row = self._one(f"SELECT {_JOB_COLUMNS} FROM jobs WHERE job = ?", (job,))  # noqa: S608 - constants only
        return None if row is None else self._job_entry(row)

    def jobs(self, *statuses: JobStatus) -> list[JobEntry]:
        """All jobs, or those with one of these statuses, oldest first."""
        wanted = [status.value for status in statuses or JobStatus]
        rows = self.connection.execute(
            f"SELECT {_JOB_COLUMNS} FROM jobs WHERE status IN ({_marks(wanted)}) "  # noqa: S608 - constants only
            "ORDER BY created, job",
            wanted,
        )
        return [self._job_entry(row) for row in rows]

    def jobs_page(self, start: int, most: int) -> list[JobEntry]:
        """The newest jobs first, from number `start` on, at most `most`; reads no others."""
        rows = self.connection.execute(
            f"SELECT {_JOB_COLUMNS} FROM jobs ORDER BY created DESC, job DESC LIMIT ? OFFSET ?",  # noqa: S608 - constants only
            (most, start),
        )
        return [self._job_entry(row) for row in rows]

    def status_counts(self) -> dict[str, int]:
        """How many jobs have each status that occurs; reads none of them."""
        return dict(self.connection.execute("SELECT status, COUNT(*) FROM jobs GROUP BY status").fetchall())

    def find(self, prefix: str) -> JobEntry:
        """The one job whose id begins so. Raises: InputError: none, or several."""
        found = [entry for entry in self.jobs() if entry.job.startswith(prefix)] if prefix else []
        if len(found) != 1:
            raise InputError(
                "no job of this agent has that id" if not found else "several jobs begin with that",
                where=f"job {prefix}",
                remedy="See `privet agent status DIR` for the ids.",
            )
        return found[0]

    def erase_job(self, entry: JobEntry) -> None:
        """Keep of a job what may stay: `entry` without its participation, and hashes of what was sent."""
        self.put_job(replace(entry, participation=None))
        self._write(
            "UPDATE outbox SET raw = NULL WHERE job = ? AND "
            "(state != 'pending' OR type IN ('contribution', 'partial'))",
            (entry.job,),
        )
        self._write(
            "UPDATE outbox SET state = 'dropped' WHERE job = ? AND raw IS NULL AND state = 'pending'",
            (entry.job,),
        )
        self._write("DELETE FROM answers WHERE job = ?", (entry.job,))

    def forget(self, job: str) -> None:
        """Remove a job that is over; its id and its rosters stay, because the difference rule needs them."""
        self._write("INSERT OR IGNORE INTO forgotten_jobs VALUES (?)", (job,))
        self._write("DELETE FROM outbox WHERE job = ?", (job,))
        self._write("DELETE FROM answers WHERE job = ?", (job,))
        self._write("DELETE FROM jobs WHERE job = ?", (job,))

    def was_forgotten(self, job: str) -> bool:
        """Whether a job of that id was removed."""
        return self._one("SELECT 1 FROM forgotten_jobs WHERE job = ?", (job,)) is not None

    def empty_log(self) -> None:
        """Fold the write-ahead log into the database and cut it to nothing, so that erased pages are gone."""
        with suppress(sqlite3.OperationalError):  # a reader is busy; the next end of a job tries again
            self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    # --- outgoing messages ------------------------------------------------------------------------------------

    def queue(self, sealed: Sealed) -> None:
        """Keep an own envelope until it is acknowledged."""
        envelope = sealed.envelope
        self._write(
            "INSERT INTO outbox (job, type, round, attempt, seq, sha256, raw, state) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, 'pending')",
            (
                envelope.job,
                envelope.type.value,
                envelope.round,
                envelope.attempt,
                envelope.seq,
                sealed.sha256,
                self.cover.hide_message(sealed.sha256, sealed.raw),
            ),
        )

    def pending(self) -> list[OutgoingMessage]:
        """What is not acknowledged yet, in the order of sending."""
        return self._messages("WHERE state = 'pending' ORDER BY id")

    def waiting_types(self) -> dict[str, str]:
        """For each job with a message that is not acknowledged yet, the type of the first; reads none of them."""
        rows = self.connection.execute(
            "SELECT job, type FROM outbox WHERE state = 'pending' ORDER BY id DESC"
        )
        return dict(rows.fetchall())

    def pending_count(self) -> int:
        """How many those are; reads none of them."""
        return int(self._one("SELECT COUNT(*) FROM outbox WHERE state = 'pending'")[0])

    def answered(self) -> dict[str, int]:
        """For each job the next own `seq` after the last one that the cloud has answered with a receipt."""
        rows = self.connection.execute(
            "SELECT job, MAX(seq) + 1 FROM outbox WHERE state = 'sent' GROUP BY job"
        )
        return dict(rows.fetchall())

    def sent(self, job: str) -> list[OutgoingMessage]:
        """All own messages of a job, in order."""
        return self._messages("WHERE job = ? ORDER BY id", (job,))

    def acknowledge(self, message: OutgoingMessage, receipt: bytes) -> None:
        """The cloud's signed receipt, kept as evidence; of the message its hash is enough from now on."""
        self._write(
            "UPDATE outbox SET state = 'sent', receipt = ?, raw = NULL WHERE id = ?", (receipt, message.id)
        )

    def refuse(self, message: OutgoingMessage) -> None:
        """The cloud refused it for good."""
        self._write("UPDATE outbox SET state = 'refused', raw = NULL WHERE id = ?", (message.id,))

    def _messages(self, where: str, values: Sequence[Any] = ()) -> list[OutgoingMessage]:
        rows = self.connection.execute(f"SELECT {_OUTBOX_COLUMNS} FROM outbox {where}", values)  # noqa: S608 - constants only
        found = [OutgoingMessage(*row) for row in rows]
        return [replace(m, raw=self.cover.show_message(m.sha256, m.raw)) for m in found]

    # --- what people said -------------------------------------------------------------------------------------

    def answer(self, answer: Answer) -> None:
        """A person's word on an offer; a later one replaces it until the daemon has acted."""
        self._write(
            "INSERT OR REPLACE INTO answers VALUES (?, ?, ?)",
            (answer.job, int(answer.approve), answer.reason),
        )

    def answers(self) -> list[Answer]:
        """The words that wait for the daemon."""
        rows = self.connection.execute("SELECT job, approve, reason FROM answers")
        return [Answer(job, bool(approve), reason) for job, approve, reason in rows]

    def drop_answer(self, job: str) -> None:
        """The daemon has acted on it."""
        self._write("DELETE FROM answers WHERE job = ?", (job,))

    # --- the difference rule ----------------------------------------------------------------------------------

    def remember_roster(self, records_identity: str, roster: SeenRoster) -> None:
        """A contribution over these records and this roster was sent, or the result was seen (rule A4)."""
        self._write(
            "INSERT INTO seen_rosters (records_identity, roster, job, study_sha256, seen) "
            "VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET seen = MAX(seen, excluded.seen)",
            (records_identity, ",".join(roster.roster), roster.job, roster.study_sha256, int(roster.seen)),
        )

    def seen_rosters(self, records_identity: str, *, besides: str = "") -> list[SeenRoster]:
        """Rosters over these records that were sent to or whose result was seen, but those of the job `besides`."""
        rows = self.connection.execute(
            "SELECT roster, job, study_sha256, seen FROM seen_rosters WHERE records_identity = ? AND job != ?",
            (records_identity, besides),
        )
        return [
            SeenRoster(tuple(roster.split(",")), job, study_sha256, bool(seen))
            for roster, job, study_sha256, seen in rows
        ]

    # --- evidence and audit chain -----------------------------------------------------------------------------

    def record(self, kind: str, **details: Any) -> str:
        """Append to the hash chain, in the open transaction; returns the new head. No counts, no keys."""
        row = self._one("SELECT n, hash FROM audit ORDER BY n DESC LIMIT 1")
        number, head = (0, audit.START) if row is None else (row[0] + 1, row[1])
        text, new_head = audit.link(head, {"n": number, "time": int(time.time()), "kind": kind, **details})
        self._write("INSERT INTO audit VALUES (?, ?, ?)", (number, text, new_head))
        return new_head

    def lasting_head(self) -> tuple[int, str] | None:
        """Number and head of the newest record that even a power cut leaves; None before there is one.

        Only what a receipt is recorded by is not synced at once, and every other record brings those before it.
        """
        row = self._one(
            "SELECT n, hash FROM audit WHERE json_extract(record, '$.kind') != 'sent' ORDER BY n DESC LIMIT 1"
        )
        return None if row is None else (int(row[0]), str(row[1]))

    def keep_evidence(self, job: str, code: str, raw: bytes) -> None:
        """The signed message on which a job failed, exactly as it came."""
        self._write("INSERT INTO evidence (job, code, raw) VALUES (?, ?, ?)", (job, code, raw))

    def evidence(self, job: str) -> list[tuple[str, bytes]]:
        """(code, message) pairs kept for a job."""
        return list(
            self.connection.execute("SELECT code, raw FROM evidence WHERE job = ? ORDER BY id", (job,))
        )

    def audit_records(self) -> list[Mapping[str, Any]]:
        """The whole chain, checked. Raises: InputError: it was altered."""
        rows = self.connection.execute("SELECT record, hash FROM audit ORDER BY n").fetchall()
        return audit.check(rows)

    def audit_rows(self) -> list[tuple[int, str, str]]:
        """Number, canonical text and head of every record, as they stand."""
        return self.connection.execute("SELECT n, record, hash FROM audit ORDER BY n").fetchall()

    def _job_entry(self, row: sqlite3.Row | Sequence[Any]) -> JobEntry:
        columns = dict(zip(_JOB_COLUMNS.split(", "), row, strict=True))
        state = columns["participation"]
        return JobEntry(
            **{
                **columns,
                "status": JobStatus(columns["status"]),
                "participation": None
                if state is None
                else json.loads(self.cover.show_state(columns["job"], state)),
                "certificates": tuple(json.loads(columns["certificates"])),
                "tally": Tally.from_json(json.loads(columns["tally"])),
            }
        )

    def _one(self, statement: str, values: Sequence[Any] = ()) -> Any:
        return self.connection.execute(statement, values).fetchone()

    def _write(self, statement: str, values: Sequence[Any] = ()) -> None:
        self.connection.execute(statement, values)


def _marks(values: Sequence[Any]) -> str:
    return ", ".join("?" for _ in values)
