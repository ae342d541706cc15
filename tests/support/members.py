"""Parties as the trusted authority meets them: their own keys, and the request that leaves their house."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from shared.crypto import certificates
from shared.crypto.certificates import Role
from shared.crypto.identity import IdentityKey
from shared.ids import AgentId


@dataclass(frozen=True)
class Party:
    """A party and its private keys, all derived from its id and `generation`, so that tests repeat."""

    id: str
    role: Role = Role.AGENT
    generation: int = 1
    identity: IdentityKey = field(init=False, repr=False)
    sealing_private: bytes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "identity", IdentityKey.from_raw(self._seed("identity")))
        object.__setattr__(self, "sealing_private", self._seed("sealing"))

    @property
    def second_key(self) -> str:
        """An agent's X25519 public key; for the cloud any 64 hex digits do as a fingerprint."""
        private = X25519PrivateKey.from_private_bytes(self.sealing_private)
        return private.public_key().public_bytes_raw().hex()

    @property
    def request(self) -> bytes:
        """The certificate request, PEM."""
        return certificates.create_request(self.identity, AgentId(self.id), self.role, self.second_key)

    def write_request(self, folder: Path) -> Path:
        """The request as a file `<id>.csr`."""
        path = folder / f"{self.id}.csr"
        path.write_bytes(self.request)
        return path

    def _seed(self, purpose: str) -> bytes:
        return hashlib.sha256(f"{self.id}|{self.generation}|{purpose}".encode()).digest()


def cloud() -> Party:
    """The cloud as a party."""
    return Party("cloud", Role.CLOUD)
