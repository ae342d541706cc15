"""Tables of study governance: documents, whom they invite, hospitals' answers and consents.

A document and an answer are kept as the canonical bytes that were signed. Times are Unix seconds; `received` is by the
cloud's clock, `time` by the hospital's.
"""

from __future__ import annotations

from sqlalchemy import ForeignKey, Index, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from cloud_service.store.tables import (
    Base,
    Hex32,
    JobKey,
    JobRef,
    Large,
    Long,
    Name,
    Raw,
    RowId,
    Seconds,
    Word,
)


class StudyDocumentRow(Base):
    """The document of a study; studies of versions without documents have none.

    `closed`: since when it takes no more jobs. `expires`: its last second, as the document says; null in rows of a
    version that kept it there alone. `change`: greater than of every document that changed before.
    """

    __tablename__ = "study_documents"

    study: Mapped[Name] = mapped_column(ForeignKey("studies.id"), primary_key=True)
    sha256: Mapped[Hex32] = mapped_column(unique=True)
    document: Mapped[Raw]
    closed: Mapped[Seconds | None]
    change: Mapped[Large] = mapped_column(index=True)
    expires: Mapped[Seconds | None]


class StudyMember(Base):
    """That a document invites a hospital."""

    __tablename__ = "study_members"

    study: Mapped[Name] = mapped_column(ForeignKey("studies.id"), primary_key=True)
    agent: Mapped[Name] = mapped_column(primary_key=True, index=True)


class StudyReader(Base):
    """A hospital whose agent has asked for documents since it registered last, so it knows of them."""

    __tablename__ = "study_readers"

    agent: Mapped[Name] = mapped_column(primary_key=True)
    since: Mapped[Seconds]


class StudyAnswerRow(Base):
    """One signed answer; of each hospital the one with the greatest `time` counts. None is ever changed."""

    __tablename__ = "study_answers"
    __table_args__ = (UniqueConstraint("study", "agent", "time"), {"sqlite_autoincrement": True})

    id: Mapped[RowId] = mapped_column(primary_key=True)
    study: Mapped[Name] = mapped_column(ForeignKey("studies.id"))
    agent: Mapped[Name]
    answer: Mapped[Word]
    code: Mapped[Word | None]
    reason: Mapped[Long]
    time: Mapped[Seconds]
    raw: Mapped[Raw]
    received: Mapped[Seconds]


class StudyConsentRow(Base):
    """A hospital's signed consent to a difference of one between two documents' studies, or within one."""

    __tablename__ = "study_consents"
    __table_args__ = (
        UniqueConstraint("agent", "with_sha256", "without_sha256"),
        Index("ix_study_consents_without_sha256", "without_sha256"),
        Index("ix_study_consents_with_sha256", "with_sha256"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[RowId] = mapped_column(primary_key=True)
    agent: Mapped[Name]
    with_sha256: Mapped[Hex32]
    without_sha256: Mapped[Hex32]
    consent: Mapped[Raw]
    signature: Mapped[str] = mapped_column(String(128))
    received: Mapped[Seconds]


class AskedQuestion(Base):
    """A job by which a hospital asks a tree that stays shared, by its own wish. `question`: as the wish names it."""

    __tablename__ = "asked_questions"
    __table_args__ = (Index("ix_asked_questions_study_hospital", "study", "hospital"),)

    job: Mapped[JobRef] = mapped_column(primary_key=True)
    study: Mapped[Name]
    hospital: Mapped[Name]
    question: Mapped[JobKey]
    records: Mapped[Large]
    created: Mapped[Seconds]
