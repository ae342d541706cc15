"""The federation that this cloud belongs to: joining it, its newest document, and whom that document names.

Documents are kept in the database, so that every replica sees a newer one; it is looked for once a second.
"""

from __future__ import annotations

import hashlib
import threading
import time
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

import structlog
from sqlalchemy import Connection, Row

from cloud_service.service import acts
from cloud_service.service.folder import CloudKeyPair
from cloud_service.store import directory
from cloud_service.store.database import Database
from shared.crypto.certificates import Certificate, Role
from shared.crypto.paillier import PublicKey
from shared.crypto.wrapping import UnwrappingKey, WrappingKey
from shared.errors import InputError, PeerError, TemporaryError
from shared.protocol.enrolment import check_successor, open_cloud_bundle, trust_of, verify_federation
from shared.protocol.expiry import early_text
from shared.protocol.sums import CloudKeys
from shared.protocol.trust import Trust
from shared.wire.base import decode_base64url
from shared.wire.enrolment import (
    MAX_BUNDLE_BYTES,
    MAX_FEDERATION_BYTES,
    CloudBundle,
    Federation,
    SignedFederation,
)
from shared.wire.manifest import Manifest

_log = structlog.get_logger()
_REFRESH_SECONDS: Final = 1.0
_JOIN: Final = "Run: privet cloud join FOLDER --bundle cloud.bundle --root-sha256 FINGERPRINT"


@dataclass(frozen=True, slots=True)
class Joined:
    """The document in force, with this cloud's certificate under it. `document`: its exact signed bytes."""

    id: int
    federation: Federation
    document: bytes = field(repr=False)
    certificate: bytes = field(repr=False)
    trust: Trust = field(repr=False)
    agents: dict[bytes, Certificate] = field(default_factory=dict, repr=False)
    """Certificates that were verified under this document, so that each is verified once."""


class Membership:
    """Answers who belongs to the federation, and under which key a job computes."""

    def __init__(self, database: Database, keys: CloudKeyPair) -> None:
        self._database = database
        self._keys = keys
        self._lock = threading.Lock()
        self._joined: Joined | None = None
        self._looked = float("-inf")

    def current(self) -> Joined:
        """The newest document. Raises: InputError: this cloud has not joined a federation."""
        with self._lock:
            if time.monotonic() - self._looked > _REFRESH_SECONDS:
                self._refresh()
            if self._joined is None:
                raise InputError("this cloud has not joined a federation", remedy=_JOIN, number="C014")
            return self._joined

    def _refresh(self) -> None:
        with self._database.read() as connection:
            if self._joined is None or directory.newest_federation_id(connection) != self._joined.id:
                row = directory.newest_federation(connection)
                self._joined = None if row is None else _joined(row)
        self._looked = time.monotonic()

    def agent(self, der: bytes) -> Certificate:
        """A present member's certificate as an agent. Raises: PeerError: `unknown_agent` or `bad_signature`."""
        joined = self.current()
        known = joined.agents.get(der)
        if known is None:
            known = joined.agents[der] = joined.trust.certificate(der, role=Role.AGENT)
        return known

    def keys_of(self, manifest: Manifest) -> CloudKeys:
        """What a job is computed with: the keys that its manifest names, also where newer ones are in force.

        Raises: TemporaryError: its RSA key is not on this replica.
        """
        rsa = WrappingKey.from_der(decode_base64url(manifest.rsa_public_key, what="rsa_public_key"))
        return CloudKeys(self.public_key(manifest.key_id), self._unwrapping(rsa.fingerprint))

    def unwrapping(self) -> UnwrappingKey:
        """The RSA key that the certificate in force names. Raises: TemporaryError: it is not on this replica."""
        joined = self.current()
        return self._unwrapping(_certified_rsa(joined))

    def _unwrapping(self, fingerprint: str) -> UnwrappingKey:
        found = self._keys.find(fingerprint)
        if found is None:
            _log.error("an RSA key is missing on this replica", file=f"rsa-{fingerprint[:16]}.pem")
            raise TemporaryError("the RSA key of this job is not on this replica", retry_after_seconds=2)
        return found

    def public_key(self, key_id: str) -> PublicKey:
        """The public Paillier key of that id. Raises: InputError: no joined document names it."""
        joined = self.current()
        if joined.federation.key_id == key_id:
            return _public(joined.federation.n)
        with self._database.read() as connection:
            row = directory.federation_of_key(connection, key_id)
        if row is None:
            raise InputError("no federation document names this job's key", remedy=_JOIN)
        return _public(_read(row).federation.n)

    def check_keys(self) -> Joined:
        """Raises: InputError: the key files do not belong to the certificate in force."""
        joined = self.current()
        certificate = joined.trust.certificate(joined.certificate, role=Role.CLOUD)
        fits = certificate.public_key == self._keys.identity.public
        if not fits or self._keys.find(str(certificate.rsa_sha256)) is None:
            raise InputError(
                "the key files do not belong to the certificate",
                where="identity.pem, rsa.pem",
                remedy="Put back the files that were certified, or have the new cloud.csr certified and join again.",
                number="C015",
            )
        return joined

    def check_clock(self, now: int) -> None:
        """Raises: InputError: this machine's clock stands before this cloud was certified, so it is wrong."""
        joined = self.current()
        early = early_text(joined.trust.certificate(joined.certificate, role=Role.CLOUD), now)
        if early:
            raise InputError(early, remedy="Set the clock (timedatectl), then start again.", number="C016")

    def join(self, raw: bytes, root_sha256: str | None, now: int) -> Joined:
        """Verify a bundle and keep it; the same bundle again changes nothing.

        Args: root_sha256: the root's fingerprint, 64 hex digits; needed only the first time.
        Raises: PeerError: what does not verify, or is older than what is held.
            InputError: no fingerprint known, or no bundle of a cloud.
        """
        bundle = _cloud_bundle(raw)
        with self._database.write() as connection:
            held = directory.newest_federation(connection)
            enrolment = open_cloud_bundle(
                bundle, _root(held, root_sha256), identity_public=self._keys.identity.public
            )
            if self._keys.find(str(enrolment.certificate.rsa_sha256)) is None:
                raise InputError(
                    "the bundle certifies another RSA key",
                    where="bundle",
                    remedy="Have this folder's cloud.csr certified.",
                )
            if held is not None:
                check_successor(_read(held).federation, enrolment.federation)
            values = _values(bundle, enrolment.federation, enrolment.certificate.der, now)
            if held is None or (held.sha256, held.certificate) != (values["sha256"], values["certificate"]):
                directory.put_federation(connection, values)
                _note_joined(connection, values, enrolment.federation, now)
        with self._lock:
            self._looked = float("-inf")
        return self.current()


def _note_joined(connection: Connection, values: dict[str, object], federation: Federation, now: int) -> None:
    """The keys and members in force from now on, in the log of acts."""
    details: dict[str, acts.Detail] = {
        "epoch": federation.epoch,
        "key_id": federation.key_id,
        "root_sha256": str(values["root_sha256"]),
        "members": [member.id for member in federation.members],
    }
    subject = str(values["sha256"])
    acts.record(
        connection, actor=acts.OPERATOR, act="federation_joined", subject=subject, now=now, details=details
    )


def _root(held: Row[Any] | None, given: str | None) -> str:
    if held is None and given is None:
        raise InputError(
            "the root's fingerprint is needed to believe a first bundle",
            where="--root-sha256",
            remedy="Ask the trusted authority for it over the telephone.",
        )
    if held is not None and given is not None and given != held.root_sha256:
        raise InputError(
            "this cloud belongs to a federation with another root",
            where="--root-sha256",
            remedy="Use a fresh folder and database for another federation.",
        )
    return held.root_sha256 if held is not None else str(given)


def _cloud_bundle(raw: bytes) -> CloudBundle:
    """A slip of the hand, such as a hospital's bundle, is not a bundle that somebody has tampered with."""
    try:
        return CloudBundle.parse(raw, what="bundle", max_bytes=MAX_BUNDLE_BYTES)
    except PeerError:
        raise InputError(
            "this is no bundle for a cloud",
            where="--bundle",
            remedy="Name the file cloud.bundle of the trusted authority; if it is that, fetch it again.",
        ) from None


def _values(bundle: CloudBundle, federation: Federation, certificate: bytes, now: int) -> dict[str, object]:
    document = bundle.federation.canonical()
    return {
        "sha256": hashlib.sha256(document).hexdigest(),
        "epoch": federation.epoch,
        "key_id": federation.key_id,
        "root_sha256": hashlib.sha256(trust_of(federation).root).hexdigest(),
        "document": document,
        "certificate": certificate,
        "stored": now,
    }


def _certified_rsa(joined: Joined) -> str:
    return str(joined.trust.certificate(joined.certificate, role=Role.CLOUD).rsa_sha256)


def _read(row: Row[Any]) -> SignedFederation:
    return SignedFederation.parse(row.document, what="federation document", max_bytes=MAX_FEDERATION_BYTES)


def _joined(row: Row[Any]) -> Joined:
    federation = verify_federation(_read(row), row.root_sha256)
    return Joined(row.id, federation, row.document, row.certificate, trust_of(federation))


@lru_cache(maxsize=8)
def _public(n: str) -> PublicKey:
    return PublicKey.create(int(n, 16))
