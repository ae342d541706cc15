"""The chain of administrative acts of the whole cloud: rows in their order, appended one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sqlalchemy import Connection, bindparam, insert, select

from cloud_service.store.journal import Entry
from cloud_service.store.tables import ActRecord, table_of

_ACTS: Final = table_of(ActRecord)
_A: Final = _ACTS.c
_LOCK: Final = 0x61637473
"""Key of the PostgreSQL advisory lock under which the chain grows, whichever replica appends."""
_NEWEST: Final = select(_A.number, _A.hash).order_by(_A.number.desc()).limit(1)
_PAGE: Final = (
    select(_ACTS).where(_A.number > bindparam("after")).order_by(_A.number).limit(bindparam("count"))
)
_PAGE_SIZE: Final = 1000


def lock(connection: Connection) -> None:
    """Let nobody else append until this transaction ends. SQLite has one writer anyway."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")


def newest(connection: Connection) -> tuple[int, str] | None:
    """Number and hash of the newest record; None before there is one."""
    row = connection.execute(_NEWEST).one_or_none()
    return None if row is None else (row.number, row.hash)


def append(connection: Connection, entry: Entry) -> None:
    """Add the next record."""
    row = {"number": entry.number, "record": entry.record, "hash": entry.hash}
    connection.execute(insert(_ACTS), row)


def page(connection: Connection, *, after: int, limit: int) -> list[Entry]:
    """Records beyond number `after`, in order; -1 for those from the start."""
    rows = connection.execute(_PAGE, {"after": after, "count": limit})
    return [Entry(row.number, row.record, row.hash) for row in rows]


def all_of(connection: Connection) -> Iterator[Entry]:
    """The whole chain, read in pages."""
    after = -1
    while found := page(connection, after=after, limit=_PAGE_SIZE):
        yield from found
        after = found[-1].number
