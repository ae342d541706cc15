"""Registration of hospital agents, and who they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from sqlalchemy import Row

from cloud_service.service import proofs
from cloud_service.service.admission import Admission
from cloud_service.service.presence import Presence
from cloud_service.service.refusals import UnknownThingError
from cloud_service.store import directory, faults, governance
from cloud_service.store.database import Database
from cloud_service.store.faults import Fault
from shared.crypto import certificates
from shared.errors import PeerError
from shared.protocol.expiry import ends
from shared.protocol.polling import SignedRegistration, verify_registration
from shared.protocol.versions import check_window
from shared.wire.base import decode_base64url


@dataclass(frozen=True, slots=True)
class HospitalView:
    """A registered hospital. Times in Unix seconds.

    `online_since`: without a gap, as this process has heard; None where it has not lately. `is_member`: the federation
    still lists its certificate. `certificate_until`: when that ends.
    """

    id: str
    certificate_sha256: str
    version: str
    registered: int
    last_seen: int
    is_member: bool
    certificate_until: int
    online_since: int | None = None


@dataclass(frozen=True, slots=True)
class Hospitals:
    """Who may take part in jobs."""

    database: Database
    admission: Admission
    presence: Presence
    clock: Callable[[], int]

    def register(self, signed: SignedRegistration) -> HospitalView:
        """Note an agent that proves to hold a member's key; registering again is how it says it has started.

        Raises: PeerError: `unknown_agent`, `bad_signature`, `malformed`.
        """
        der = decode_base64url(signed.registration.certificate, what="certificate")
        certificate = self.admission.newcomer(der)
        verify_registration(signed, certificate.public_key, self.clock())
        proofs.given()
        values = {
            "certificate": der,
            "certificate_sha256": certificate.sha256,
            "version": signed.registration.version,
        }
        check_window(signed.registration.version, version("privet"))
        with self.database.write() as connection:
            directory.put_hospital(connection, certificate.id, values, self.clock())
            governance.forget_reader(connection, certificate.id)  # it may be of another version now
        return self.get(certificate.id)

    def get(self, agent: str) -> HospitalView:
        """One hospital. Raises: UnknownThingError."""
        with self.database.read() as connection:
            row = directory.hospital(connection, agent)
        if row is None:
            raise UnknownThingError(f"no hospital {agent} has registered")
        return self._view(row)

    def all(self) -> list[HospitalView]:
        """Every registered hospital, by id."""
        with self.database.read() as connection:
            rows = directory.hospitals(connection)
        return [self._view(row) for row in rows]

    def faults(self, seen_by: str | None = None) -> Mapping[str, Fault]:
        """By hospital, what went wrong with it last in the newest jobs. Args: seen_by: the only hospital to tell of."""
        with self.database.read() as connection:
            found = faults.latest(connection)
        return {agent: fault for agent, fault in found.items() if seen_by in (None, agent)}

    def _view(self, row: Row[Any]) -> HospitalView:
        return HospitalView(
            id=row.id,
            certificate_sha256=row.certificate_sha256,
            version=row.version,
            registered=row.registered,
            last_seen=self.presence.last_seen(row.id, row.last_seen),
            is_member=self._is_member(row),
            certificate_until=ends(certificates.read(row.certificate)),
            online_since=self.presence.online_since(row.id),
        )

    def _is_member(self, row: Row[Any]) -> bool:
        try:
            self.admission.membership.agent(row.certificate)
        except PeerError:
            return False
        return True
