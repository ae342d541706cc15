"""A log of many records examined a stretch at a time, with how far it has come: by script, else by a link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final, Literal

from fastapi import Depends, Query, Response

from cloud_service.pages.faults import page_router
from cloud_service.pages.frame import Page, page_may
from cloud_service.pages.wording import BAD, GOOD, WAIT, Word
from cloud_service.service.audits import LogName
from cloud_service.service.permissions import Permission
from shared.protocol import audit_check
from shared.protocol.audit_check import Finding
from shared.protocol.audit_log import START
from shared.texts import text
from shared.wire.base import MAX_INTEGER

router = page_router()
STRETCH: Final = 5_000
"""Records a step: some tenths of a second."""
_HEAD: Final = "^[0-9a-f]{64}$"


@dataclass(frozen=True, slots=True)
class Step:
    """How far an examination has come. `following`: address of the next step; empty at the end."""

    name: str
    state: Word
    examined: int
    records: int
    head: str
    findings: tuple[Finding, ...]
    following: str


@router.get("/audit/check/{log}")
def step(
    page: Annotated[Page, Depends(page_may(Permission.AUDIT_READ))],
    log: Literal["acts", "people"],
    after: Annotated[int, Query(ge=-1, le=MAX_INTEGER)] = -1,
    head: Annotated[str, Query(pattern=_HEAD)] = START,
    part: Annotated[bool, Query()] = False,
) -> Response:
    """Examine the records beyond number `after`, whose fingerprint is `head`.

    A head that is not the log's is a finding, so that an address which leaves records out shows nothing whole.
    """
    found = _step(page, log, after, head)
    if part:
        return page.part("audit_step.html", step=found)
    return page.show("audit_steps.html", active="audit", step=found)


def _step(page: Page, log: LogName, after: int, head: str) -> Step:
    lines, known, newest = page.services.audits.beyond(log, after, STRETCH)
    name, records = text(f"cloud.audit.{log}"), newest + 1
    if known != head:
        told = Finding("broken_link", f"{log}.ndjson", text("cloud.audit.other_head"), max(0, after))
        return Step(name, _word("broken", BAD), after + 1, records, head, (told,), "")
    findings = tuple(audit_check.stretch(f"{log}.ndjson", lines, head, after + 1))
    last, reached = (lines[-1].hash, lines[-1].n) if lines else (head, after)
    if findings:
        return Step(name, _word("broken", BAD), reached + 1, records, last, findings, "")
    if len(lines) < STRETCH:
        return Step(name, _word("holds", GOOD), reached + 1, reached + 1, last, (), "")
    following = f"/audit/check/{log}?after={reached}&head={last}"
    return Step(name, _word("examining", WAIT), reached + 1, records, last, (), following)


def _word(name: str, kind: str) -> Word:
    return Word(text(f"cloud.audit.{name}"), kind)
