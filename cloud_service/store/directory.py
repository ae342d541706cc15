"""Who is who: federation documents, hospitals, studies, and people's tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Connection, Row, bindparam, delete, insert, select, update

from cloud_service.store.tables import ApiToken, FederationDocument, Hospital, Study, table_of

_FEDERATIONS: Final = table_of(FederationDocument)
_HOSPITALS: Final = table_of(Hospital)
_STUDIES: Final = table_of(Study)
_TOKENS: Final = table_of(ApiToken)
_F, _H, _S, _T = _FEDERATIONS.c, _HOSPITALS.c, _STUDIES.c, _TOKENS.c

_NEWEST: Final = select(_FEDERATIONS).order_by(_F.id.desc()).limit(1)
_NEWEST_ID: Final = select(_F.id).order_by(_F.id.desc()).limit(1)
_ALL_FEDERATIONS: Final = select(_FEDERATIONS).order_by(_F.id)
_OF_KEY: Final = _NEWEST.where(_F.key_id == bindparam("key"))
_SAME_DOCUMENT: Final = delete(_FEDERATIONS).where(_F.sha256 == bindparam("same"))
_HOSPITAL: Final = select(_HOSPITALS).where(_H.id == bindparam("agent"))
_ALL_HOSPITALS: Final = select(_HOSPITALS).order_by(_H.id)
_SEEN: Final = (
    update(_HOSPITALS)
    .where(_H.id == bindparam("agent"), _H.last_seen < bindparam("seen"))
    .values(last_seen=bindparam("seen"))
)
_STUDY: Final = select(_STUDIES).where(_S.id == bindparam("study"))
_ALL_STUDIES: Final = select(_STUDIES).order_by(_S.id)
_TOKEN: Final = select(_TOKENS).where(_T.sha256 == bindparam("hash"), _T.revoked.is_(None))
_ALL_TOKENS: Final = select(_TOKENS).order_by(_T.id)


def newest_federation(connection: Connection) -> Row[Any] | None:
    """The federation document in force."""
    return connection.execute(_NEWEST).one_or_none()


def newest_federation_id(connection: Connection) -> int:
    """Its id; 0 before any was joined."""
    return connection.scalar(_NEWEST_ID) or 0


def federations(connection: Connection) -> list[Row[Any]]:
    """Every document that was ever joined, the oldest first."""
    return list(connection.execute(_ALL_FEDERATIONS))


def federation_of_key(connection: Connection, key_id: str) -> Row[Any] | None:
    """The newest document of the epoch with this Paillier key."""
    return connection.execute(_OF_KEY, {"key": key_id}).one_or_none()


def put_federation(connection: Connection, values: Mapping[str, Any]) -> None:
    """A newer federation document, or a new certificate of this cloud under the same one."""
    connection.execute(_SAME_DOCUMENT, {"same": values["sha256"]})
    connection.execute(insert(_FEDERATIONS), dict(values))


def hospital(connection: Connection, agent: str) -> Row[Any] | None:
    """A registered hospital."""
    return connection.execute(_HOSPITAL, {"agent": agent}).one_or_none()


def hospitals(connection: Connection) -> list[Row[Any]]:
    """All registered hospitals by id."""
    return list(connection.execute(_ALL_HOSPITALS))


def put_hospital(connection: Connection, agent: str, values: Mapping[str, Any], now: int) -> None:
    """Register a hospital, or note its new certificate and version."""
    changes = {**values, "last_seen": now}
    changed = connection.execute(update(_HOSPITALS).where(_H.id == agent).values(changes))
    if changed.rowcount == 0:
        connection.execute(insert(_HOSPITALS), {"id": agent, "registered": now, **changes})


def touch_hospitals(connection: Connection, seen: Mapping[str, int]) -> None:
    """Note when hospitals were last heard of (Unix seconds)."""
    connection.execute(_SEEN, [{"agent": agent, "seen": time} for agent, time in seen.items()])


def study(connection: Connection, study_id: str) -> Row[Any] | None:
    """A study."""
    return connection.execute(_STUDY, {"study": study_id}).one_or_none()


def studies(connection: Connection) -> list[Row[Any]]:
    """All studies by id."""
    return list(connection.execute(_ALL_STUDIES))


def add_study(connection: Connection, values: Mapping[str, Any]) -> None:
    """A new study. Raises: IntegrityError: the id is taken."""
    connection.execute(insert(_STUDIES), dict(values))


def token(connection: Connection, sha256: str) -> Row[Any] | None:
    """The token with this hash, unless it was revoked."""
    return connection.execute(_TOKEN, {"hash": sha256}).one_or_none()


def tokens(connection: Connection) -> list[Row[Any]]:
    """All tokens ever given out, oldest first."""
    return list(connection.execute(_ALL_TOKENS))


def add_token(connection: Connection, label: str, sha256: str, now: int, **rules: Any) -> None:
    """A new token; `rules`: its scopes, hospital and end. Raises: IntegrityError: the label is taken."""
    values = {"label": label, "sha256": sha256, "created": now, "revoked": None, **rules}
    connection.execute(insert(_TOKENS), values)


def revoke_token(connection: Connection, label: str, now: int) -> bool:
    """End a token's life; whether there was a living one of that label."""
    query = update(_TOKENS).where(_T.label == label, _T.revoked.is_(None)).values(revoked=now)
    return connection.execute(query).rowcount > 0
