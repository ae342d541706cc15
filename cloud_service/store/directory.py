"""Who is who: federation documents, hospitals, studies, and people's tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import delete, insert, select, update
from sqlalchemy.orm import Session

from cloud_service.store.tables import ApiToken, FederationDocument, Hospital, Study


def newest_federation(session: Session) -> FederationDocument | None:
    """The federation document in force."""
    return session.scalars(
        select(FederationDocument).order_by(FederationDocument.id.desc()).limit(1)
    ).one_or_none()


def newest_federation_id(session: Session) -> int:
    """Its id; 0 before any was joined."""
    query = select(FederationDocument.id).order_by(FederationDocument.id.desc()).limit(1)
    return session.scalar(query) or 0


def federation_of_key(session: Session, key_id: str) -> FederationDocument | None:
    """The newest document of the epoch with this Paillier key."""
    query = select(FederationDocument).where(FederationDocument.key_id == key_id)
    return session.scalars(query.order_by(FederationDocument.id.desc()).limit(1)).one_or_none()


def put_federation(session: Session, values: Mapping[str, Any]) -> None:
    """A newer federation document, or a new certificate of this cloud under the same one."""
    session.execute(delete(FederationDocument).where(FederationDocument.sha256 == values["sha256"]))
    session.execute(insert(FederationDocument), [dict(values)])


def hospital(session: Session, agent: str) -> Hospital | None:
    """A registered hospital."""
    return session.get(Hospital, agent)


def hospitals(session: Session) -> list[Hospital]:
    """All registered hospitals by id."""
    return list(session.scalars(select(Hospital).order_by(Hospital.id)))


def put_hospital(session: Session, agent: str, values: Mapping[str, Any], now: int) -> None:
    """Register a hospital, or note its new certificate and version."""
    changed = session.execute(
        update(Hospital).where(Hospital.id == agent).values(**values, last_seen=now).returning(Hospital.id)
    )
    if changed.first() is None:
        session.execute(insert(Hospital), [{"id": agent, "registered": now, "last_seen": now, **values}])


def touch_hospitals(session: Session, seen: Mapping[str, int]) -> None:
    """Note when hospitals were last heard of (Unix seconds)."""
    for agent, time in seen.items():
        session.execute(
            update(Hospital).where(Hospital.id == agent, Hospital.last_seen < time).values(last_seen=time)
        )


def study(session: Session, study_id: str) -> Study | None:
    """A study."""
    return session.get(Study, study_id)


def studies(session: Session) -> list[Study]:
    """All studies by id."""
    return list(session.scalars(select(Study).order_by(Study.id)))


def add_study(session: Session, values: Mapping[str, Any]) -> None:
    """A new study. Raises: IntegrityError: the id is taken."""
    session.execute(insert(Study), [dict(values)])


def token(session: Session, sha256: str) -> ApiToken | None:
    """The token with this hash, unless it was revoked."""
    query = select(ApiToken).where(ApiToken.sha256 == sha256, ApiToken.revoked.is_(None))
    return session.scalars(query).one_or_none()


def tokens(session: Session) -> list[ApiToken]:
    """All tokens ever given out, oldest first."""
    return list(session.scalars(select(ApiToken).order_by(ApiToken.id)))


def add_token(session: Session, label: str, sha256: str, now: int) -> None:
    """A new token. Raises: IntegrityError: the label is taken."""
    session.execute(insert(ApiToken), [{"label": label, "sha256": sha256, "created": now, "revoked": None}])


def revoke_token(session: Session, label: str, now: int) -> bool:
    """End a token's life; whether there was a living one of that label."""
    query = update(ApiToken).where(ApiToken.label == label, ApiToken.revoked.is_(None)).values(revoked=now)
    return session.execute(query.returning(ApiToken.id)).first() is not None
