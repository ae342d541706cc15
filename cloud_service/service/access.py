"""Who a bearer token belongs to, whether it was given out for long or at a sign-in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from cloud_service.service import proofs
from cloud_service.service.permissions import Caller
from cloud_service.service.rates import Rates
from cloud_service.service.refusals import NotSignedInError
from cloud_service.service.sessions import Sessions
from cloud_service.service.tokens import Tokens

_LONGEST: Final = 128


@dataclass(frozen=True, slots=True)
class Access:
    """The one answer for all that opens nothing: unknown, revoked, ended, idle for too long."""

    tokens: Tokens
    sessions: Sessions
    rates: Rates

    def is_let_in(self, bearer: str) -> bool:
        """Whether whoever was recognised a while ago would still be; watching alone keeps no session alive."""
        return (self.tokens.find(bearer) or self.sessions.find(bearer, is_request=False)) is not None

    def recognise(self, bearer: str) -> Caller:
        """Raises: NotSignedInError. RateLimitedError: this caller asks too often."""
        caller = None
        if len(bearer) <= _LONGEST:
            caller = self.tokens.find(bearer) or self.sessions.find(bearer)
        return self._let_in(caller)

    def visitor(self, session: str, *, is_watching: bool) -> Caller:
        """Somebody whose browser holds a session; tokens of programs open no pages.

        Args: is_watching: the page asks by itself, which keeps no session alive.
        Raises: NotSignedInError. RateLimitedError.
        """
        is_short = len(session) <= _LONGEST
        return self._let_in(self.sessions.find(session, is_request=not is_watching) if is_short else None)

    def _let_in(self, caller: Caller | None) -> Caller:
        if caller is None:
            raise NotSignedInError("the token is not known here, was revoked, or has ended")
        proofs.given()
        self.rates.spend(f"person {caller.name}")
        return caller
