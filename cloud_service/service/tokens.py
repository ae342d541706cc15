"""Programs' access: bearer tokens of 256 random bits with scopes and an end, of which only the SHA-256 is kept."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Row
from sqlalchemy.exc import IntegrityError

from cloud_service.service import people_log
from cloud_service.service.permissions import Caller, Role, caller_of, check_scopes
from cloud_service.store import directory
from cloud_service.store.database import Database
from shared.errors import InputError
from shared.ids import is_valid_id
from shared.rng import random_token

DEFAULT_SCOPES: Final = (Role.COORDINATOR.value, Role.ANALYST.value)
DEFAULT_DAYS: Final = 90
MAX_DAYS: Final = 366
DAY_SECONDS: Final = 86_400


@dataclass(frozen=True, slots=True)
class Tokens:
    """Give out, recognise and revoke."""

    database: Database
    clock: Callable[[], int]

    def create(
        self,
        label: str,
        scopes: Collection[str] = DEFAULT_SCOPES,
        *,
        hospital: str | None = None,
        days: int = DEFAULT_DAYS,
    ) -> str:
        """A new token, shown this once.

        Args: scopes: roles and permissions. hospital: the only one whose studies and jobs it shall see.
        Raises: InputError: the label is taken or not a name, the scopes do not go together, more than MAX_DAYS.
        """
        if not is_valid_id(label):
            raise InputError(
                "a label has 1 to 64 of a-z, 0-9 and -", where="--label", remedy="Choose another."
            )
        if not 1 <= days <= MAX_DAYS:
            raise InputError(f"a token lives 1 to {MAX_DAYS} days", where="--days", remedy="Choose fewer.")
        check_scopes(scopes, hospital)
        token, now = random_token(), self.clock()
        rules = {
            "scopes": " ".join(sorted(scopes)),
            "hospital": hospital,
            "expires": now + days * DAY_SECONDS,
        }
        try:
            with self.database.write() as connection:
                directory.add_token(connection, label, digest(token), now, **rules)
                people_log.record(
                    connection, people_log.OPERATOR, "token_created", f"token {label}", now, **rules
                )
        except IntegrityError:
            raise InputError(
                "there is, or was, a token with this label", where="--label", remedy="Choose another."
            ) from None
        return token

    def all(self) -> list[Row[Any]]:
        """Every token ever given out: label, scopes and times, never the token."""
        with self.database.read() as connection:
            return directory.tokens(connection)

    def revoke(self, label: str) -> None:
        """End a token at once. Raises: InputError: no living token has this label."""
        now = self.clock()
        with self.database.write() as connection:
            found = directory.revoke_token(connection, label, now)
            if found:
                people_log.record(connection, people_log.OPERATOR, "token_revoked", f"token {label}", now)
        if not found:
            raise InputError(
                "no living token has this label",
                where="--label",
                remedy="See the labels: privet cloud token list FOLDER",
            )

    def find(self, token: str) -> Caller | None:
        """Who holds a living token; None: it is unknown, revoked or past its end."""
        with self.database.read() as connection:
            # Looked up by hash: how long the look-up takes says nothing about the token.
            row = directory.token(connection, digest(token))
        if row is None or self.clock() >= ends(row):
            return None
        return caller_of(f"token {row.label}", row.scopes.split(), row.hospital)


def ends(row: Row[Any]) -> int:
    """When a token ends, in Unix seconds."""
    end: int | None = row.expires
    return row.created + DEFAULT_DAYS * DAY_SECONDS if end is None else end


def digest(token: str) -> str:
    """What is kept of a token."""
    return hashlib.sha256(token.encode()).hexdigest()
