"""Signing in with name, password and code.

- The same answer, after about the same work, to a name that nobody has, a wrong password, a wrong or used code, and an
  account that is disabled; `attempts` makes whoever tries again wait.
- Who needs a second factor and has none yet gets nothing but a new one: the right password shows its address once, and
  the next sign-in, with a code of it, makes it count.
- A code counts once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Row

from cloud_service.service import people_log
from cloud_service.service.attempts import Attempts
from cloud_service.service.permissions import Role
from cloud_service.service.refusals import ConflictError, NotSignedInError
from cloud_service.service.second_factor import SecondFactors
from cloud_service.service.sessions import Sessions, SignedIn
from cloud_service.service.tokens import digest
from cloud_service.store import people
from cloud_service.store.database import Database
from shared.crypto import passwords

_NEED_A_SECOND: Final = frozenset({Role.OPERATOR, Role.COORDINATOR, Role.STEWARD})
_REFUSAL: Final = "name, password or code is not right; a code counts once"


@dataclass(frozen=True, slots=True)
class Enrolment:
    """The right password, but no session: `address` (otpauth) goes into an authenticator app, then sign in again."""

    address: str


@dataclass(frozen=True, slots=True)
class SignIn:
    """Sign in and out. `must_have_second`: whether operators, coordinators and stewards need a second factor."""

    database: Database
    attempts: Attempts
    factors: SecondFactors
    sessions: Sessions
    must_have_second: bool
    clock: Callable[[], int]

    def sign_in(self, name: str, password: str, code: str, address: str) -> SignedIn | Enrolment:
        """A session for the right person. Args: address: where the request comes from.

        Raises: NotSignedInError: whatever was wrong. RateLimitedError: wait.
        """
        self.attempts.begin(name, address)
        with self.database.read() as connection:
            row = people.person(connection, name)
        knows = passwords.is_password(None if row is None else row.password, password)
        sealed = None if row is None else row.second_factor
        step = self.factors.step_of(sealed, name, code, self.clock())
        outcome: SignedIn | Enrolment | None = None
        with self.database.write() as connection:
            if row is not None and knows and _is_unchanged(connection, row):
                outcome = self._admit(connection, row, step, has_code=bool(code.strip()))
            if outcome is not None and row is not None:
                self.attempts.forgive(connection, name, address)
                self._renew_hash(connection, row, password)
            self._note(connection, row, outcome)
        if outcome is None:
            raise NotSignedInError(_REFUSAL)
        return outcome

    def _admit(
        self, connection: Connection, row: Row[Any], step: int | None, *, has_code: bool
    ) -> SignedIn | Enrolment | None:
        """What somebody who knows the password gets; None: nothing."""
        needs = self.must_have_second and not _NEED_A_SECOND.isdisjoint(row.scopes.split())
        if has_code and row.second_factor is not None:
            if step is None or not people.take_step(connection, row.name, step):
                return None
        elif row.is_enrolled or (needs and has_code):
            return None
        elif needs:
            return self._enrol(connection, row.name)
        return self.sessions.open(connection, row.name, row.scopes, row.hospital)

    def _enrol(self, connection: Connection, name: str) -> Enrolment:
        sealed, address = self.factors.create(name)
        people.change_person(connection, name, {"second_factor": sealed, "last_step": 0})
        return Enrolment(address)

    def _renew_hash(self, connection: Connection, row: Row[Any], password: str) -> None:
        if passwords.is_outdated(row.password):
            people.change_person(connection, row.name, {"password": passwords.hash_password(password)})

    def _note(
        self, connection: Connection, row: Row[Any] | None, outcome: SignedIn | Enrolment | None
    ) -> None:
        name = people_log.UNKNOWN if row is None else row.name
        act = {SignedIn: "signed_in", Enrolment: "second_factor_shown"}.get(type(outcome), "sign_in_refused")
        actor = people_log.UNKNOWN if outcome is None else name
        people_log.record(connection, actor, act, name, self.clock())

    def change_password(self, name: str, password: str, new: str, address: str) -> None:
        """Give oneself another password; all sessions end.

        Raises: NotSignedInError: the password of before is wrong. InputError: the new one is weak. RateLimitedError.
            ConflictError: this is no local account.
        """
        row = self._own(name, password, address)
        passwords.check_password(new, name)
        kept = passwords.hash_password(new)
        with self.database.write() as connection:
            _require_unchanged(connection, row)
            people.change_person(connection, row.name, {"password": kept})
            people.end_sessions_of(connection, row.name)
            people_log.record(connection, row.name, "password_changed", row.name, self.clock())

    def add_second_factor(self, name: str, password: str, address: str) -> Enrolment:
        """A second factor for who need not have one; it counts from the first sign-in with a code of it on.

        Raises: as `change_password`. ConflictError: there is one, and only the operator resets it.
        """
        row = self._own(name, password, address)
        if row.is_enrolled:
            raise ConflictError("you have a second factor; the operator can reset it")
        with self.database.write() as connection:
            _require_unchanged(connection, row)
            enrolment = self._enrol(connection, row.name)
            people_log.record(connection, row.name, "second_factor_shown", row.name, self.clock())
        return enrolment

    def _own(self, name: str, password: str, address: str) -> Row[Any]:
        """The account of somebody who is signed in and says the password again."""
        with self.database.read() as connection:
            row = people.person(connection, name)
        if row is None:
            raise ConflictError("this is no account with a password of this cloud")
        self.attempts.begin(name, address)
        if not passwords.is_password(row.password, password):
            raise NotSignedInError("the password is not right")
        with self.database.write() as connection:
            self.attempts.forgive(connection, name, address)
        return row

    def sign_out(self, bearer: str) -> bool:
        """End a session at once; False: it is none of a session, and stays as it is."""
        sha256 = digest(bearer)
        with self.database.write() as connection:
            row = people.session(connection, sha256)
            if row is not None:
                people.end_session(connection, sha256)
                people_log.record(connection, row.person, "signed_out", row.person, self.clock())
        return row is not None


def _is_unchanged(connection: Connection, row: Row[Any]) -> bool:
    """Whether the account is still as it was when the password was tried, and not disabled.

    It stays so until the transaction ends; who changes it then waits, and ends what was opened here.
    """
    now = people.person(connection, row.name, lock=True)
    kept = ("password", "scopes", "hospital", "second_factor", "is_enrolled")
    return now is not None and now.disabled is None and all(now._mapping[k] == row._mapping[k] for k in kept)


def _require_unchanged(connection: Connection, row: Row[Any]) -> None:
    """Raises: NotSignedInError: the operator has changed the account since its password was tried."""
    if not _is_unchanged(connection, row):
        raise NotSignedInError("the account was changed meanwhile; sign in again")
