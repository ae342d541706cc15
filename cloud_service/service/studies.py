"""Studies: approved questions with their public schema."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row
from sqlalchemy.exc import IntegrityError

from cloud_service.service.refusals import ConflictError, UnknownThingError
from cloud_service.store import directory
from cloud_service.store.database import Database
from shared.errors import InputError
from shared.ids import is_valid_id
from shared.tree.schema import Schema
from shared.tree.schema_checks import is_plain_line
from shared.wire.manifest import Disclosure, SchemaSpec


@dataclass(frozen=True, slots=True)
class StudyView:
    """A study. `created`: Unix seconds. `disclosure`: the most that agents' predictions may show."""

    id: str
    question: str
    schema: SchemaSpec
    publish_tree: bool
    disclosure: Disclosure
    synthetic: bool
    created: int


@dataclass(frozen=True, slots=True)
class Studies:
    """Create and read; a study is never changed, because jobs were agreed to under it."""

    database: Database
    clock: Callable[[], int]

    def create(self, study: StudyView) -> StudyView:
        """Keep a new study; the very same again is answered alike.

        Raises: InputError: the id or the schema breaks a rule. ConflictError: the id is taken by another.
        """
        if not is_valid_id(study.id):
            raise InputError("a study's id has 1 to 64 of a-z, 0-9 and -, and is not reserved", where="id")
        if not is_plain_line(study.question):
            raise InputError("a question is one line without control characters", where="question")
        Schema.from_json(study.schema.model_dump(mode="json", by_alias=True))
        values = {
            "id": study.id,
            "question": study.question,
            "schema": study.schema.canonical(),
            "publish_tree": study.publish_tree,
            "disclosure": study.disclosure,
            "synthetic": study.synthetic,
            "created": self.clock(),
        }
        try:
            with self.database.write() as connection:
                directory.add_study(connection, values)
        except IntegrityError:
            return self._same(study)
        return self.get(study.id)

    def _same(self, study: StudyView) -> StudyView:
        known = self.get(study.id)
        if _essence(known) != _essence(study):
            raise ConflictError(
                f"there is another study {study.id}; studies are never changed: choose another id"
            )
        return known

    def get(self, study_id: str) -> StudyView:
        """One study. Raises: UnknownThingError."""
        with self.database.read() as connection:
            row = directory.study(connection, study_id)
        if row is None:
            raise UnknownThingError(
                f"there is no study {study_id}" if is_valid_id(study_id) else "no such study"
            )
        return _view(row)

    def all(self) -> list[StudyView]:
        """Every study, by id."""
        with self.database.read() as connection:
            return [_view(row) for row in directory.studies(connection)]


def _essence(study: StudyView) -> tuple[object, ...]:
    return study.question, study.schema, study.publish_tree, study.disclosure, study.synthetic


def _view(row: Row[Any]) -> StudyView:
    return StudyView(
        id=row.id,
        question=row.question,
        schema=SchemaSpec.model_validate_json(row.schema),
        publish_tree=row.publish_tree,
        disclosure=row.disclosure,
        synthetic=row.synthetic,
        created=row.created,
    )
