"""Figures of finished jobs: who sent which, by hash, and the document that all sent alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import Connection, bindparam, insert, select, update

from cloud_service.store.quality_tables import SentFigures
from cloud_service.store.tables import table_of

_SENT: Final = table_of(SentFigures)
_S: Final = _SENT.c
_ADD: Final = insert(_SENT)
_OF_JOBS: Final = select(_SENT).where(_S.job.in_(bindparam("jobs", expanding=True)))
_KEEP: Final = (
    update(_SENT)
    .where(_S.job == bindparam("key_job"), _S.agent == bindparam("key_agent"))
    .values(document=bindparam("document"))
)


@dataclass(slots=True)
class Sent:
    """What members sent of one job. `hashes`: by member. `document`: the figures, once all sent the same."""

    hashes: dict[str, str] = field(default_factory=dict)
    document: str | None = field(default=None, repr=False)


def add(connection: Connection, job: str, agent: str, sha256: str) -> None:
    """That a member has sent figures with this hash."""
    connection.execute(_ADD, {"job": job, "agent": agent, "sha256": sha256, "document": None})


def keep(connection: Connection, job: str, agent: str, document: str) -> None:
    """The document that all have sent, with the member that sent it last."""
    connection.execute(_KEEP, {"key_job": job, "key_agent": agent, "document": document})


def sent(connection: Connection, jobs: Iterable[str]) -> Mapping[str, Sent]:
    """What came of each of these jobs, by its id."""
    found = {job: Sent() for job in jobs}
    for row in connection.execute(_OF_JOBS, {"jobs": list(found)}):
        found[row.job].hashes[row.agent] = row.sha256
        found[row.job].document = found[row.job].document or row.document
    return found
