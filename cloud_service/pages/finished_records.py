"""Who learned what by a job, and its log, checked at the moment it is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import Depends, Query, Response

from cloud_service.pages.faults import page_router
from cloud_service.pages.finished_frame import show
from cloud_service.pages.frame import Page, page_may
from cloud_service.service.permissions import Permission
from machine.browsers import file_of, json_file
from shared.protocol.audit_check import Finding, Log, check
from shared.protocol.audit_cross import compare
from shared.protocol.disclosure_page import ledger_page
from shared.protocol.enrolment import fingerprint
from shared.texts import text
from shared.wire.base import MAX_INTEGER

router = page_router()
LedgerReader = Annotated[Page, Depends(page_may(Permission.LEDGER_READ))]
Auditor = Annotated[Page, Depends(page_may(Permission.AUDIT_READ))]
RECORDS_SHOWN: Final = 200
CHECKED_RECORDS: Final = 20_000
"""A log with more records is checked by the command; a page would keep who looks waiting."""

_OF_A_ROUND: Final = frozenset(
    {"round_open", "contribution", "aggregate", "partial", "partials", "decision", "notify"}
)
"""Kinds of messages that belong to a round; logs count from 0, people from 1."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """A record. `time`: Unix seconds. `message`: hash of what was sent. `seal`: head of the chain with it."""

    number: int
    time: int | None
    who: str
    kind: str
    refused: str
    round: int | None
    message: str
    seal: str


@router.get("/jobs/{job_id}/ledger")
def ledger(page: LedgerReader, job_id: str) -> Response:
    """At most, by what was agreed, and in fact, by the job's log."""
    stored = page.services.jobs.get(job_id)
    document = page.services.ledgers.of_job(job_id).to_json()
    return show(page, "finished_ledger.html", stored, "ledger", ledger=document)


@router.get("/jobs/{job_id}/ledger/json")
def ledger_json(page: LedgerReader, job_id: str) -> Response:
    """The same for programs."""
    return json_file(page.services.ledgers.of_job(job_id).to_json(), f"ledger-{job_id}.json")


@router.get("/jobs/{job_id}/ledger/page")
def ledger_file(page: LedgerReader, job_id: str) -> Response:
    """The same as one file that stands by itself, for an ethics board."""
    document = page.services.ledgers.of_job(job_id).to_json()
    written = ledger_page(document, keeper="the cloud")
    return file_of(written.encode(), f"ledger-{job_id}.html", "text/html; charset=utf-8")


@router.get("/jobs/{job_id}/audit")
def audit(
    page: Auditor, job_id: str, start: Annotated[int, Query(alias="from", ge=0, le=MAX_INTEGER)] = 0
) -> Response:
    """The log, whether its chain holds now, and its records without the messages' contents."""
    stored = page.services.jobs.get(job_id)
    values: dict[str, Any] = {"number": stored.audited, "head": stored.job.head, "is_checked": False}
    if stored.audited <= CHECKED_RECORDS:
        log, findings = _checked(page, job_id)
        values |= {"is_checked": True, "findings": findings} | _shown(log, start)
    return show(page, "finished_audit.html", stored, "audit", **values)


@router.get("/jobs/{job_id}/audit/file")
def audit_file(page: Auditor, job_id: str) -> Response:
    """The log for `privet audit verify`."""
    raw = b"".join(page.services.audits.of_job(job_id))
    return file_of(raw, f"job-{job_id}.audit", "application/x-ndjson")


def _checked(page: Page, job_id: str) -> tuple[Log | None, list[Finding]]:
    """The log as it would be exported now, and what is wrong with it."""
    raw = b"".join(page.services.audits.of_job(job_id))
    root = fingerprint(page.services.membership.current().trust.root)
    log, findings = check(f"job-{job_id[:8]}.audit", raw, root)
    return log, findings + ([] if log is None else compare([log]))


def _shown(log: Log | None, start: int) -> dict[str, Any]:
    """Some records, and where those before and after them begin."""
    numbers = [] if log is None else sorted(log.shown)
    part = numbers[start : start + RECORDS_SHOWN]
    return {
        "records": [] if log is None else [_line(log, number) for number in part],
        "earlier": max(0, start - RECORDS_SHOWN) if start else None,
        "later": start + RECORDS_SHOWN if start + RECORDS_SHOWN < len(numbers) else None,
    }


def _line(log: Log, number: int) -> LogLine:
    record: Mapping[str, Any] = log.shown[number]
    who = ""
    for name in ("from", "to"):
        if name in record:
            who = text(f"cloud.log.{name}", who=record[name])
    kind = str(record.get("type", record.get("act", "")))
    return LogLine(
        number=number,
        time=record.get("time"),
        who=who,
        kind=kind.replace("_", " "),
        refused=str(record.get("refused", "")),
        round=record["round"] + 1 if kind in _OF_A_ROUND else None,
        message=str(record.get("sha256", "")),
        seal=log.heads.get(number, ""),
    )
