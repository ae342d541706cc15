"""People of this cloud, as `api` needs them: who signs in how, who holds a token, and the log of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cloud_service.service.access import Access
from cloud_service.service.accounts import Accounts
from cloud_service.service.attempts import Attempts, attempts_key
from cloud_service.service.oidc import OidcSignIn
from cloud_service.service.rates import Rates
from cloud_service.service.second_factor import SecondFactors
from cloud_service.service.sessions import Sessions
from cloud_service.service.signing_in import SignIn
from cloud_service.service.tokens import Tokens
from cloud_service.settings import Settings
from cloud_service.store import people
from cloud_service.store.database import Database
from shared.crypto.identity import IdentityKey


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One record of the people's log, with the hash of the chain that ends with it."""

    number: int
    record: dict[str, Any]
    hash: str


@dataclass(frozen=True, slots=True)
class People:
    """`oidc` is None where no identity provider is set."""

    database: Database
    accounts: Accounts
    sign_in: SignIn
    oidc: OidcSignIn | None

    def log(self, after: int, limit: int) -> list[LogEntry]:
        """The people's log beyond the record `after`; -1 from its start."""
        with self.database.read() as connection:
            found = people.records(connection, after=after, limit=limit)
        return [LogEntry(entry.number, json.loads(entry.record), entry.hash) for entry in found]


def build_people(
    settings: Settings,
    database: Database,
    identity: IdentityKey,
    rates: Rates,
    clock: Callable[[], int],
) -> tuple[Tokens, Access, People]:
    """Join the parts."""
    tokens, sessions = Tokens(database, clock), Sessions(database, clock)
    attempts = Attempts(database, attempts_key(identity), clock)
    factors = SecondFactors(identity)
    sign_in = SignIn(database, attempts, factors, sessions, settings.require_second_factor, clock)
    oidc = None
    if settings.oidc is not None:
        oidc = OidcSignIn(settings.oidc, identity, database, attempts, sessions, clock)
    return tokens, Access(tokens, sessions, rates), People(database, Accounts(database, clock), sign_in, oidc)
