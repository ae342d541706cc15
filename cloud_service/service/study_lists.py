"""Lists of studies as people see them: a page of lines, and how many there are of a kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row

from cloud_service.store import governance, study_lists
from cloud_service.store.database import Database
from cloud_service.store.study_lists import Kind, Wanted
from shared.protocol.expiry import NOTICE_SECONDS
from shared.wire.study import StudyDocument


@dataclass(frozen=True, slots=True)
class StudySummary:
    """A study in a list. `approved` of `members`; `expires`, `closed`: Unix seconds.

    `expires`: None for a study of before documents, which no hospital approves and which stays open.
    """

    id: str
    question: str
    synthetic: bool
    closed: int | None
    expires: int | None
    members: int
    approved: int


@dataclass(frozen=True, slots=True)
class StudyLists:
    """What is read grows with the page, not with the number of studies."""

    database: Database
    clock: Callable[[], int]

    def page(
        self, kind: Kind, *, hospital: str | None, limit: int, words: Sequence[str] = (), offset: int = 0
    ) -> list[StudySummary]:
        """Studies of a kind, the open ones first, then by id. Args: hospital: only those of one; None: all."""
        wanted = self._wanted(kind, words, hospital)
        with self.database.read() as connection:
            rows = study_lists.page(connection, wanted, limit=limit, offset=offset)
            return [_summary(connection, row) for row in rows]

    def count(self, kind: Kind, *, hospital: str | None, words: Sequence[str] = ()) -> int:
        """How many studies there are of a kind."""
        with self.database.read() as connection:
            return study_lists.count(connection, self._wanted(kind, words, hospital))

    def _wanted(self, kind: Kind, words: Sequence[str], hospital: str | None) -> Wanted:
        now = self.clock()
        return Wanted(kind, words, hospital, now, now + NOTICE_SECONDS)


def _summary(connection: Connection, row: Row[Any]) -> StudySummary:
    expires = row.expires
    if expires is None and row.has_document:  # written by a version before this column
        document = governance.document(connection, row.id)
        expires = None if document is None else StudyDocument.model_validate_json(document.document).expires
    return StudySummary(row.id, row.question, row.synthetic, row.closed, expires, row.members, row.approved)
