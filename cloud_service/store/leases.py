"""Leases in PostgreSQL: who does what, until when. Only the database's clock counts, so replicas' clocks may differ.

SQLite has one process, which needs no lease.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from sqlalchemy import (
    BigInteger,
    Connection,
    bindparam,
    cast,
    delete,
    extract,
    func,
    literal,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects import postgresql

from cloud_service.store.tables import Lease, table_of

_LEASES: Final = table_of(Lease)
_L: Final = _LEASES.c
_KEPT_MILLISECONDS: Final = 3_600_000
"""How long a lease that ended can still be read by a person."""

_NOW: Final = cast(extract("epoch", func.clock_timestamp()) * literal(1000), BigInteger)
_ABSURD: Final = _NOW + literal(60_000)
"""No lease is so long: its holder wrote it before the database's clock was put back, and may be dead since."""
_UNTIL: Final = _NOW + bindparam("milliseconds", type_=BigInteger)
_INSERT: Final = postgresql.insert(_LEASES).values(
    kind=bindparam("kind"),
    job=bindparam("job"),
    holder=bindparam("holder"),
    address=bindparam("address"),
    until=_UNTIL,
)
_TAKE: Final = _INSERT.on_conflict_do_update(
    index_elements=["kind", "job"],
    set_={
        "holder": _INSERT.excluded.holder,
        "address": _INSERT.excluded.address,
        "until": _INSERT.excluded.until,
    },
    where=(_L.until < _NOW) | (_L.until > _ABSURD) | (_L.holder == _INSERT.excluded.holder),
).returning(_L.holder)
_PLACES: Final = tuple_(_L.kind, _L.job).in_(bindparam("places", expanding=True))
_RENEW: Final = (
    update(_LEASES)
    .where(_L.holder == bindparam("me"), _L.until >= _NOW, _PLACES)
    .values(until=_UNTIL)
    .returning(_L.kind, _L.job)
)
_FIND: Final = select(_L.holder, _L.address).where(
    _L.kind == bindparam("kind"), _L.job == bindparam("job"), _L.until.between(_NOW, _ABSURD)
)
_RELEASE: Final = delete(_LEASES).where(_L.holder == bindparam("me"), _PLACES)
_FORGET: Final = delete(_LEASES).where(_L.until < _NOW - literal(_KEPT_MILLISECONDS))

Place = tuple[str, str]
"""Kind of work and job."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A replica: its id of this life, and the URL at which other replicas reach it (empty: they cannot)."""

    replica: str
    address: str


def take(connection: Connection, place: Place, me: Holder, milliseconds: int) -> bool:
    """Take or renew a lease, if nobody else has it."""
    _hurry(connection)
    values = {"kind": place[0], "job": place[1], "holder": me.replica, "address": me.address}
    return connection.scalar(_TAKE, values | {"milliseconds": milliseconds}) is not None


def renew(connection: Connection, places: Collection[Place], me: Holder, milliseconds: int) -> set[Place]:
    """Prolong leases; those that still were this replica's."""
    _hurry(connection)
    values = {"me": me.replica, "places": list(places), "milliseconds": milliseconds}
    return {(row.kind, row.job) for row in connection.execute(_RENEW, values)}


def find(connection: Connection, place: Place) -> Holder | None:
    """Who has it now; None: nobody."""
    row = connection.execute(_FIND, {"kind": place[0], "job": place[1]}).one_or_none()
    return None if row is None else Holder(row.holder, row.address)


def release(connection: Connection, places: Collection[Place], me: Holder) -> None:
    """Give leases up, so that nobody has to wait for their end."""
    connection.execute(_RELEASE, {"me": me.replica, "places": list(places)})


def _hurry(connection: Connection) -> None:
    """Do not wait for the disk: a server that loses a lease in a crash tells at the next renewal."""
    connection.exec_driver_sql("SET LOCAL synchronous_commit TO off")


def forget_ended(connection: Connection) -> None:
    """Drop what ended long ago."""
    connection.execute(_FORGET)
