"""Tokens and accounts of a cloud's folder, for commands at its own machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cloud_service.service.accounts import Accounts
from cloud_service.service.services import unix_time
from cloud_service.service.tokens import Tokens
from cloud_service.settings import load_settings
from cloud_service.store.database import Database
from cloud_service.store.schema import require_current


@contextmanager
def open_people(folder: Path) -> Iterator[tuple[Tokens, Accounts]]:
    """Both over the folder's database. Raises: InputError: its tables are not those of this version."""
    database = Database(load_settings(folder).database)
    try:
        require_current(database)
        yield Tokens(database, unix_time), Accounts(database, unix_time)
    finally:
        database.dispose()
