"""What lasts of questions by CDS Hooks: cards by number and model, what became of them, tokens that were used.

Nothing of a patient, a user or an answer: a card's number says which model was asked when, a client's word on it
whether the card was of use. A used token is kept until it expires, also over a restart: it cannot be used twice.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from machine.files import PRIVATE

LEDGER_FILE: Final = "clinical.sqlite3"
KEPT_SECONDS: Final = 400 * 86_400
MAX_CARDS: Final = 1_000_000
_FORGOTTEN_AT_ONCE: Final = 10_000
"""Of the oldest, where there are more than the most."""
_TABLES: Final = """
CREATE TABLE IF NOT EXISTS cards (
    uuid TEXT PRIMARY KEY, service TEXT NOT NULL, model TEXT NOT NULL, covered INTEGER NOT NULL, at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS cards_by_time ON cards (at);
CREATE TABLE IF NOT EXISTS feedback (
    card TEXT PRIMARY KEY, outcome TEXT NOT NULL, reason TEXT NOT NULL, at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tokens (token TEXT PRIMARY KEY, expires INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS tokens_by_time ON tokens (expires);
"""


@dataclass(slots=True)
class Ledger:
    """The file, for one program; its threads take turns."""

    connection: sqlite3.Connection = field(repr=False)
    most: int = MAX_CARDS
    _cards: int = field(init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __post_init__(self) -> None:
        """Count what is there: every card is counted from now on."""
        (self._cards,) = self.connection.execute("SELECT count(*) FROM cards").fetchone()

    @classmethod
    def open(cls, folder: Path) -> Ledger:
        """The ledger of the agent in `folder`, made if it is not there."""
        path = folder / LEDGER_FILE
        if not path.exists():
            path.touch(mode=PRIVATE)
        connection = sqlite3.connect(path, timeout=30.0, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.executescript(_TABLES)
        return cls(connection)

    def use_token(self, issuer: str, token: str, *, expires: int, now: int) -> bool:
        """Whether a token is used for the first time; from now on it is not. Args: times: Unix seconds."""
        key = hashlib.sha256(f"{issuer}\n{token}".encode()).hexdigest()
        with self._lock:
            self.connection.execute("DELETE FROM tokens WHERE expires < ?", (now,))
            done = self.connection.execute("INSERT OR IGNORE INTO tokens VALUES (?, ?)", (key, expires))
            return done.rowcount == 1

    def issue(self, uuid: str, service: str, model: str, *, covered: bool, now: int) -> None:
        """A card was given; old ones are forgotten."""
        with self._lock:
            # What a power cut loses here is a card that nobody can say anything of: no reason to wait for the disk.
            self.connection.execute("PRAGMA synchronous = NORMAL")
            try:
                self._forget(now)
                self.connection.execute(
                    "INSERT INTO cards VALUES (?, ?, ?, ?, ?)", (uuid, service, model, covered, now)
                )
                self._cards += 1
            finally:  # tokens do wait for it, also after a disk was full
                self.connection.execute("PRAGMA synchronous = FULL")

    def _forget(self, now: int) -> None:
        old = self.connection.execute("DELETE FROM cards WHERE at < ?", (now - KEPT_SECONDS,)).rowcount
        self.connection.execute("DELETE FROM feedback WHERE at < ?", (now - KEPT_SECONDS,))
        if self._cards - old >= self.most:
            old += self.connection.execute(
                "DELETE FROM cards WHERE uuid IN (SELECT uuid FROM cards ORDER BY at LIMIT ?)",
                (min(self.most, _FORGOTTEN_AT_ONCE),),
            ).rowcount
            self.connection.execute("DELETE FROM feedback WHERE card NOT IN (SELECT uuid FROM cards)")
        self._cards -= old

    def judge(self, service: str, card: str, outcome: str, reason: str, *, now: int) -> bool:
        """What became of a card; its last word counts. False: this service gave no such card."""
        with self._lock:
            known = self.connection.execute(
                "SELECT 1 FROM cards WHERE uuid = ? AND service = ?", (card, service)
            ).fetchone()
            if known is None:
                return False
            self.connection.execute(
                "INSERT OR REPLACE INTO feedback VALUES (?, ?, ?, ?)", (card, outcome, reason, now)
            )
            return True

    def summary(self) -> list[dict[str, Any]]:
        """By service and model: cards, how many covered, accepted, overridden, and reasons with their numbers."""
        rows = self._rows(
            "SELECT service, model, count(*), sum(covered), sum(outcome = 'accepted'), sum(outcome = 'overridden'), "
            "max(cards.at) FROM cards LEFT JOIN feedback ON card = uuid GROUP BY service, model ORDER BY service, model"
        )
        reasons = self._rows(
            "SELECT service, model, reason, count(*) FROM feedback JOIN cards ON card = uuid WHERE reason != '' "
            "GROUP BY service, model, reason ORDER BY count(*) DESC, reason"
        )
        return [
            {
                "service": service,
                "model": model,
                "cards": cards,
                "covered": covered,
                "accepted": accepted or 0,
                "overridden": overridden or 0,
                "reasons": {reason: count for s, m, reason, count in reasons if (s, m) == (service, model)},
                "last": last,
            }
            for service, model, cards, covered, accepted, overridden, last in rows
        ]

    def _rows(self, query: str) -> Sequence[tuple[Any, ...]]:
        with self._lock:
            return self.connection.execute(query).fetchall()
