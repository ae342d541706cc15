"""Refusals of people's requests, in the words of the domain; `api.problems` gives them their status."""

from __future__ import annotations

from shared.errors import PrivetError


class UnknownThingError(PrivetError):
    """There is nothing of that name here."""


class ConflictError(PrivetError):
    """It would contradict what is there."""


class NotPublishedError(PrivetError):
    """The study does not publish this, or there is nothing to publish yet; the text says which."""


class NotSignedInError(PrivetError):
    """No token, or one that is not known or was revoked."""


class ForbiddenError(PrivetError):
    """Signed in, but without the permission; the text says which one, and which roles have it.

    `permission`, `roles`: the same for a page, which names them in words; empty where it is about no permission.
    """

    def __init__(self, told: str, *, permission: str = "", roles: tuple[str, ...] = ()) -> None:
        super().__init__(told)
        self.permission, self.roles = permission, roles
