"""Whom to believe: certificates of the federation's root, for members of its newest signed list only."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from shared.crypto import certificates
from shared.crypto.certificates import Certificate, Role
from shared.errors import ErrorCode, PeerError


@dataclass(frozen=True, slots=True)
class Trust:
    """The root certificate (DER) and the members' certificate hashes (SHA-256, hex) by id."""

    root: bytes
    members: Mapping[str, str]

    def certificate(self, der: bytes, *, role: Role) -> Certificate:
        """A certificate that the root issued to a present member in this role.

        Raises: PeerError: `unknown_agent`: another issuer, another role, or not (or no longer) a member.
        """
        certificate = certificates.verify(der, self.root)
        listed = self.members.get(certificate.id)
        if listed != hashlib.sha256(der).hexdigest() or certificate.role != role:
            raise PeerError(
                ErrorCode.UNKNOWN_AGENT,
                f"{certificate.id} is not a present member of this federation as {role}; "
                "fetch the newest federation document from the trusted authority",
            )
        return certificate
