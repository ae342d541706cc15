"""Hospitals: who takes part, who is there, and what went wrong last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Response

from cloud_service.pages.faults import page_router
from cloud_service.pages.frame import Page, page_may
from cloud_service.pages.wording import BAD, GOOD, WAIT, Word, code_in_words
from cloud_service.service.hospitals import HospitalView
from cloud_service.service.permissions import Permission
from cloud_service.service.presence import AWAY_SECONDS
from cloud_service.store.faults import Fault
from shared.protocol.expiry import NOTICE_SECONDS
from shared.texts import text

router = page_router()


@dataclass(frozen=True, slots=True)
class HospitalLine:
    """A hospital in words. `fault`: the last refusal or failure, None where there was none that is known."""

    view: HospitalView
    presence: Word
    certificate: Word
    member: Word
    fault: Fault | None
    meaning: str


def lines_of(page: Page) -> Sequence[HospitalLine]:
    """Every hospital; of another one than their own, a steward sees no fault."""
    now = page.services.history.clock()
    faults = page.services.hospitals.faults(page.caller.hospital)
    return [_line(view, faults.get(view.id), now) for view in page.services.hospitals.all()]


def is_away(view: HospitalView, now: int) -> bool:
    """Whether nothing has been heard of an agent for longer than two polls and a bit take."""
    return now - view.last_seen > AWAY_SECONDS


@router.get("/hospitals")
def hospitals(page: Annotated[Page, Depends(page_may(Permission.HOSPITALS_READ))]) -> Response:
    """The list, which keeps itself up to date."""
    return page.show("hospitals.html", active="hospitals", **_values(page))


@router.get("/hospitals/live")
def hospitals_live(
    page: Annotated[Page, Depends(page_may(Permission.HOSPITALS_READ, is_watching=True))],
) -> Response:
    """The list alone, as it is now."""
    return page.part("hospitals_table.html", **_values(page))


def _values(page: Page) -> dict[str, Any]:
    return {"lines": lines_of(page), "now": page.services.history.clock()}


def _line(view: HospitalView, fault: Fault | None, now: int) -> HospitalLine:
    presence = ("away", BAD) if is_away(view, now) else ("online", GOOD)
    left = view.certificate_until - now
    certificate = ("over", BAD) if left < 0 else ("soon", WAIT) if left < NOTICE_SECONDS else ("valid", GOOD)
    member = ("member", GOOD) if view.is_member else ("no_member", BAD)
    return HospitalLine(
        view=view,
        presence=_word(*presence),
        certificate=_word(*certificate),
        member=_word(*member),
        fault=fault,
        meaning="" if fault is None else code_in_words(fault.code),
    )


def _word(name: str, kind: str) -> Word:
    return Word(text(f"cloud.hospitals.{name}"), kind)
