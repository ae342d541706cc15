"""Lists of studies, a page at a time: what a line shows, without documents and schemas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, func, or_, select

from cloud_service.store.study_tables import StudyAnswerRow, StudyDocumentRow, StudyMember
from cloud_service.store.tables import JobMember, JobRow, Study, table_of

_STUDIES: Final = table_of(Study)
_DOCUMENTS: Final = table_of(StudyDocumentRow)
_MEMBERS: Final = table_of(StudyMember)
_ANSWERS: Final = table_of(StudyAnswerRow)
_LATER: Final = _ANSWERS.alias("later")
_JOBS: Final = table_of(JobRow)
_SEATS: Final = table_of(JobMember)
_S, _D, _M, _A = _STUDIES.c, _DOCUMENTS.c, _MEMBERS.c, _ANSWERS.c

Kind = Literal["all", "open", "ending", "unanswered"]
"""Open: takes jobs. Ending: open, and its last day is near. Unanswered: open, and not approved by all it invites."""

_NEWEST_TIME: Final = (
    select(func.max(_LATER.c.time))
    .where(_LATER.c.study == _M.study, _LATER.c.agent == _M.agent)
    .correlate(_MEMBERS)
    .scalar_subquery()
)
_APPROVES: Final = (
    select(_A.id)
    .where(_A.study == _M.study, _A.agent == _M.agent, _A.time == _NEWEST_TIME, _A.answer == "approve")
    .correlate(_MEMBERS)
    .exists()
)
"""Whether a member's last answer is an approval."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which studies.

    Args: words: all of them stand in id or question. hospital: only studies that this one has to do with; None: all.
        now, soon: Unix seconds; a last day before `soon` is near.
    """

    kind: Kind
    words: Sequence[str]
    hospital: str | None
    now: int
    soon: int


def page(connection: Connection, wanted: Wanted, *, limit: int, offset: int = 0) -> list[Row[Any]]:
    """Id, question, synthetic, has_document, closed, expires, members and approved of each; the open ones first."""
    lines = (
        _chosen(wanted).order_by(~_is_open(wanted.now), _S.id).limit(limit).offset(offset).subquery("wanted")
    )
    own = _M.study == lines.c.id
    members = select(func.count()).select_from(_MEMBERS).where(own).scalar_subquery()
    approved = select(func.count()).select_from(_MEMBERS).where(own, _APPROVES).scalar_subquery()
    counted = select(lines, members.label("members"), approved.label("approved"))
    return list(connection.execute(counted.order_by(lines.c.is_over, lines.c.id)))


def count(connection: Connection, wanted: Wanted) -> int:
    """How many there are."""
    found = _chosen(wanted).subquery()
    return int(connection.execute(select(func.count()).select_from(found)).scalar_one())


def _chosen(wanted: Wanted) -> Select[tuple[Any, ...]]:
    query = select(
        _S.id,
        _S.question,
        _S.synthetic,
        _D.study.is_not(None).label("has_document"),
        _D.closed,
        _D.expires,
        (~_is_open(wanted.now)).label("is_over"),
    ).select_from(_STUDIES.outerjoin(_DOCUMENTS, _D.study == _S.id))
    for word in wanted.words:
        query = query.where(or_(*(_has(spelled) for spelled in _spellings(word))))
    if wanted.hospital is not None:
        invites = select(_M.study).where(_M.agent == wanted.hospital)
        jobs = select(_JOBS.c.study).join(_SEATS, _SEATS.c.job == _JOBS.c.id)
        query = query.where(or_(_S.id.in_(invites), _S.id.in_(jobs.where(_SEATS.c.agent == wanted.hospital))))
    if wanted.kind == "all":
        return query
    query = query.where(_is_open(wanted.now))
    if wanted.kind == "ending":
        query = query.where(_D.expires < wanted.soon)
    elif wanted.kind == "unanswered":
        silent = select(_M.agent).where(_M.study == _S.id, ~_APPROVES).correlate(_STUDIES).exists()
        query = query.where(_D.study.is_not(None), silent)
    return query


def _is_open(now: int) -> ColumnElement[bool]:
    """Whether it takes jobs; one of before documents always does."""
    return and_(_D.closed.is_(None), or_(_D.expires.is_(None), _D.expires >= now))


def _spellings(word: str) -> set[str]:
    """SQLite folds the case of ASCII alone, so words with other letters are looked for in their usual spellings."""
    return {word.lower()} if word.isascii() else {word, word.lower(), word.upper(), word.capitalize()}


def _has(word: str) -> ColumnElement[bool]:
    if not word.isascii():
        return or_(_S.question.contains(word, autoescape=True), _S.id.contains(word, autoescape=True))
    return or_(func.lower(_S.question).contains(word, autoescape=True), _S.id.contains(word, autoescape=True))
