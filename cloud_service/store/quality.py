"""Figures of finished jobs: who sent which, by hash, and the document that all sent alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sqlalchemy import BindParameter, Connection, bindparam, insert, select, update

from cloud_service.store.quality_tables import SentFigures
from cloud_service.store.tables import table_of

_SENT: Final = table_of(SentFigures)
_S: Final = _SENT.c
_JOB: Final[BindParameter[str]] = bindparam("job")
_ADD: Final = insert(_SENT)
_HASHES: Final = select(_S.agent, _S.sha256).where(_S.job == _JOB)
_DOCUMENT: Final = select(_S.document).where(_S.job == _JOB, _S.document.is_not(None))
_KEEP: Final = (
    update(_SENT)
    .where(_S.job == bindparam("key_job"), _S.agent == bindparam("key_agent"))
    .values(document=bindparam("document"))
)


def add(connection: Connection, job: str, agent: str, sha256: str) -> None:
    """That a member has sent figures with this hash."""
    connection.execute(_ADD, {"job": job, "agent": agent, "sha256": sha256, "document": None})


def keep(connection: Connection, job: str, agent: str, document: str) -> None:
    """The document that all have sent, with the member that sent it last."""
    connection.execute(_KEEP, {"key_job": job, "key_agent": agent, "document": document})


def hashes(connection: Connection, job: str) -> Mapping[str, str]:
    """Hash of the figures by the member that sent them."""
    return {row.agent: row.sha256 for row in connection.execute(_HASHES, {"job": job})}


def document(connection: Connection, job: str) -> str | None:
    """The figures that all members sent; None before that."""
    found: str | None = connection.scalar(_DOCUMENT, {"job": job})
    return found
