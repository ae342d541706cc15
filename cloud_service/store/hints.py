"""PostgreSQL's LISTEN and NOTIFY between the replicas of one cloud: short texts that may get lost without harm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Final, cast

from sqlalchemy import Engine, bindparam, func, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from cloud_service.store.database import AuditUnavailableError, Database

MOST_BYTES: Final = 7000
"""Of one text; the server takes 8000."""
_CHANNEL: Final = "privet"
_TELL: Final = select(func.pg_notify(_CHANNEL, bindparam("text")))
_ALIVE: Final = {
    "connect_timeout": "5",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "2",
    "tcp_user_timeout": "5000",
}
"""So that a server that vanished without a word is noticed."""


def tell(database: Database, texts: Sequence[str]) -> None:
    """Send texts to all who listen, this process among them. Raises: AuditUnavailableError."""
    try:
        with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            for text in texts:
                connection.execute(_TELL, {"text": text})
    except (DBAPIError, PoolTimeoutError) as fault:
        raise AuditUnavailableError(fault) from None


class Ear:
    """A connection of its own, outside the pool, that listens. Raises in every method: AuditUnavailableError."""

    def __init__(self, engine: Engine) -> None:
        self._fault = cast(type[Exception], engine.dialect.loaded_dbapi.Error)
        arguments, options = engine.dialect.create_connect_args(engine.url)
        try:
            self._connection: Any = engine.dialect.connect(*arguments, **{**_ALIVE, **options})
        except self._fault as fault:
            raise AuditUnavailableError(fault) from None
        try:
            self._connection.autocommit = True
            self._connection.execute(f"LISTEN {_CHANNEL}")
        except self._fault as fault:
            self.close()
            raise AuditUnavailableError(fault) from None

    def tell(self, text: str) -> None:
        """Send a text over this very connection."""
        try:
            self._connection.execute("SELECT pg_notify(%s, %s)", (_CHANNEL, text))
        except self._fault as fault:
            raise AuditUnavailableError(fault) from None

    def texts(self, seconds: float) -> Iterator[str]:
        """What comes in the next time."""
        try:
            for notice in self._connection.notifies(timeout=seconds):
                yield notice.payload
        except self._fault as fault:
            raise AuditUnavailableError(fault) from None

    def close(self) -> None:
        """Hear no more; never fails."""
        with suppress(self._fault):
            self._connection.close()


def open_ear(database: Database) -> Ear:
    """Begin to listen."""
    return Ear(database.engine)
