"""The first page: what needs attention, as far as who looks may know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import Depends, Response

from cloud_service.pages.faults import page_router
from cloud_service.pages.frame import Page, page_may
from cloud_service.pages.hospitals import is_away
from cloud_service.pages.studies import StudyLine, lines_of
from cloud_service.pages.wording import JobLine, job_line
from cloud_service.service.hospitals import HospitalView
from cloud_service.service.permissions import Permission
from cloud_service.store.jobs import StoredJob
from cloud_service.store.study_lists import Kind
from shared.protocol.expiry import NOTICE_SECONDS

router = page_router()
_FINISHED: Final = 5
_LISTED: Final = 10
"""Of each list so many are shown; the pages of their own have all."""


@dataclass(frozen=True, slots=True)
class Attention:
    """What somebody should look at. Each list may be empty, and holds the first of as many as its number says."""

    waiting: Sequence[JobLine]
    running: Sequence[JobLine]
    n_waiting: int
    n_running: int
    finished: Sequence[JobLine]
    away: Sequence[HospitalView]
    certificates: Sequence[HospitalView]
    ending: Sequence[StudyLine]
    unanswered: Sequence[StudyLine]
    n_ending: int
    n_unanswered: int

    @property
    def is_quiet(self) -> bool:
        """Whether nothing waits for anybody."""
        return not (self.waiting or self.away or self.certificates or self.ending or self.unanswered)


@router.get("/")
def overview(page: Annotated[Page, Depends(page_may(None))]) -> Response:
    """What runs, what waits, who is away, what ends soon."""
    return page.show("overview.html", active="overview", **_values(page))


@router.get("/overview/live")
def overview_live(page: Annotated[Page, Depends(page_may(None, is_watching=True))]) -> Response:
    """The same without the frame, as it is now."""
    return page.part("overview_lists.html", **_values(page))


def _values(page: Page) -> dict[str, Any]:
    return {"attention": _attention(page), "now": page.services.history.clock(), "most": _LISTED}


def _attention(page: Page) -> Attention:
    now, services, own = page.services.history.clock(), page.services, page.caller.hospital
    jobs = services.jobs if page.may(Permission.JOBS_READ) else None
    waiting, running = (0, 0) if jobs is None else jobs.count_living(own)
    hospitals = services.hospitals.all() if page.may(Permission.HOSPITALS_READ) else []
    members = [view for view in hospitals if view.is_member]
    ending, n_ending = _studies(page, "ending")
    unanswered, n_unanswered = _studies(page, "unanswered")
    return Attention(
        waiting=[] if jobs is None else _lines(jobs.living(is_waiting=True, limit=_LISTED, hospital=own)),
        running=[] if jobs is None else _lines(jobs.living(is_waiting=False, limit=_LISTED, hospital=own)),
        n_waiting=waiting,
        n_running=running,
        finished=[] if jobs is None else _lines(jobs.finished(limit=_FINISHED, hospital=own)),
        away=[view for view in members if is_away(view, now)],
        certificates=[view for view in members if view.certificate_until - now < NOTICE_SECONDS],
        ending=ending,
        unanswered=unanswered,
        n_ending=n_ending,
        n_unanswered=n_unanswered,
    )


def _lines(found: Sequence[StoredJob]) -> list[JobLine]:
    return [job_line(stored) for stored in found]


def _studies(page: Page, kind: Kind) -> tuple[list[StudyLine], int]:
    """The first of a kind, and how many there are."""
    if not page.may(Permission.STUDIES_READ):
        return [], 0
    number = page.services.study_lists.count(kind, hospital=page.caller.hospital)
    return lines_of(page, kind, limit=_LISTED) if number else [], number
