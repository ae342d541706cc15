"""The table of figures that studies publish of their finished jobs."""

from __future__ import annotations

from sqlalchemy.orm import Mapped, mapped_column

from cloud_service.store.tables import Base, Hex32, JobRef, Long, Name


class SentFigures(Base):
    """That a member sent figures of a job, by their hash. `document`: with the last one, once all sent the same."""

    __tablename__ = "sent_figures"

    job: Mapped[JobRef] = mapped_column(primary_key=True)
    agent: Mapped[Name] = mapped_column(primary_key=True)
    sha256: Mapped[Hex32]
    document: Mapped[Long | None]
