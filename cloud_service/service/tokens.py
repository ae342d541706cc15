"""People's access: bearer tokens of 256 random bits, of which only the SHA-256 is kept."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row
from sqlalchemy.exc import IntegrityError

from cloud_service.service.permissions import Caller, Role, caller_of
from cloud_service.service.rates import Rates
from cloud_service.service.refusals import NotSignedInError
from cloud_service.store import directory
from cloud_service.store.database import Database
from shared.errors import InputError
from shared.ids import is_valid_id
from shared.rng import random_token


@dataclass(frozen=True, slots=True)
class Tokens:
    """Give out, recognise and revoke."""

    database: Database
    rates: Rates
    clock: Callable[[], int]

    def create(self, label: str) -> str:
        """A new token, shown this once. Raises: InputError: the label is taken or not a name."""
        if not is_valid_id(label):
            raise InputError(
                "a label has 1 to 64 of a-z, 0-9 and -", where="--label", remedy="Choose another."
            )
        token = random_token()
        try:
            with self.database.write() as connection:
                directory.add_token(connection, label, _digest(token), self.clock())
        except IntegrityError:
            raise InputError(
                "there is, or was, a token with this label", where="--label", remedy="Choose another."
            ) from None
        return token

    def all(self) -> list[Row[Any]]:
        """Every token ever given out: label and times, never the token."""
        with self.database.read() as connection:
            return directory.tokens(connection)

    def revoke(self, label: str) -> None:
        """End a token at once. Raises: InputError: no living token has this label."""
        with self.database.write() as connection:
            found = directory.revoke_token(connection, label, self.clock())
        if not found:
            raise InputError(
                "no living token has this label",
                where="--label",
                remedy="See the labels: privet cloud token list FOLDER",
            )

    def recognise(self, token: str) -> Caller:
        """Who holds a living token. Raises: NotSignedInError. RateLimitedError."""
        with self.database.read() as connection:
            # Looked up by hash: how long the look-up takes says nothing about the token.
            label = directory.token_label(connection, _digest(token))
        if label is None:
            raise NotSignedInError("the token is not known here, or was revoked")
        self.rates.spend(f"token {label}")
        return caller_of(label, list(Role), None)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
