"""Certificates that end soon, told in the log: once when the cloud starts, and every day."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import structlog

from cloud_service.service.federation import Membership
from cloud_service.store import directory
from cloud_service.store.database import Database
from shared.crypto.certificates import Certificate, Role
from shared.errors import PeerError
from shared.protocol.expiry import day_of, ends, notice

_log = structlog.get_logger()
ENDINGS_SECONDS: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class Endings:
    """Looks at the cloud's own certificate and at those of the hospitals that are members."""

    database: Database
    membership: Membership
    clock: Callable[[], int]

    def tell(self) -> None:
        """A warning for each certificate that is over or ends within the notice, with the remedy."""
        now = self.clock()
        for certificate in self._present():
            told = notice(certificate, now)
            if told is not None:
                until = day_of(ends(certificate))
                _log.warning("certificate ends", agent=certificate.id, until=until, remedy=told)

    def _present(self) -> Iterator[Certificate]:
        joined = self.membership.current()
        yield joined.trust.certificate(joined.certificate, role=Role.CLOUD)
        with self.database.read() as connection:
            rows = directory.hospitals(connection)
        for row in rows:
            try:
                yield self.membership.agent(row.certificate)
            except PeerError:
                continue  # it has left, or has not come with its newest certificate
