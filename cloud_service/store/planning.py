"""Drafts of studies, and requests to start a job."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Connection, Row, bindparam, delete, func, insert, select, update

from cloud_service.store.planning_tables import JobRequest, StudyDraft
from cloud_service.store.tables import table_of

_DRAFTS: Final = table_of(StudyDraft)
_REQUESTS: Final = table_of(JobRequest)
_D, _R = _DRAFTS.c, _REQUESTS.c
_OWN: Final = (_D.owner == bindparam("own_owner"), _D.id == bindparam("own_id"))

_DRAFT: Final = select(_DRAFTS).where(*_OWN)
_OF_OWNER: Final = (
    select(_DRAFTS).where(_D.owner == bindparam("own_owner"), _D.study.is_(None)).order_by(_D.changed.desc())
)
_ADD: Final = insert(_DRAFTS)
_COUNT: Final = (
    select(func.count())
    .select_from(_REQUESTS)
    .where(_R.actor == bindparam("own_actor"), _R.created > bindparam("since"))
)
_SAVE: Final = update(_DRAFTS).where(*_OWN)
_DROP: Final = delete(_DRAFTS).where(*_OWN)
_OLD: Final = delete(_DRAFTS).where(_D.changed < bindparam("before"))
_REQUEST: Final = select(_REQUESTS).where(_R.actor == bindparam("own_actor"), _R.key == bindparam("own_key"))
_ADD_REQUEST: Final = insert(_REQUESTS)
_OLD_REQUESTS: Final = delete(_REQUESTS).where(_R.created < bindparam("before"))


def draft(connection: Connection, owner: str, draft_id: str) -> Row[Any] | None:
    """Somebody's draft."""
    return connection.execute(_DRAFT, {"own_owner": owner, "own_id": draft_id}).one_or_none()


def drafts_of(connection: Connection, owner: str) -> list[Row[Any]]:
    """Drafts that have not become a study, the last changed first."""
    return list(connection.execute(_OF_OWNER, {"own_owner": owner}))


def add_draft(connection: Connection, owner: str, draft_id: str, fields: bytes, now: int) -> None:
    """A new draft."""
    values = {"id": draft_id, "owner": owner, "fields": fields, "created": now, "changed": now}
    connection.execute(_ADD, values)


def save_draft(connection: Connection, owner: str, draft_id: str, fields: bytes, now: int) -> bool:
    """What it says now; whether there is such a draft."""
    key = {"own_owner": owner, "own_id": draft_id}
    return connection.execute(_SAVE.values(fields=fields, changed=now), key).rowcount > 0


def mark_created(connection: Connection, owner: str, draft_id: str, study: str) -> None:
    """The draft has become a study."""
    connection.execute(_SAVE.values(study=study), {"own_owner": owner, "own_id": draft_id})


def drop_draft(connection: Connection, owner: str, draft_id: str) -> None:
    """Delete a draft; none is no fault."""
    connection.execute(_DROP, {"own_owner": owner, "own_id": draft_id})


def drop_before(connection: Connection, before: int) -> None:
    """Delete drafts that nobody has changed, and requests of before, since that time (Unix seconds)."""
    connection.execute(_OLD, {"before": before})
    connection.execute(_OLD_REQUESTS, {"before": before})


def request(connection: Connection, actor: str, key: str) -> Row[Any] | None:
    """The request under this key, if there was one."""
    return connection.execute(_REQUEST, {"own_actor": actor, "own_key": key}).one_or_none()


def count_requests(connection: Connection, actor: str, since: int) -> int:
    """Requests of this actor that have begun a job since a time (Unix seconds)."""
    found: int = connection.execute(_COUNT, {"own_actor": actor, "since": since}).scalar_one()
    return found


def add_request(connection: Connection, actor: str, key: str, sha256: str, job: str, now: int) -> None:
    """Note what a request has begun. Raises: IntegrityError: another one was quicker."""
    values = {"actor": actor, "key": key, "sha256": sha256, "job": job, "created": now}
    connection.execute(_ADD_REQUEST, values)
