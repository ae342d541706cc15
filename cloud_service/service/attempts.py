"""How often somebody may try to sign in: by name and by address, with waits that double.

An attempt is counted before it is tried and forgiven when it succeeds, so that a thousand at once are a thousand.
The counts are in the database, for all replicas. Names that nobody has are counted alike.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from sqlalchemy import Connection

from cloud_service.service.rates import RateLimitedError
from cloud_service.store import people
from cloud_service.store.database import Database
from shared.crypto.identity import IdentityKey

NAME_FREE: Final = 5
"""Failures of one name without a wait; then 1, 2, 4... seconds."""
ADDRESS_FREE: Final = 30
"""The same of one address, behind which a whole hospital may sit."""
LONGEST_SECONDS: Final = 300
FORGOTTEN_SECONDS: Final = 86_400
_IPV6_PREFIX: Final = 64
_INFO: Final = b"privet people attempts v1"


def attempts_key(identity: IdentityKey) -> bytes:
    """The key under which names and addresses are hashed: a name field may hold a password typed there by mistake."""
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=_INFO).derive(identity.to_raw())


@dataclass(frozen=True, slots=True)
class Attempts:
    """Count, make wait, forgive."""

    database: Database
    key: bytes = field(repr=False)
    clock: Callable[[], int]

    def begin(self, name: str | None, address: str) -> None:
        """Count one attempt; without a name by the address alone.

        Raises: RateLimitedError: with the seconds to wait; it was not counted.
        """
        now = self.clock()
        with self.database.write() as connection:
            people.clear_attempts(connection, before=now - FORGOTTEN_SECONDS)
            rows = [(key, free, people.attempts(connection, key)) for key, free in self._keys(name, address)]
            until = max(row.until for _, _, row in rows)
            if until > now + LONGEST_SECONDS:
                until = now  # nobody waits so long: the clock was put back since
            if until <= now:
                for key, free, row in rows:
                    failed = row.failed + 1
                    until_then = now + wait_after(failed, free)
                    people.put_attempts(connection, key, failed=failed, latest=now, until=until_then)
        if until > now:
            raise RateLimitedError(
                "too many attempts to sign in; wait before the next one", retry_after_seconds=until - now
            )

    def forgive(self, connection: Connection, name: str | None, address: str) -> None:
        """It was the right person: the name starts anew, the address has one attempt fewer."""
        now = self.clock()
        of_address = self._key("address", _network(address))
        for key, free in self._keys(name, address):
            failed = people.attempts(connection, key).failed
            left = max(0, failed - 1) if key == of_address else 0
            until = now + wait_after(left, free)
            people.put_attempts(connection, key, failed=left, latest=now, until=until)

    def _keys(self, name: str | None, address: str) -> list[tuple[str, int]]:
        """Always in one order, so that no two transactions wait for each other."""
        found = [(self._key("address", _network(address)), ADDRESS_FREE)]
        if name is not None:
            found.append((self._key("name", name), NAME_FREE))
        return sorted(found)

    def _key(self, kind: str, text: str) -> str:
        return hmac.digest(self.key, f"{kind} {text}".encode("utf-8", "replace"), "sha256").hex()


def wait_after(failed: int, free: int) -> int:
    """Seconds until the next attempt after `failed` ones."""
    return 0 if failed < free else min(LONGEST_SECONDS, 2 ** min(failed - free, 20))


def _network(address: str) -> str:
    """One household or hospital: a whole /64 of IPv6, as anybody with one address has all of them."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if parsed.version == 4:
        return address
    return str(ipaddress.ip_network((address, _IPV6_PREFIX), strict=False))
