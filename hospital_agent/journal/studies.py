"""Studies in the journal: the documents this hospital was shown, its answers to them, and words on their way.

An answer and its signed bytes are one transaction, and so are both with the audit record; the daemon sends the bytes
until the cloud has taken them.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from hospital_agent.journal.store import Journal
from shared.errors import InputError, InternalError
from shared.protocol.asking import Earlier, asked_of, asked_when
from shared.wire.contract import DataContract
from shared.wire.fhir_mapping import FhirMapping
from shared.wire.manifest import Manifest
from shared.wire.study import SignedStudy, StudyDocument

_COLUMNS: Final = "study, sha256, signed, answer, code, reason, answered, closed, begun, learned"


class StudyState(StrEnum):
    """What this hospital has said to a document last."""

    PENDING = "pending"
    APPROVED = "approved"
    DECLINED = "declined"
    WITHDRAWN = "withdrawn"


REFUSED: Final = frozenset({StudyState.DECLINED, StudyState.WITHDRAWN})
"""The answers after which no job of the study runs with this hospital."""


class WordKind(StrEnum):
    """What is on its way to the cloud."""

    ANSWER = "answer"
    CONSENT = "consent"


@dataclass(frozen=True, slots=True)
class StudyEntry:
    """One study. `signed`: the document as the cloud showed it. `begun`: jobs of it that began with this hospital.

    Times in Unix seconds: `answered`: as the last answer says, 0 before the first. `closed`: 0 while it is open.
    `learned`: when it was shown.
    """

    study: str
    sha256: str
    signed: bytes = field(repr=False)
    answer: StudyState = StudyState.PENDING
    code: str | None = None
    reason: str = ""
    answered: int = 0
    closed: int = 0
    begun: int = 0
    learned: float = 0.0

    @property
    def document(self) -> StudyDocument:
        """The document, which was verified before it was kept."""
        return SignedStudy.model_validate_json(self.signed).document


@dataclass(frozen=True, slots=True)
class Asker:
    """A hospital that has asked shared trees by itself. `newest`: its last job, Unix seconds."""

    hospital: str
    questions: int
    records: int
    newest: int


@dataclass(frozen=True, slots=True)
class Word:
    """Signed bytes for the cloud about a study."""

    id: int
    study: str
    kind: WordKind
    raw: bytes = field(repr=False)


def contract_of(journal: Journal, study_id: str) -> DataContract | None:
    """The data contract of a study's document, which binds every job of the study; None where it has none."""
    entry = study(journal, study_id)
    return None if entry is None else entry.document.contract


def mapping_of(journal: Journal, study_id: str) -> FhirMapping | None:
    """The FHIR mapping of a study's document; None where it has none."""
    entry = study(journal, study_id)
    return None if entry is None else entry.document.fhir


def study(journal: Journal, study_id: str) -> StudyEntry | None:
    """A study, or None."""
    return next(iter(_entries(journal, "WHERE study = ?", study_id)), None)


def studies(journal: Journal) -> list[StudyEntry]:
    """All studies, the newest first."""
    return _entries(journal, "ORDER BY learned DESC, study")


def states(journal: Journal) -> dict[str, StudyState]:
    """This hospital's answers by study, without the documents."""
    rows = journal.connection.execute("SELECT study, answer FROM studies")
    return {study_id: StudyState(answer) for study_id, answer in rows}


def find(journal: Journal, prefix: str) -> StudyEntry:
    """The study of that id, or the one whose id or hash begins so. Raises: InputError: none, or several."""
    exact = study(journal, prefix)
    if exact is not None:
        return exact
    found = [
        e for e in studies(journal) if prefix and (e.study.startswith(prefix) or e.sha256.startswith(prefix))
    ]
    if len(found) != 1:
        raise InputError(
            "no study that this hospital was shown has that id"
            if not found
            else "several studies begin with that",
            where=f"study {prefix}",
            remedy="See `privet agent studies list DIR` for the ids."
            if found
            else "A new study is there once this hospital's agent runs and has fetched it, within seconds; "
            "see `privet agent studies list DIR`.",
        )
    return found[0]


def learn(journal: Journal, entry: StudyEntry) -> None:
    """Inside a transaction: a document that was shown for the first time."""
    values = tuple(getattr(entry, name) for name in _COLUMNS.split(", "))
    marks = ", ".join("?" for _ in values)
    journal.connection.execute(f"INSERT INTO studies ({_COLUMNS}) VALUES ({marks})", values)  # noqa: S608 - constants only
    journal.record("study_shown", study=entry.study, sha256=entry.sha256, bytes=len(entry.signed))


def note_closed(journal: Journal, study_id: str, closed: int) -> None:
    """Inside a transaction: the cloud says that the study takes no more jobs."""
    journal.connection.execute("UPDATE studies SET closed = ? WHERE study = ?", (closed, study_id))
    journal.record("study_closed", study=study_id)


def note_begun(journal: Journal, study_id: str) -> None:
    """Inside a transaction: one more job of the study began with this hospital."""
    journal.connection.execute("UPDATE studies SET begun = begun + 1 WHERE study = ?", (study_id,))


def note_asked(journal: Journal, manifest: Manifest, now: int) -> None:
    """Inside a transaction: one more question of a hospital to a shared tree of the study began. Args: now: here."""
    ask = asked_of(manifest)
    if ask is None:
        raise InternalError("a job that no hospital asked for is counted with the study's jobs")
    values = (manifest.job, ask.study, ask.hospital, ask.question, ask.records, asked_when(manifest, now))
    journal.connection.execute("INSERT OR IGNORE INTO asked_questions VALUES (?, ?, ?, ?, ?, ?)", values)


def asked_by(journal: Journal, study_id: str, hospital: str) -> list[Earlier]:
    """The questions of a hospital to shared trees of a study that began with this hospital."""
    rows = journal.connection.execute(
        "SELECT question, records, created FROM asked_questions WHERE study = ? AND hospital = ?",
        (study_id, hospital),
    )
    return [Earlier(*row) for row in rows]


def questions_in(journal: Journal, study_id: str) -> list[Asker]:
    """What each hospital has asked shared trees of a study by itself in jobs with this hospital, by its id."""
    rows = journal.connection.execute(
        "SELECT hospital, COUNT(*), SUM(records), MAX(created) FROM asked_questions WHERE study = ? "
        "GROUP BY hospital ORDER BY hospital",
        (study_id,),
    )
    return [Asker(*row) for row in rows]


def answer(journal: Journal, seen: StudyEntry, changed: StudyEntry, raw: bytes, *, person: str = "") -> None:
    """A person's answer to a document, with the signed bytes for the cloud.

    Args: seen: the entry that the person has looked at. person: for the own log alone.
    Raises: InputError: another person has answered it since.
    """
    said_by = {"person": person} if person else {}
    with journal.transaction():
        done = journal.connection.execute(
            "UPDATE studies SET answer = ?, code = ?, reason = ?, answered = ? WHERE study = ? AND answered = ?",
            (changed.answer.value, changed.code, changed.reason, changed.answered, seen.study, seen.answered),
        )
        if done.rowcount != 1:
            raise InputError(
                "somebody has answered it meanwhile",
                where=f"study {seen.study}",
                remedy="Look at the study again, and answer it as it is now.",
            )
        _send(journal, changed.study, WordKind.ANSWER, raw)
        journal.record(
            f"study_{changed.answer.value}",
            study=changed.study,
            sha256=changed.sha256,
            code=changed.code,
            **said_by,
        )


def consent(
    journal: Journal, entry: StudyEntry, without_sha256: str, raw: bytes, *, person: str = ""
) -> None:
    """A person's consent to a difference, with the signed bytes for the cloud. Args: person: for the own log alone."""
    said_by = {"person": person} if person else {}
    with journal.transaction():
        _send(journal, entry.study, WordKind.CONSENT, raw)
        journal.record("consented", study=entry.study, sha256=entry.sha256, without=without_sha256, **said_by)


def words_to_send(journal: Journal) -> list[Word]:
    """Signed bytes that the cloud has not taken yet, in order."""
    rows = journal.connection.execute(
        "SELECT id, study, kind, raw FROM study_words WHERE state = 'pending' ORDER BY id"
    )
    return [Word(number, study_id, WordKind(kind), raw) for number, study_id, kind, raw in rows]


def settle(journal: Journal, word: Word, *, taken: bool) -> None:
    """The cloud has taken the bytes, or refused them for good; they stay as evidence."""
    with journal.transaction():
        state = "sent" if taken else "refused"
        journal.connection.execute("UPDATE study_words SET state = ? WHERE id = ?", (state, word.id))
        journal.record(
            f"study_word_{state}",
            study=word.study,
            word=word.kind.value,
            sha256=hashlib.sha256(word.raw).hexdigest(),
            bytes=len(word.raw),
        )


def words_said(journal: Journal, study_id: str) -> list[dict[str, Any]]:
    """All signed words about a study as JSON with their states, oldest first."""
    rows = journal.connection.execute(
        "SELECT kind, raw, state FROM study_words WHERE study = ? ORDER BY id", (study_id,)
    )
    return [{"kind": kind, "state": state, **json.loads(raw)} for kind, raw, state in rows]


def _send(journal: Journal, study_id: str, kind: WordKind, raw: bytes) -> None:
    journal.connection.execute(
        "INSERT INTO study_words (study, kind, raw, state) VALUES (?, ?, ?, 'pending')",
        (study_id, kind.value, raw),
    )


def _entries(journal: Journal, where: str, *values: object) -> list[StudyEntry]:
    rows = journal.connection.execute(f"SELECT {_COLUMNS} FROM studies {where}", values)  # noqa: S608 - constants only
    return [StudyEntry(row[0], row[1], row[2], StudyState(row[3]), *row[4:]) for row in rows]
