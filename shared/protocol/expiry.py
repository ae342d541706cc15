"""When certificates end: who may still begin something, and what a person does about it.

A certificate that is over lets its holder begin nothing: register, take up an offer, be in a roster. What was begun is
finished under it, because the members of a job were admitted when its roster was fixed and no step of a job may depend
on a clock (protocol section 13). Times are arguments, in Unix seconds.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from shared.crypto.certificates import Certificate, Role
from shared.errors import ErrorCode, InputError, PeerError
from shared.protocol.polling import MAX_SKEW_SECONDS
from shared.texts import text

NOTICE_SECONDS: Final = 30 * 86_400
"""So long ahead people are told."""


def ends(certificate: Certificate) -> int:
    """Its last second."""
    return int(certificate.validity.not_after.timestamp())


def day_of(time: int) -> str:
    """A moment as its day, `2028-11-29`."""
    return datetime.fromtimestamp(time, UTC).date().isoformat()


def is_over(certificate: Certificate, now: int) -> bool:
    """Whether it has ended by any clock within the allowed skew."""
    return now > ends(certificate) + MAX_SKEW_SECONDS


def check_time(certificate: Certificate, now: int) -> None:
    """Whether its holder may begin something now.

    Raises: PeerError: `unknown_agent`: it is over, or not yet valid; the text says since or until when.
    """
    if is_over(certificate, now):
        raise PeerError(ErrorCode.UNKNOWN_AGENT, _then(over_text(certificate), certificate))
    early = early_text(certificate, now)
    if early:
        raise PeerError(ErrorCode.UNKNOWN_AGENT, early)


def early_text(certificate: Certificate, now: int) -> str | None:
    """That it is not yet valid by any clock within the allowed skew, if so: most often the clock stands wrong."""
    begins = int(certificate.validity.not_before.timestamp())
    if now + MAX_SKEW_SECONDS >= begins:
        return None
    return text("certificate.early", id=certificate.id, day=day_of(begins))


def over_text(certificate: Certificate) -> str:
    """That it is over, and since when."""
    return text("certificate.over", id=certificate.id, day=day_of(ends(certificate)))


def notice(certificate: Certificate, now: int) -> str | None:
    """What its holder's people should be told, with the next step; None while the end is far."""
    if now + NOTICE_SECONDS < ends(certificate):
        return None
    if is_over(certificate, now):
        told = over_text(certificate)
    else:
        told = text("certificate.ends", id=certificate.id, day=day_of(ends(certificate)))
    return _then(told, certificate)


def remedy(certificate: Certificate) -> str:
    """How it is renewed: the same request again, so that all keys stay."""
    program = "cloud" if certificate.role is Role.CLOUD else "agent"
    return text("certificate.remedy", id=certificate.id, program=program)


def looked_at(certificate: Certificate, now: int) -> str:
    """Until when it is good, for a doctor. Raises: InputError: it ends soon, is over, or not yet valid."""
    told = early_text(certificate, now) or notice(certificate, now)
    if told:
        renewed = remedy(certificate)
        raise InputError(told.removesuffix(renewed).strip(" ."), remedy=renewed)
    return day_of(ends(certificate))


def _then(told: str, certificate: Certificate) -> str:
    return text("certificate.then", told=told, remedy=remedy(certificate))
