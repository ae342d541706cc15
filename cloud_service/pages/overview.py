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
from cloud_service.pages.wording import GOOD, JobLine, job_line
from cloud_service.service.hospitals import HospitalView
from cloud_service.service.permissions import Permission
from shared.protocol.expiry import NOTICE_SECONDS
from shared.protocol.states import TERMINAL_CLOUD_STATES, CloudState

router = page_router()
_OF_A_STATE: Final = 100
_FINISHED: Final = 5
_LISTED: Final = 10
"""Of each list so many are shown; the pages of their own have all."""


@dataclass(frozen=True, slots=True)
class Attention:
    """What somebody should look at. Each list may be empty."""

    waiting: Sequence[JobLine]
    running: Sequence[JobLine]
    finished: Sequence[JobLine]
    away: Sequence[HospitalView]
    certificates: Sequence[HospitalView]
    ending: Sequence[StudyLine]
    unanswered: Sequence[StudyLine]

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
    now, services = page.services.history.clock(), page.services
    living = _living(page) if page.may(Permission.JOBS_READ) else []
    hospitals = services.hospitals.all() if page.may(Permission.HOSPITALS_READ) else []
    members = [view for view in hospitals if view.is_member]
    studies = lines_of(page) if page.may(Permission.STUDIES_READ) else []
    opened = [line for line in studies if line.state.kind == GOOD and line.expires is not None]
    return Attention(
        waiting=[line for line in living if line.waits_for],
        running=[line for line in living if not line.waits_for],
        finished=_finished(page) if page.may(Permission.JOBS_READ) else [],
        away=[view for view in members if is_away(view, now)],
        certificates=[view for view in members if view.certificate_until - now < NOTICE_SECONDS],
        ending=[line for line in opened if line.expires is not None and line.expires - now < NOTICE_SECONDS],
        unanswered=[line for line in opened if line.approved < line.members],
    )


def _living(page: Page) -> list[JobLine]:
    states = [state for state in CloudState if state not in TERMINAL_CLOUD_STATES]
    found = [line for state in states for line in _of_state(page, state, _OF_A_STATE)]
    return sorted(found, key=lambda line: -line.created)


def _finished(page: Page) -> list[JobLine]:
    found = [
        line
        for state in CloudState
        if state in TERMINAL_CLOUD_STATES
        for line in _of_state(page, state, _FINISHED)
    ]
    return sorted(found, key=lambda line: -(line.finished or 0))[:_FINISHED]


def _of_state(page: Page, state: CloudState, limit: int) -> list[JobLine]:
    found = page.services.jobs.page(
        study=None, state=state, before=None, limit=limit, hospital=page.caller.hospital
    )
    return [job_line(stored) for stored in found]
