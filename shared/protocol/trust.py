"""Whom to believe: certificates of the federation's root, for members of its newest signed list only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from shared.crypto import certificates
from shared.crypto.certificates import Certificate, Role
from shared.errors import ErrorCode, PeerError
from shared.protocol.expiry import check_time


@dataclass(frozen=True, slots=True)
class Trust:
    """The root certificate (DER) and the members' certificate hashes (SHA-256, hex) by id.

    now: Unix seconds at which `certificate` wants certificates to be valid; None where nobody is admitted to anything.
    """

    root: bytes
    members: Mapping[str, str]
    now: int | None = None

    def certificate(self, der: bytes, *, role: Role) -> Certificate:
        """A certificate that the root issued to a present member in this role.

        Raises: PeerError: `bad_signature`: another issuer; `unknown_agent`: another role, not (or no longer) a member,
            or outside its time.
        """
        certificate = certificates.verify(der, self.root)
        listed = self.members.get(certificate.id)
        if listed is not None and certificate.role == role and listed != certificate.sha256:
            raise PeerError(
                ErrorCode.UNKNOWN_AGENT,
                f"{certificate.id} was certified anew: the federation lists another certificate than this one; "
                "import the newest bundle (`join --bundle`) there and here",
            )
        if listed is None or certificate.role != role:
            raise PeerError(
                ErrorCode.UNKNOWN_AGENT,
                f"{certificate.id} is not a present member of this federation as {role}; "
                "fetch the newest federation document from the trusted authority",
            )
        if self.now is not None:
            check_time(certificate, self.now)
        return certificate
