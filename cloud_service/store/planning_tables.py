"""Tables of what people plan: studies that are being written, and which start of a job a request has had already."""

from __future__ import annotations

from typing import Annotated

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from cloud_service.store.tables import Base, Hex32, JobKey, Name, Raw, Seconds

Owner = Annotated[str, mapped_column(String(255))]


class StudyDraft(Base):
    """A study that somebody is still writing. `fields`: of the form, as JSON. `study`: what it has become."""

    __tablename__ = "study_drafts"

    id: Mapped[JobKey] = mapped_column(primary_key=True)
    owner: Mapped[Owner] = mapped_column(index=True)
    fields: Mapped[Raw]
    created: Mapped[Seconds]
    changed: Mapped[Seconds]
    study: Mapped[Name | None]


class JobRequest(Base):
    """A request to start a job under a key of the one who asks, and the job that it began.

    `sha256`: of what was asked, so that a key is not taken for something else.
    """

    __tablename__ = "job_requests"

    actor: Mapped[Owner] = mapped_column(primary_key=True)
    key: Mapped[Name] = mapped_column(primary_key=True)
    sha256: Mapped[Hex32]
    job: Mapped[JobKey]
    created: Mapped[Seconds]
