"""Since when the cloud does not answer, for the people who ask how the agent is."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from typing import Final

from hospital_agent.journal.store import Journal

_NAME: Final = "cloud_silent_since"


def note_silence(journal: Journal, since: int | None) -> None:
    """The cloud does not answer since then; None: it does. A journal that cannot be written is another's trouble."""
    with suppress(sqlite3.Error, OSError), journal.transaction(durable=False):
        if since is None:
            journal.connection.execute("DELETE FROM place WHERE name = ?", (_NAME,))
        else:
            journal.connection.execute("INSERT OR REPLACE INTO place VALUES (?, ?)", (_NAME, str(since)))


def silent_since(journal: Journal) -> int | None:
    """Unix seconds; None while it answers."""
    row = journal.connection.execute("SELECT value FROM place WHERE name = ?", (_NAME,)).fetchone()
    return None if row is None else int(row[0])
