"""What in the journal is encrypted where its folder is: the state of running jobs, and messages not yet acknowledged.

The state holds the job's X25519 key and decrypted sums. The rest of the journal holds neither: signed offers, receipts
and evidence, names, hashes and times.
"""

from __future__ import annotations

import base64
import sqlite3
from dataclasses import dataclass, field
from typing import Final

from hospital_agent.protection import Protection

_MARK: Final = "encrypted "
"""Begins an encrypted text; JSON never begins so."""


@dataclass(frozen=True, slots=True)
class Cover:
    """Seals and opens what one journal keeps."""

    protection: Protection = field(repr=False)

    def hide_state(self, job: str, text: str) -> str:
        """The state of a job, as it is kept."""
        if not self.protection.is_on:
            return text
        sealed = self.protection.seal(text.encode(), _state_name(job))
        return _MARK + base64.b64encode(sealed).decode()

    def show_state(self, job: str, kept: str) -> str:
        """The inverse. Raises: InputError: it does not open."""
        if not kept.startswith(_MARK):
            return kept
        sealed = base64.b64decode(kept.removeprefix(_MARK))
        return self.protection.open(sealed, _state_name(job)).decode()

    def hide_message(self, sha256: str, raw: bytes) -> bytes:
        """An own message, as it is kept until it is acknowledged."""
        return self.protection.seal(raw, _message_name(sha256))

    def show_message(self, sha256: str, kept: bytes | None) -> bytes | None:
        """The inverse; None where it was erased. Raises: InputError: it does not open."""
        return None if kept is None else self.protection.open(kept, _message_name(sha256))


def convert(connection: sqlite3.Connection, before: Cover, after: Cover) -> None:
    """Keep everything under another protection, and leave nothing of how it was kept before in the file."""
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute("BEGIN IMMEDIATE")
    states = connection.execute("SELECT job, participation FROM jobs WHERE participation IS NOT NULL")
    for job, kept in states.fetchall():
        text = after.hide_state(job, before.show_state(job, kept))
        connection.execute("UPDATE jobs SET participation = ? WHERE job = ?", (text, job))
    messages = connection.execute("SELECT id, sha256, raw FROM outbox WHERE raw IS NOT NULL")
    for number, sha256, kept in messages.fetchall():
        raw = before.show_message(sha256, kept)
        hidden = None if raw is None else after.hide_message(sha256, raw)
        connection.execute("UPDATE outbox SET raw = ? WHERE id = ?", (hidden, number))
    connection.execute("COMMIT")
    connection.execute("VACUUM")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _state_name(job: str) -> str:
    return f"state of job {job}"


def _message_name(sha256: str) -> str:
    return f"message {sha256}"
