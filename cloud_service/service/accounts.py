"""Local accounts as the operator keeps them, in the cloud's folder: add, change, disable, reset."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row
from sqlalchemy.exc import IntegrityError

from cloud_service.service import acts, people_log
from cloud_service.service.permissions import Role, check_scopes
from cloud_service.store import people
from cloud_service.store.database import Database
from shared.crypto.passwords import check_password, hash_password
from shared.errors import InputError
from shared.ids import is_valid_id

_SEE = "See the names: privet cloud person list FOLDER"


@dataclass(frozen=True, slots=True)
class Account:
    """A local account without its secrets. `disabled`: since when, Unix seconds."""

    name: str
    roles: tuple[str, ...]
    hospital: str | None
    has_second_factor: bool
    created: int
    disabled: int | None


@dataclass(frozen=True, slots=True)
class Accounts:
    """Every change ends the person's sessions and goes to the people's log in the same transaction."""

    database: Database
    clock: Callable[[], int]

    def add(self, name: str, password: str, roles: Collection[str], hospital: str | None) -> Account:
        """A new account. Raises: InputError: the name is taken or none, a weak password, roles that do not fit."""
        # In the log of acts `operator` is whoever is at the cloud's own machine.
        if not is_valid_id(name) or name == acts.OPERATOR:
            raise InputError(
                f"a name has 1 to 64 of a-z, 0-9 and -, and is not {acts.OPERATOR}, cloud or all",
                where="--name",
                remedy="Choose another.",
            )
        _check_roles(roles, hospital)
        check_password(password, name)
        scopes, now = " ".join(sorted(roles)), self.clock()
        values = {
            "name": name,
            "password": hash_password(password),
            "scopes": scopes,
            "hospital": hospital,
            "second_factor": None,
            "is_enrolled": False,
            "last_step": 0,
            "created": now,
            "disabled": None,
        }
        try:
            with self.database.write() as connection:
                people.add_person(connection, values)
                _note(connection, "person_added", name, now, scopes=scopes, hospital=hospital)
        except IntegrityError:
            raise InputError(
                "there is, or was, a person of this name", where="--name", remedy="Choose another."
            ) from None
        return self.get(name)

    def get(self, name: str) -> Account:
        """One account. Raises: InputError: there is none of this name."""
        found = self.find(name)
        if found is None:
            raise InputError("there is no person of this name", where="--name", remedy=_SEE)
        return found

    def find(self, name: str) -> Account | None:
        """One account; None: there is none of this name."""
        with self.database.read() as connection:
            row = people.person(connection, name)
        return None if row is None else _account(row)

    def all(self) -> list[Account]:
        """Every account by name, disabled ones as well."""
        with self.database.read() as connection:
            return [_account(row) for row in people.all_people(connection)]

    def page(self, *, limit: int, offset: int) -> list[Account]:
        """Accounts by name, disabled ones as well: a page of them."""
        with self.database.read() as connection:
            return [_account(row) for row in people.some_people(connection, limit=limit, offset=offset)]

    def count(self) -> int:
        """How many accounts there are."""
        with self.database.read() as connection:
            return people.count_people(connection)

    def change(self, name: str, roles: Collection[str], hospital: str | None) -> Account:
        """Give other roles in place of those of before. Raises: InputError."""
        _check_roles(roles, hospital)
        scopes = " ".join(sorted(roles))
        told = {"scopes": scopes, "hospital": hospital}
        return self._change(name, "roles_changed", told, told)

    def disable(self, name: str) -> Account:
        """Let somebody in no more; the name stays taken. Raises: InputError."""
        return self._change(name, "person_disabled", {"disabled": self.clock()})

    def enable(self, name: str) -> Account:
        """Let somebody in again. Raises: InputError."""
        return self._change(name, "person_enabled", {"disabled": None})

    def reset_password(self, name: str, password: str) -> Account:
        """Give another password. Raises: InputError: a weak one."""
        check_password(password, name)
        return self._change(name, "password_reset", {"password": hash_password(password)})

    def reset_second_factor(self, name: str) -> Account:
        """Forget the second factor: the next sign-in shows a new one. Raises: InputError."""
        return self._change(name, "second_factor_reset", {"second_factor": None, "is_enrolled": False})

    def _change(
        self, name: str, act: str, values: dict[str, Any], told: dict[str, Any] | None = None
    ) -> Account:
        with self.database.write() as connection:
            if people.change_person(connection, name, values):
                people.end_sessions_of(connection, name)
                _note(connection, act, name, self.clock(), **(told or {}))
        return self.get(name)


def _check_roles(roles: Collection[str], hospital: str | None) -> None:
    if not set(roles) <= set(Role):
        raise InputError(
            "there is no such role", where="--role", remedy=f"Roles of people: {', '.join(Role)}."
        )
    check_scopes(roles, hospital)


def _note(connection: Connection, act: str, name: str, now: int, **details: Any) -> None:
    people_log.record(connection, people_log.OPERATOR, act, name, now, **details)


def _account(row: Row[Any]) -> Account:
    return Account(
        name=row.name,
        roles=tuple(row.scopes.split()),
        hospital=row.hospital,
        has_second_factor=row.is_enrolled,
        created=row.created,
        disabled=row.disabled,
    )
