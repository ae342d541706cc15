"""Browsers that have signed in with the agent's token, in memory alone, and the limit on guessing secrets."""

from __future__ import annotations

import hashlib
import hmac
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from hospital_agent.pages.problems import PageProblem
from shared.rng import random_bytes, random_token

_IDLE_SECONDS: Final = 30 * 60
_LONGEST_SECONDS: Final = 10 * 3600
_MAX_SESSIONS: Final = 256
_TRIES: Final = 5
_TRIES_OF_ALL: Final = 30
_TRIES_SECONDS: Final = 60.0


Try = tuple[float, str]
"""When, and of whom."""


@dataclass(slots=True)
class Throttle:
    """Counts tries before they are looked at, so that nobody guesses on, also not with many tries at once.

    After `_TRIES` wrong ones within a minute none of the same name or address is looked at, so that who guesses keeps
    nobody else out; after `_TRIES_OF_ALL` none of anybody, so that who takes many names does not guess on.
    """

    clock: Callable[[], float] = time.monotonic
    _tries: list[Try] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def begin(self, who: str) -> Try:
        """Count a try; what `forgive` takes. Args: who: a name or an address. Raises: PageProblem: too many lately."""
        with self._lock:
            begun = self.clock(), who
            self._tries = [one for one in self._tries if one[0] > begun[0] - _TRIES_SECONDS]
            of_same = sum(other == who for _, other in self._tries)
            if of_same >= _TRIES or len(self._tries) >= _TRIES_OF_ALL:
                raise PageProblem(429, "too_many_tries")
            self._tries.append(begun)
            return begun

    def forgive(self, begun: Try) -> None:
        """It was right, so it does not count."""
        with self._lock, suppress(ValueError):
            self._tries.remove(begun)


@dataclass(slots=True)
class _Session:
    begun: float
    seen: float


@dataclass(slots=True)
class Doorkeeper:
    """Sessions of signed-in browsers, in memory alone. `token`: what signs in; None: whoever is on this machine."""

    token: str | None = field(repr=False)
    clock: Callable[[], float] = time.monotonic
    throttle: Throttle = field(default_factory=Throttle)
    _key: bytes = field(default_factory=lambda: random_bytes(32), repr=False)
    _sessions: dict[str, _Session] = field(default_factory=dict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def csrf(self, cookie: str) -> str:
        """What forms for the browser with this cookie carry."""
        return hmac.new(self._key, cookie.encode(), hashlib.sha256).hexdigest()

    def is_in(self, cookie: str, *, by_itself: bool = False) -> bool:
        """Whether the browser is signed in, or need not be; keeps its session alive, unless a page asks `by_itself`."""
        if self.token is None:
            return True
        with self._lock:
            session, now = self._sessions.get(_digest(cookie)), self.clock()
            if (
                session is None
                or now - session.seen > _IDLE_SECONDS
                or now - session.begun > _LONGEST_SECONDS
            ):
                self._sessions.pop(_digest(cookie), None)
                return False
            if not by_itself:
                session.seen = now
            return True

    def sign_in(self, given: str, address: str) -> str:
        """A new session's cookie. Args: address: of who asks. Raises: PageProblem: another token, or too many tries."""
        begun = self.throttle.begin(address)
        if self.token is None or not hmac.compare_digest(given.encode(), self.token.encode()):
            raise PageProblem(401, "wrong_token")
        self.throttle.forgive(begun)
        cookie, now = random_token(), self.clock()
        with self._lock:
            while len(self._sessions) >= _MAX_SESSIONS:
                del self._sessions[min(self._sessions, key=lambda known: self._sessions[known].seen)]
            self._sessions[_digest(cookie)] = _Session(now, now)
        return cookie

    def sign_out(self, cookie: str) -> None:
        """End a session."""
        with self._lock:
            self._sessions.pop(_digest(cookie), None)


def _digest(cookie: str) -> str:
    return hashlib.sha256(cookie.encode()).hexdigest()
