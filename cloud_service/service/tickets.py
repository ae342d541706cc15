"""How replicas of one cloud know each other: a ticket under a key that only they can derive.

All replicas share the cloud's identity key. A ticket says which replica is meant, in which job, and for which member
it passes something on; the member's own signature was checked by the replica that wrote it.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from typing import Final

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from cloud_service.service import proofs
from cloud_service.service.leases import ElsewhereError
from shared.crypto.identity import IdentityKey
from shared.errors import ErrorCode, PeerError
from shared.ids import AgentId

TICKET_HEADER: Final = "privet-replica"
GOOD_SECONDS: Final = 60
"""How far the clocks of two replicas may differ, with the way between them."""
NOBODY: Final = AgentId("")
"""Stands for the member in a ticket for what belongs to the whole job."""
_INFO: Final = b"privet replica ticket v1"


class Tickets:
    """Writes and reads them. replica: the id of this one. clock: Unix seconds."""

    def __init__(self, identity: IdentityKey, replica: str, clock: Callable[[], int]) -> None:
        hkdf = HKDF(algorithm=SHA256(), length=32, salt=None, info=_INFO)
        self._key = hkdf.derive(identity.to_raw())
        self._replica = replica
        self._clock = clock

    def write(self, target: str, job: str, agent: AgentId = NOBODY) -> dict[str, str]:
        """The header of a request to the replica `target`."""
        text = f"{target}/{job}/{agent}/{self._clock()}"
        return {TICKET_HEADER: f"{text}/{self._mac(text)}"}

    def read(self, ticket: str, job: str) -> AgentId:
        """For which member a request of that job comes.

        Raises: PeerError: `bad_signature`: not of a replica of this cloud, or out of date. ElsewhereError: it is for
            another replica, such as the one that had this address before.
        """
        text, _, mac = ticket.rpartition("/")
        if not hmac.compare_digest(mac.encode(), self._mac(text).encode()):
            raise _refused()
        target, named, agent, time = text.split("/")
        if named != job or abs(self._clock() - int(time)) > GOOD_SECONDS:
            raise _refused()
        proofs.given()
        if target != self._replica:
            raise ElsewhereError
        return AgentId(agent)

    def _mac(self, text: str) -> str:
        return hmac.digest(self._key, text.encode("utf-8", "replace"), "sha256").hex()


def _refused() -> PeerError:
    return PeerError(
        ErrorCode.BAD_SIGNATURE, "no ticket of a replica of this cloud that is meant for this one"
    )
