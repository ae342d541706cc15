"""Who is signed in: bearer sessions of 256 random bits, of which only the SHA-256 is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Row

from cloud_service.service.permissions import Caller, caller_of
from cloud_service.service.tokens import digest
from cloud_service.store import people
from cloud_service.store.database import Database
from shared.protocol.polling import MAX_SKEW_SECONDS
from shared.rng import random_token

LIFE_SECONDS: Final = 8 * 3600
IDLE_SECONDS: Final = 30 * 60
_NOTE_SECONDS: Final = 60
"""A request is noted at most this often, so that reading costs no writing."""


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A new session. `token`: shown this once. `expires`: Unix seconds, whatever is done until then."""

    token: str
    expires: int
    caller: Caller


@dataclass(frozen=True, slots=True)
class Sessions:
    """Open, recognise and end."""

    database: Database
    clock: Callable[[], int]

    def open(self, connection: Connection, person: str, scopes: str, hospital: str | None) -> SignedIn:
        """A session for somebody who has proved to be `person`, in the open write transaction."""
        token, now = random_token(), self.clock()
        people.clear_sessions(
            connection, created_before=now - LIFE_SECONDS, seen_before=now - IDLE_SECONDS - _NOTE_SECONDS
        )
        values = {
            "sha256": digest(token),
            "person": person,
            "scopes": scopes,
            "hospital": hospital,
            "created": now,
            "seen": now,
        }
        people.add_session(connection, values)
        return SignedIn(token, now + LIFE_SECONDS, caller_of(person, scopes.split(), hospital))

    def find(self, token: str, *, is_request: bool = True) -> Caller | None:
        """Who holds a living session; None: none is there, or it has ended. `is_request`: it ends idleness."""
        sha256, now = digest(token), self.clock()
        with self.database.read() as connection:
            row = people.session(connection, sha256)
        if row is None or not _lives(row, now):
            return None
        if is_request and now - row.seen >= _NOTE_SECONDS:
            with self.database.write() as connection:
                people.touch_session(connection, sha256, now)
        return caller_of(row.person, row.scopes.split(), row.hospital)


def _lives(row: Row[Any], now: int) -> bool:
    """Not where the clock was put back to before it began: it would live for longer than anybody agreed to."""
    begun = row.created <= now + MAX_SKEW_SECONDS
    return bool(begun and now < row.created + LIFE_SECONDS and now < row.seen + IDLE_SECONDS)
