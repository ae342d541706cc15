"""Tables of people: local accounts, sessions, attempts to sign in, and the log of all of it.

Nothing of a person's secrets can be read back but the second factor, which is encrypted: passwords are argon2 hashes,
sessions and states of sign-ins SHA-256 of 256 random bits. Times are Unix seconds.
"""

from __future__ import annotations

from typing import Annotated

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from cloud_service.store.tables import Base, Hex32, Large, Long, Name, Raw, RowId, Seconds

LongName = Annotated[str, mapped_column(String(255))]


class Person(Base):
    """A local account. `scopes`: roles and permissions, blank between. `disabled`: since when.

    `second_factor`: the encrypted TOTP secret; it counts once `is_enrolled`. `last_step`: the newest TOTP step of
    which a code was taken.
    """

    __tablename__ = "people"
    __table_args__ = ({"sqlite_autoincrement": True},)

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[Name] = mapped_column(unique=True)
    password: Mapped[Long]
    scopes: Mapped[Long]
    hospital: Mapped[Name | None]
    second_factor: Mapped[Raw | None]
    is_enrolled: Mapped[bool]
    last_step: Mapped[Large]
    created: Mapped[Seconds]
    disabled: Mapped[Seconds | None]


class SignInSession(Base):
    """Somebody who is signed in. `seen`: the latest request, to within a minute."""

    __tablename__ = "sessions"

    sha256: Mapped[Hex32] = mapped_column(primary_key=True)
    person: Mapped[LongName] = mapped_column(index=True)
    scopes: Mapped[Long]
    hospital: Mapped[Name | None]
    created: Mapped[Seconds]
    seen: Mapped[Seconds]


class SignInAttempts(Base):
    """Attempts that did not succeed, of one name or address. `key`: a keyed hash. `until`: no further one before."""

    __tablename__ = "sign_in_attempts"

    key: Mapped[Hex32] = mapped_column(primary_key=True)
    failed: Mapped[Large]
    latest: Mapped[Seconds]
    until: Mapped[Seconds]


class SignInState(Base):
    """A sign-in that is on its way through the identity provider. `browser`: SHA-256 of the cookie that began it."""

    __tablename__ = "sign_in_states"

    sha256: Mapped[Hex32] = mapped_column(primary_key=True)
    browser: Mapped[Hex32]
    created: Mapped[Seconds]


class PeopleRecord(Base):
    """The people's log: `hash` = SHA-256(hash of the record before || record), from 32 zero bytes on."""

    __tablename__ = "people_audit"

    number: Mapped[RowId] = mapped_column(primary_key=True)
    record: Mapped[Raw]
    hash: Mapped[Hex32]
