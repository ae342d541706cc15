"""Local accounts, sessions, attempts to sign in, and the log of people: the queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from sqlalchemy import Connection, Row, bindparam, delete, func, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from cloud_service.store.journal import Entry
from cloud_service.store.people_tables import (
    PeopleRecord,
    Person,
    SignInAttempts,
    SignInSession,
    SignInState,
)
from cloud_service.store.tables import table_of

_PEOPLE: Final = table_of(Person)
_SESSIONS: Final = table_of(SignInSession)
_ATTEMPTS: Final = table_of(SignInAttempts)
_STATES: Final = table_of(SignInState)
_RECORDS: Final = table_of(PeopleRecord)
_P, _S, _A, _I, _R = _PEOPLE.c, _SESSIONS.c, _ATTEMPTS.c, _STATES.c, _RECORDS.c

_PAGE: Final = 1000
_CHAIN_LOCK: Final = 0x70656F70
"""Key of the PostgreSQL advisory lock under which the log grows, whichever replica appends."""
_PERSON: Final = select(_PEOPLE).where(_P.name == bindparam("who"))
_PERSON_LOCKED: Final = _PERSON.with_for_update()
_ALL_PEOPLE: Final = select(_PEOPLE).order_by(_P.name)
_COUNT: Final = select(func.count()).select_from(_PEOPLE)
_SESSION: Final = select(_SESSIONS).where(_S.sha256 == bindparam("hash"))
_SEEN: Final = update(_SESSIONS).where(_S.sha256 == bindparam("hash")).values(seen=bindparam("now"))
_TAKE_STEP: Final = (
    update(_PEOPLE)
    .where(_P.name == bindparam("who"), _P.last_step < bindparam("step"))
    .values(last_step=bindparam("step"), is_enrolled=True)
)
_ATTEMPT: Final = select(_ATTEMPTS).where(_A.key == bindparam("which")).with_for_update()
_PUT_ATTEMPT: Final = (
    update(_ATTEMPTS)
    .where(_A.key == bindparam("which"))
    .values(failed=bindparam("failed"), latest=bindparam("latest"), until=bindparam("until"))
)
_NEWEST_RECORD: Final = select(_R.number, _R.hash).order_by(_R.number.desc()).limit(1)
_RECORDS_AFTER: Final = (
    select(_RECORDS).where(_R.number > bindparam("after")).order_by(_R.number).limit(bindparam("most"))
)


def person(connection: Connection, name: str, *, lock: bool = False) -> Row[Any] | None:
    """A local account, disabled ones as well. Args: lock: nobody else may change it before this transaction ends."""
    return connection.execute(_PERSON_LOCKED if lock else _PERSON, {"who": name}).one_or_none()


def all_people(connection: Connection) -> list[Row[Any]]:
    """Every local account by name."""
    return list(connection.execute(_ALL_PEOPLE))


def some_people(connection: Connection, *, limit: int, offset: int) -> list[Row[Any]]:
    """Local accounts by name, a page of them."""
    return list(connection.execute(_ALL_PEOPLE.limit(limit).offset(offset)))


def count_people(connection: Connection) -> int:
    """How many local accounts there are."""
    return int(connection.execute(_COUNT).scalar_one())


def add_person(connection: Connection, values: Mapping[str, Any]) -> None:
    """A new account. Raises: IntegrityError: the name is taken."""
    connection.execute(insert(_PEOPLE), dict(values))


def change_person(connection: Connection, name: str, values: Mapping[str, Any]) -> bool:
    """Change columns of an account; whether there is one of that name."""
    return connection.execute(update(_PEOPLE).where(_P.name == name).values(dict(values))).rowcount > 0


def take_step(connection: Connection, name: str, step: int) -> bool:
    """Note that a code of this TOTP step was used; False if one of it, or of a later one, was used before."""
    return connection.execute(_TAKE_STEP, {"who": name, "step": step}).rowcount > 0


def session(connection: Connection, sha256: str) -> Row[Any] | None:
    """A session, ended ones as well unless they were cleared."""
    return connection.execute(_SESSION, {"hash": sha256}).one_or_none()


def add_session(connection: Connection, values: Mapping[str, Any]) -> None:
    """Somebody has signed in."""
    connection.execute(insert(_SESSIONS), dict(values))


def touch_session(connection: Connection, sha256: str, now: int) -> None:
    """Note a request."""
    connection.execute(_SEEN, {"hash": sha256, "now": now})


def end_session(connection: Connection, sha256: str) -> None:
    """Sign out."""
    connection.execute(delete(_SESSIONS).where(_S.sha256 == sha256))


def end_sessions_of(connection: Connection, name: str) -> None:
    """Sign somebody out everywhere."""
    connection.execute(delete(_SESSIONS).where(_S.person == name))


def clear_sessions(connection: Connection, *, created_before: int, seen_before: int) -> None:
    """Forget sessions that have ended by themselves."""
    connection.execute(delete(_SESSIONS).where((_S.created < created_before) | (_S.seen < seen_before)))


def attempts(connection: Connection, key: str) -> Row[Any]:
    """The attempts of a name or address, which nobody else may change before this transaction ends."""
    dialect: Any = postgresql if connection.dialect.name == "postgresql" else sqlite
    nothing = {"key": key, "failed": 0, "latest": 0, "until": 0}
    connection.execute(dialect.insert(_ATTEMPTS).values(nothing).on_conflict_do_nothing())
    return connection.execute(_ATTEMPT, {"which": key}).one()


def put_attempts(connection: Connection, key: str, *, failed: int, latest: int, until: int) -> None:
    """Count on."""
    connection.execute(_PUT_ATTEMPT, {"which": key, "failed": failed, "latest": latest, "until": until})


def clear_attempts(connection: Connection, *, before: int) -> None:
    """Forget attempts of long ago."""
    connection.execute(delete(_ATTEMPTS).where(_A.latest < before))


def add_state(connection: Connection, sha256: str, browser: str, now: int, *, oldest: int) -> None:
    """A sign-in has left for the identity provider; those begun before `oldest` will not come back."""
    connection.execute(delete(_STATES).where(_I.created < oldest))
    connection.execute(insert(_STATES), {"sha256": sha256, "browser": browser, "created": now})


def take_state(connection: Connection, sha256: str, browser: str, *, oldest: int) -> bool:
    """Use up the state of a sign-in; whether it was begun by this browser, not before `oldest`, and not used yet."""
    query = delete(_STATES).where(_I.sha256 == sha256, _I.browser == browser, _I.created >= oldest)
    return connection.execute(query).rowcount > 0


def lock_records(connection: Connection) -> tuple[int, str] | None:
    """Number and hash of the newest record; nobody else may append before this transaction ends."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_CHAIN_LOCK})")
    return newest_record(connection)


def newest_record(connection: Connection) -> tuple[int, str] | None:
    """The same without a lock."""
    row = connection.execute(_NEWEST_RECORD).one_or_none()
    return None if row is None else (row.number, row.hash)


def append_record(connection: Connection, entry: Entry) -> None:
    """Add the next record."""
    connection.execute(insert(_RECORDS), {"number": entry.number, "record": entry.record, "hash": entry.hash})


def records(connection: Connection, *, after: int, limit: int) -> list[Entry]:
    """Records beyond number `after`, in order; -1 for those from the start."""
    rows = connection.execute(_RECORDS_AFTER, {"after": after, "most": limit})
    return [Entry(row.number, row.record, row.hash) for row in rows]


def all_records(connection: Connection) -> Iterator[Entry]:
    """The whole log, read in pages."""
    after = -1
    while found := records(connection, after=after, limit=_PAGE):
        yield from found
        after = found[-1].number
