"""A job as a line of a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from shared.protocol.waiting import from_document
from shared.texts import text

_KINDS: Final = {
    "awaiting": "wait",
    "active": "wait",
    "complete": "good",
    "failed": "bad",
    "declined": "bad",
    "refused": "bad",
}
_RUNNING: Final = ("awaiting", "active")


@dataclass(frozen=True, slots=True)
class JobRow:
    """One job. `kind`: good, wait or bad. Bytes: of all its messages. Moments in Unix seconds.

    `waiting`: a sentence; `waits`: the same under a heading that says that somebody is waited for.
    """

    job: str
    study: str
    status: str
    word: str
    kind: str
    phase: str
    round: int
    why: str
    waiting: str
    waits: str
    sent_bytes: int
    received_bytes: int
    seconds: float
    created: int
    updated: int

    @property
    def is_running(self) -> bool:
        """Whether it can still change."""
        return self.status in _RUNNING


def job_row(job: Mapping[str, Any]) -> JobRow:
    """One of the jobs of `privet agent status --json`."""
    waiting = job.get("waiting")
    return JobRow(
        job=job["job"],
        study=job["study"],
        status=job["status"],
        word=text(f"house.job_status.{job['status']}"),
        kind=_KINDS[job["status"]],
        phase="" if job["status"] == "awaiting" or job["phase"] == job["status"] else job["phase"],
        round=job["round"],
        why=job["reason"] or job["code"] or "",
        waiting="" if waiting is None else from_document(waiting).text,
        waits="" if waiting is None else from_document(waiting).brief,
        sent_bytes=sum(job["bytes"]["sent"].values()),
        received_bytes=sum(job["bytes"]["received"].values()),
        seconds=sum(job["seconds"].values()),
        created=int(job["created"]),
        updated=int(job["updated"]),
    )
