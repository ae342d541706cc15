"""Study documents, the hospitals they invite, and what those have answered and consented to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection, Row, bindparam, delete, func, insert, or_, select, update

from cloud_service.store.study_tables import (
    AskedQuestion,
    StudyAnswerRow,
    StudyConsentRow,
    StudyDocumentRow,
    StudyMember,
    StudyReader,
)
from cloud_service.store.tables import JobMember, JobRow, table_of
from shared.protocol.states import TERMINAL_CLOUD_STATES

_DOCUMENTS: Final = table_of(StudyDocumentRow)
_MEMBERS: Final = table_of(StudyMember)
_READERS: Final = table_of(StudyReader)
_ANSWERS: Final = table_of(StudyAnswerRow)
_CONSENTS: Final = table_of(StudyConsentRow)
_JOBS: Final = table_of(JobRow)
_SEATS: Final = table_of(JobMember)
_QUESTIONS: Final = table_of(AskedQuestion)
_D, _M, _A, _C, _J, _Q = _DOCUMENTS.c, _MEMBERS.c, _ANSWERS.c, _CONSENTS.c, _JOBS.c, _QUESTIONS.c

_OVER: Final = [state.value for state in TERMINAL_CLOUD_STATES]
_DOCUMENT: Final = select(_DOCUMENTS).where(_D.study == bindparam("study"))
_LOCK: Final = _DOCUMENT.with_for_update()
_ALL: Final = select(_DOCUMENTS)
_OF_AGENT: Final = (
    select(_D.study, _D.sha256, _D.closed)
    .join(_MEMBERS, _M.study == _D.study)
    .where(_M.agent == bindparam("agent"))
    .order_by(_D.study)
)
_STUDIES_OF: Final = select(_M.study).where(_M.agent == bindparam("agent"))
_CHANGES_LOCK: Final = 0x73747564
"""Key of the PostgreSQL advisory lock under which changes are numbered."""
_CHANGE: Final = select(func.coalesce(func.max(_D.change), 0))
_ANSWERS_OF: Final = select(_ANSWERS).where(_A.study == bindparam("study")).order_by(_A.time, _A.id)
_TURN: Final = func.row_number().over(partition_by=_C.agent, order_by=_C.id.desc())
_CONSENTS_OF: Final = (
    select(_CONSENTS)
    .where(or_(_C.with_sha256 == bindparam("sha256"), _C.without_sha256 == bindparam("sha256")))
    .order_by(_TURN, _C.id.desc())
    .limit(bindparam("limit"))
)
_CONSENTS_TO: Final = select(func.count()).where(
    _C.agent == bindparam("agent"), _C.with_sha256 == bindparam("with")
)
_SAME_CONSENT: Final = select(_C.consent).where(
    _C.agent == bindparam("agent"),
    _C.with_sha256 == bindparam("with"),
    _C.without_sha256 == bindparam("without"),
)
_COUNTS: Final = or_(_J.started.is_not(None), _J.state.not_in(_OVER))
"""Of a job: it began to compute, or may still begin."""
_BEGUN: Final = select(func.count()).where(
    _J.study == bindparam("study"),
    _COUNTS,
    _J.id.not_in(select(_Q.job).where(_Q.study == bindparam("study"))),
)
_ASKED: Final = (
    select(_Q.question, _Q.records, _Q.created)
    .join(_JOBS, _J.id == _Q.job)
    .where(_Q.study == bindparam("study"), _Q.hospital == bindparam("hospital"), _COUNTS)
)
_RUNNING_WITH: Final = (
    select(_J.id)
    .join(_SEATS, _SEATS.c.job == _J.id)
    .where(_J.study == bindparam("study"), _SEATS.c.agent == bindparam("agent"), _J.state.not_in(_OVER))
)


def document(connection: Connection, study: str, *, lock: bool = False) -> Row[Any] | None:
    """A study's document; None: there is no such study, or it is of before documents."""
    return connection.execute(_LOCK if lock else _DOCUMENT, {"study": study}).one_or_none()


def documents(connection: Connection) -> dict[str, Row[Any]]:
    """Every document by its study."""
    return {row.study: row for row in connection.execute(_ALL)}


def documents_of(connection: Connection, agent: str) -> list[Row[Any]]:
    """Study, hash and closing of the documents that invite a hospital, by study."""
    return list(connection.execute(_OF_AGENT, {"agent": agent}))


def studies_of(connection: Connection, agent: str) -> frozenset[str]:
    """Studies whose documents invite a hospital."""
    return frozenset(connection.scalars(_STUDIES_OF, {"agent": agent}))


def readers(connection: Connection) -> frozenset[str]:
    """Hospitals whose agents know of documents."""
    return frozenset(connection.scalars(select(_READERS.c.agent)))


def note_reader(connection: Connection, agent: str, now: int) -> None:
    """The hospital's agent has asked for documents. Raises: IntegrityError: that is known."""
    connection.execute(insert(_READERS), {"agent": agent, "since": now})


def forget_reader(connection: Connection, agent: str) -> None:
    """The hospital's agent has to show again that it knows of documents."""
    connection.execute(delete(_READERS).where(_READERS.c.agent == agent))


def newest_change(connection: Connection) -> int:
    """The number of the last change of any document; 0 before the first."""
    return int(connection.scalar(_CHANGE) or 0)


def add_document(
    connection: Connection, study: str, sha256: str, raw: bytes, members: Sequence[str], expires: int
) -> None:
    """The document of a new study. Args: expires: its last second, as the document says."""
    change = _next_change(connection)
    row = {"study": study, "sha256": sha256, "document": raw, "closed": None, "change": change}
    row |= {"expires": expires}
    connection.execute(insert(_DOCUMENTS), row)
    if members:
        connection.execute(insert(_MEMBERS), [{"study": study, "agent": agent} for agent in members])


def close(connection: Connection, study: str, now: int) -> bool:
    """The study takes no more jobs; whether it took some until now."""
    change = _next_change(connection)
    closing = update(_DOCUMENTS).where(_D.study == study, _D.closed.is_(None))
    return connection.execute(closing.values(closed=now, change=change)).rowcount > 0


def _next_change(connection: Connection) -> int:
    """Nobody else numbers a change before this transaction ends, so that they become visible in their order."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_CHANGES_LOCK})")
    return newest_change(connection) + 1


def answers_of(connection: Connection, study: str) -> list[Row[Any]]:
    """All answers to a study's document in the order of the hospitals' own times."""
    return list(connection.execute(_ANSWERS_OF, {"study": study}))


def add_answer(connection: Connection, values: Mapping[str, Any]) -> None:
    """One more answer. Raises: IntegrityError: another of the same hospital and time was quicker."""
    connection.execute(insert(_ANSWERS), dict(values))


def consents_of(connection: Connection, sha256: str, limit: int) -> list[Row[Any]]:
    """The newest consents that name the document, on either side: each hospital's newest, then the ones before.

    So nobody who consents to many pairs takes the place of others.
    """
    return list(connection.execute(_CONSENTS_OF, {"sha256": sha256, "limit": limit}))


def same_consent(connection: Connection, agent: str, with_sha256: str, without_sha256: str) -> bytes | None:
    """The consent that is kept for this pair, if there is one."""
    place = {"agent": agent, "with": with_sha256, "without": without_sha256}
    found = connection.scalar(_SAME_CONSENT, place)
    return None if found is None else bytes(found)


def count_consents(connection: Connection, agent: str, with_sha256: str) -> int:
    """How many consents of a hospital to one document are kept."""
    return int(connection.scalar(_CONSENTS_TO, {"agent": agent, "with": with_sha256}) or 0)


def add_consent(connection: Connection, values: Mapping[str, Any]) -> None:
    """A new consent. Raises: IntegrityError: the pair has one."""
    connection.execute(insert(_CONSENTS), dict(values))


def jobs_begun(connection: Connection, study: str) -> int:
    """Jobs of a study that began to compute, or may still begin; without those by which hospitals ask by themselves."""
    return int(connection.scalar(_BEGUN, {"study": study}) or 0)


def asked_by(connection: Connection, study: str, hospital: str) -> list[Row[Any]]:
    """Question, records and time of the jobs by which a hospital asked in a study, counted as the others are."""
    return list(connection.execute(_ASKED, {"study": study, "hospital": hospital}))


def add_question(connection: Connection, values: Mapping[str, Any]) -> None:
    """The job by which a hospital asks a tree that stays shared."""
    connection.execute(insert(_QUESTIONS), dict(values))


def running_with(connection: Connection, study: str, agent: str) -> list[str]:
    """Jobs of a study that are not over and invite the hospital."""
    return list(connection.scalars(_RUNNING_WITH, {"study": study, "agent": agent}))
