"""The audit chain, read in parts: a job's records, or the messages of a page, without reading all of it each time.

Whoever looks often keeps a `CheckedLog`: it has checked the chain up to a head, and then checks only what came since.
Every record that is shown is held against the heads beside it, so that one altered after the check is noticed as well.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from hospital_agent.journal import audit
from hospital_agent.journal.store import Journal
from shared.protocol import audit_log

LEFT: Final = ("sent", "refused", "study_word_sent", "study_word_refused")
"""Kinds of records of what left this house; what the cloud refused had left it."""
CAME: Final = ("offer_came", "received", "study_shown")
"""Kinds of records of what came in."""
Way = Literal["left", "came"]
_WITH_BEFORE: Final = "SELECT a.n, a.record, a.hash, b.hash FROM audit a LEFT JOIN audit b ON b.n = a.n - 1"

Record = Mapping[str, Any]


@dataclass(slots=True)
class CheckedLog:
    """The chain of one agent, checked up to a head. For many threads."""

    _next: int = 0
    _head: str = audit.START
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def check(self, journal: Journal) -> None:
        """Check what came since the last time. Raises: InputError: the chain was altered, from which record on."""
        with self._lock:
            if self._next:
                known = journal.connection.execute("SELECT hash FROM audit WHERE n = ?", (self._next - 1,))
                if known.fetchone() != (self._head,):
                    raise audit.broken_at(self._next - 1)
            rows = journal.connection.execute(
                "SELECT record, hash FROM audit WHERE n >= ? ORDER BY n", (self._next,)
            )
            for text, stored in rows:
                self._head = audit.checked(self._next, self._head, text, stored)
                self._next += 1

    def of_job(self, journal: Journal, job: str) -> list[Record]:
        """The records about one job, in order. Raises: InputError: the chain was altered."""
        self.check(journal)
        rows = journal.connection.execute(
            f"{_WITH_BEFORE} WHERE json_extract(a.record, '$.job') = ? ORDER BY a.n", (job,)
        )
        return [_linked(*row) for row in rows]

    def messages(
        self, journal: Journal, *, before: int | None = None, way: Way | None = None, job: str = "", most: int
    ) -> list[Record]:
        """What left and what came in, the newest first.

        Args: before: only records of lower numbers. job: of this job alone. most: how many.
        Raises: InputError: the chain was altered.
        """
        self.check(journal)
        kinds = LEFT if way == "left" else CAME if way == "came" else (*LEFT, *CAME)
        marks = ", ".join("?" for _ in kinds)
        wanted, values = f"json_extract(a.record, '$.kind') IN ({marks})", [*kinds]
        if job:
            wanted, values = f"json_extract(a.record, '$.job') = ? AND {wanted}", [job, *values]
        rows = journal.connection.execute(
            f"{_WITH_BEFORE} WHERE {wanted} AND a.n < ? ORDER BY a.n DESC LIMIT ?",
            (*values, self._next if before is None else before, most),
        )
        return [_linked(*row) for row in rows]


def asked_by_round(records: Sequence[Record]) -> dict[int, int]:
    """Cells that the cloud asked for, by round. Args: records: of one job."""
    return {
        int(record["round"]): int(record.get("slots", 0))
        for record in records
        if record.get("type") == "round_open"
    }


def _linked(number: int, text: str, stored: str, before: str | None) -> Record:
    """A record whose hash follows from the one before. Raises: InputError: it does not."""
    head = audit.START if number == 0 else before
    if head is None or audit_log.link(head, text.encode()) != stored:
        raise audit.broken_at(number)
    record: Record = json.loads(text)
    return record
