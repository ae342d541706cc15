"""Studies: questions with their public schema, and the document that hospitals approve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from sqlalchemy import Row
from sqlalchemy.exc import IntegrityError

from cloud_service.service import acts
from cloud_service.service.drafting import YEAR_SECONDS, Frame, Question, StudyRules, draft
from cloud_service.service.federation import Membership
from cloud_service.service.notifier import Notifier, inbox_of
from cloud_service.service.refusals import ConflictError, UnknownThingError
from cloud_service.store import directory, governance
from cloud_service.store.database import Database
from shared.errors import InputError
from shared.ids import is_valid_id
from shared.protocol.enrolment import fingerprint
from shared.protocol.governing import check_texts
from shared.wire.manifest import Disclosure, KeyMode, SchemaSpec
from shared.wire.study import StudyDocument

_NO_RULES: Final = StudyRules()


@dataclass(frozen=True, slots=True)
class StudyView:
    """A study. `disclosure`: the most that agents' predictions may show.

    `document`: what hospitals approve; None for a study of before documents. `closed`: since when it takes no more
    jobs. Times: Unix seconds.
    """

    id: str
    question: str
    schema: SchemaSpec
    publish_tree: bool
    disclosure: Disclosure
    synthetic: bool
    created: int
    document: StudyDocument | None = None
    closed: int | None = None


@dataclass(frozen=True, slots=True)
class Studies:
    """Create, read and close; a document is never changed, because hospitals agreed to its bytes."""

    database: Database
    membership: Membership
    notifier: Notifier
    clock: Callable[[], int]

    def create(
        self, study: StudyView, rules: StudyRules = _NO_RULES, *, actor: str = acts.OPERATOR
    ) -> StudyView:
        """Keep a new study and its document; the very same again is answered alike.

        Args: actor: who creates it, for the log of acts.
        Raises: InputError: the id, a line, the schema or a rule is not right. ConflictError: the id is another study's.
        """
        now = self.clock()
        document = self.preview(study, rules, now)
        values = {
            "id": study.id,
            "question": study.question,
            "schema": study.schema.canonical(),
            "publish_tree": study.publish_tree,
            "disclosure": study.disclosure,
            "synthetic": study.synthetic,
            "created": now,
        }
        raw, sha256 = document.canonical(), document.sha256
        try:
            with self.database.write() as connection:
                directory.add_study(connection, values)
                governance.add_document(connection, study.id, sha256, raw, document.members, document.expires)
                details = {"sha256": sha256}
                acts.record(
                    connection, actor=actor, act="study_created", subject=study.id, now=now, details=details
                )
        except IntegrityError:
            return self._same(study, rules)
        self.notifier.wake(map(inbox_of, document.members))
        return self.get(study.id)

    def preview(self, study: StudyView, rules: StudyRules, now: int) -> StudyDocument:
        """The document that a study would have, were it created now; nothing is kept. Raises: as `create`."""
        if not is_valid_id(study.id):
            raise InputError("a study's id has 1 to 64 of a-z, 0-9 and -, and is not reserved", where="id")
        document = self._draft(study, rules, Frame(*self._federation(), now, now + YEAR_SECONDS))
        check_texts(document)
        if document.expires > now + 10 * YEAR_SECONDS:
            raise InputError(
                "a study lasts at most ten years", where="expires", remedy="Name an earlier day."
            )
        return document

    def close(self, study_id: str, *, actor: str = acts.OPERATOR) -> StudyView:
        """The study takes no more jobs; those that run go on. Again changes nothing.

        Raises: UnknownThingError. ConflictError: it is of before documents.
        """
        view, now = self.get(study_id), self.clock()
        if view.document is None:
            raise ConflictError(
                f"study {study_id} is of before documents and cannot be closed; start no jobs in it"
            )
        if view.closed is None:
            with self.database.write() as connection:
                if governance.close(connection, study_id, now):
                    acts.record(connection, actor=actor, act="study_closed", subject=study_id, now=now)
            self.notifier.wake(map(inbox_of, view.document.members))
        return self.get(study_id)

    def _federation(self) -> tuple[str, tuple[str, ...], KeyMode]:
        """The root certificate's hash, the present hospitals, and the mode of the present key."""
        joined = self.membership.current()
        hospitals = [member.id for member in joined.federation.members if member.role == "agent"]
        key_mode: KeyMode = "shared" if joined.federation.threshold is None else "threshold"
        return fingerprint(joined.trust.root), tuple(sorted(hospitals)), key_mode

    def _draft(self, study: StudyView, rules: StudyRules, frame: Frame) -> StudyDocument:
        question = Question(
            study.id, study.question, study.schema, study.publish_tree, study.disclosure, study.synthetic
        )
        return draft(question, rules, frame)

    def _same(self, study: StudyView, rules: StudyRules) -> StudyView:
        known = self.get(study.id)
        if known.document is None:
            same = _essence(known) == _essence(study) and rules == _NO_RULES
        else:
            root, hospitals, _ = self._federation()
            kept = known.document
            members = tuple(kept.members) if rules.members is None else hospitals
            frame = Frame(root, members, kept.key_mode, kept.created, kept.expires)
            same = self._draft(study, rules, frame) == kept
        if not same:
            raise ConflictError(
                f"there is another study {study.id}; studies are never changed: choose another id"
            )
        return known

    def get(self, study_id: str) -> StudyView:
        """One study. Raises: UnknownThingError."""
        with self.database.read() as connection:
            row = directory.study(connection, study_id)
            document = governance.document(connection, study_id)
        if row is None:
            raise UnknownThingError(
                f"there is no study {study_id}" if is_valid_id(study_id) else "no such study"
            )
        return _view(row, document)

    def has(self, study_id: str) -> bool:
        """Whether there is a study of this id."""
        with self.database.read() as connection:
            return directory.study(connection, study_id) is not None

    def all(self) -> list[StudyView]:
        """Every study, by id."""
        with self.database.read() as connection:
            documents = governance.documents(connection)
            return [_view(row, documents.get(row.id)) for row in directory.studies(connection)]


def _essence(study: StudyView) -> tuple[object, ...]:
    return study.question, study.schema, study.publish_tree, study.disclosure, study.synthetic


def _view(row: Row[Any], document: Row[Any] | None) -> StudyView:
    view = StudyView(
        id=row.id,
        question=row.question,
        schema=SchemaSpec.model_validate_json(row.schema),
        publish_tree=row.publish_tree,
        disclosure=row.disclosure,
        synthetic=row.synthetic,
        created=row.created,
    )
    if document is None:
        return view
    return replace(
        view, document=StudyDocument.model_validate_json(document.document), closed=document.closed
    )
