"""Studies that people are still writing: kept for them until they are created, or until nobody has touched them long.

A draft is nobody else's: it is asked for with its owner's name, and is not there for anybody else. It binds nobody and
is seen by no hospital, so that it stands in no log.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Row

from cloud_service.service.refusals import ConflictError, UnknownThingError
from cloud_service.store import planning
from cloud_service.store.database import Database
from shared.rng import random_bytes

MOST: Final = 20
"""Drafts of one person."""
KEPT_SECONDS: Final = 30 * 86_400
"""After the last change."""
CLEAR_SECONDS: Final = 3600.0
_ID_BYTES: Final = 16
Fields = Mapping[str, list[str]]


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft. `fields`: of the form, by name. `study`: the study that it has become, None while it is a draft."""

    id: str
    fields: Fields
    changed: int
    study: str | None

    def value(self, name: str) -> str:
        """The last value of a field; empty where nothing was said."""
        return (self.fields.get(name) or [""])[-1]


@dataclass(frozen=True, slots=True)
class Drafts:
    """Use cases of people who write a study."""

    database: Database
    clock: Callable[[], int]

    def begin(self, owner: str, fields: Fields) -> Draft:
        """A new draft. Raises: ConflictError: the owner has as many as may be."""
        draft_id, now = random_bytes(_ID_BYTES).hex(), self.clock()
        with self.database.write() as connection:
            if len(planning.drafts_of(connection, owner)) >= MOST:
                raise ConflictError(f"you have {MOST} drafts; delete one that you do not need")
            planning.add_draft(connection, owner, draft_id, _written(fields), now)
        return Draft(draft_id, fields, now, None)

    def get(self, owner: str, draft_id: str) -> Draft:
        """Raises: UnknownThingError: there is none, or it is somebody else's."""
        with self.database.read() as connection:
            row = planning.draft(connection, owner, draft_id)
        if row is None:
            raise UnknownThingError(
                "there is no such draft; drafts are deleted 30 days after their last change"
            )
        return _draft(row)

    def mine(self, owner: str) -> list[Draft]:
        """The owner's drafts, the last changed first."""
        with self.database.read() as connection:
            return [_draft(row) for row in planning.drafts_of(connection, owner)]

    def save(self, owner: str, draft_id: str, changes: Fields) -> Draft:
        """Change some fields. Raises: UnknownThingError."""
        with self.database.write() as connection:
            row = planning.draft(connection, owner, draft_id)
            if row is None:
                raise UnknownThingError("there is no such draft; it may have been deleted in another window")
            fields = {**_draft(row).fields, **changes}
            planning.save_draft(connection, owner, draft_id, _written(fields), self.clock())
        return self.get(owner, draft_id)

    def became(self, owner: str, draft_id: str, study: str) -> None:
        """Note the study, so that a second click finds it."""
        with self.database.write() as connection:
            planning.mark_created(connection, owner, draft_id, study)

    def clear(self) -> None:
        """Delete what nobody has changed for long, and the keys of requests that are as old."""
        with self.database.write() as connection:
            planning.drop_before(connection, self.clock() - KEPT_SECONDS)

    def drop(self, owner: str, draft_id: str) -> None:
        """Delete a draft."""
        with self.database.write() as connection:
            planning.drop_draft(connection, owner, draft_id)


def _written(fields: Fields) -> bytes:
    return json.dumps({name: list(values) for name, values in fields.items()}).encode()


def _draft(row: Row[Any]) -> Draft:
    return Draft(row.id, json.loads(row.fields), row.changed, row.study)
