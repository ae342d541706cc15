"""The logs of what was done: read, checked, taken along."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import Depends, Query, Response

from cloud_service.api.disclosures import LINES
from cloud_service.pages.faults import page_router
from cloud_service.pages.finished_records import CHECKED_RECORDS
from cloud_service.pages.frame import Page, page_may
from cloud_service.pages.wording import BAD, GOOD, WAIT, Word, act_in_words, job_line
from cloud_service.service.audits import Audits, Stretch
from cloud_service.service.permissions import Permission
from cloud_service.service.services import Services
from cloud_service.store.journal import Entry
from machine.browsers import file_of
from shared.protocol import audit_check
from shared.protocol.audit_check import Finding
from shared.protocol.enrolment import fingerprint
from shared.texts import text
from shared.wire.base import MAX_INTEGER

router = page_router()
_PAGE: Final = 50
_JOBS: Final = 50
_STUDIES: Final = 50
"""The page of studies finds the others."""
_SHOWN_APART: Final = frozenset({"n", "time", "actor", "act", "subject"})
Auditor = Annotated[Page, Depends(page_may(Permission.AUDIT_READ))]
Before = Annotated[int | None, Query(ge=0, le=MAX_INTEGER)]


@dataclass(frozen=True, slots=True)
class Line:
    """A record in words. `details`: what else it says, name by name."""

    number: int
    time: int
    actor: str
    act: str
    subject: str
    details: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Checked:
    """What an examination of a log came to. `head`: of its chain, 64 hex digits.

    `steps`: where a log of many records is examined a stretch at a time.
    """

    name: str
    state: Word
    records: int
    head: str
    findings: tuple[Finding, ...]
    steps: str = ""


@router.get("/audit")
def acts(page: Auditor, before: Before = None) -> Response:
    """Administrative acts, the newest first, and the files."""
    jobs = page.services.jobs.page(study=None, state=None, before=None, limit=_JOBS, hospital=None)
    found = page.services.audits.stretch_of_acts(before, _PAGE)
    lines = [job_line(stored) for stored in jobs]
    studies = page.services.study_lists.page("all", hospital=None, limit=_STUDIES)
    return _shown(page, "audit.html", found, jobs=lines, studies=studies)


@router.get("/audit/people")
def people(page: Auditor, before: Before = None) -> Response:
    """Sign-ins, refused ones too, and changes of accounts and tokens."""
    return _shown(page, "audit_people.html", page.services.audits.stretch_of_people(before, _PAGE))


@router.get("/audit/check")
def check(page: Auditor) -> Response:
    """Both logs examined as `privet audit verify` would: every link of the chain, and the signature at the end."""
    found = [_checked(page.services, name) for name in _LOGS]
    return page.show("audit_check.html", active="audit", checks=found)


@router.get("/audit/acts.ndjson")
def acts_file(page: Auditor) -> Response:
    """The log of acts as a signed file."""
    return _file(page.services.audits.of_acts(), "acts.ndjson")


@router.get("/audit/people.ndjson")
def people_file(page: Auditor) -> Response:
    """The people's log as a signed file."""
    return _file(page.services.audits.of_people(), "people.ndjson")


_Look = Callable[[Audits, int | None, int], Stretch]
_Make = Callable[[Audits], Iterator[bytes]]
_LOGS: Final[Mapping[str, tuple[_Look, _Make]]] = {
    "acts": (Audits.stretch_of_acts, Audits.of_acts),
    "people": (Audits.stretch_of_people, Audits.of_people),
}
"""How to see where each log ends, and how to make its file."""


def _checked(services: Services, name: str) -> Checked:
    """One with more records than a page can check at once is examined in steps."""
    look, make = _LOGS[name]
    number = look(services.audits, None, 1).newest + 1
    if number > CHECKED_RECORDS:
        return Checked(
            text(f"cloud.audit.{name}"),
            Word(text("cloud.audit.too_long"), WAIT),
            number,
            "",
            (),
            f"/audit/check/{name}",
        )
    root = fingerprint(services.membership.current().trust.root)
    log, findings = audit_check.check(f"{name}.ndjson", b"".join(make(services.audits)), root)
    records = [] if log is None else log.file.records
    state = Word(text("cloud.audit.holds"), GOOD) if not findings else Word(text("cloud.audit.broken"), BAD)
    head = records[-1].hash if records else ""
    return Checked(text(f"cloud.audit.{name}"), state, len(records), head, tuple(findings))


def _shown(page: Page, template: str, found: Stretch, **values: Any) -> Response:
    lines = [_line(entry) for entry in found.entries]
    older = lines[-1].number if lines and lines[-1].number > 0 else None
    return page.show(template, active="audit", lines=lines, records=found.newest + 1, older=older, **values)


def _line(entry: Entry) -> Line:
    record: dict[str, Any] = json.loads(entry.record)
    details = {name: _told(value) for name, value in record.items() if name not in _SHOWN_APART}
    return Line(
        entry.number, record["time"], record["actor"], act_in_words(record["act"]), record["subject"], details
    )


def _told(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _file(lines: Iterator[bytes], name: str) -> Response:
    return file_of(b"".join(lines), name, LINES)
