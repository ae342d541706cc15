"""What `/metrics` looks up when it is asked: jobs, queues, connections, certificates, the newest backup."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from cryptography import x509
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from sqlalchemy.pool import QueuePool

from cloud_service.service import meters
from cloud_service.service.services import Services
from cloud_service.store import acts, vitals
from cloud_service.store.database import AuditUnavailableError
from shared.crypto.certificates import Role
from shared.protocol.expiry import ends
from shared.protocol.states import CloudState

_DAY_SECONDS: Final = 86_400
_PAGE: Final = 1000


@dataclass(slots=True)
class Vitals:
    """Gauges of one cloud. `_seen`: how far the log of acts was read. `_backup`: when the newest one was taken."""

    services: Services
    _seen: int = -1
    _backup: int | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def page(self) -> bytes:
        """Everything in Prometheus' text format."""
        return generate_latest(self)

    def collect(self) -> Iterator[Metric]:
        """What was counted, then what is looked up now."""
        yield from meters.REGISTRY.collect()
        yield from self._process()
        try:
            found = [*self._database()]
        except AuditUnavailableError:
            found = []
        yield _gauge("privet_database_up", "Whether the database could be read now.", float(bool(found)))
        yield from found

    def _process(self) -> Iterator[Metric]:
        services = self.services
        polls = services.notifier.listeners("inbox ")
        yield _gauge("privet_long_polls", "Polls of agents that wait here now.", polls)
        yield _gauge("privet_leases", "Leases of work that this replica holds.", services.leases.held)
        pool = services.database.engine.pool
        if isinstance(pool, QueuePool):
            used = pool.checkedout()
            yield _gauge("privet_database_connections_used", "Connections to the database in use.", used)
            most = pool.size() + pool._max_overflow
            yield _gauge("privet_database_connections_limit", "How many there may be.", most)
        tls = services.settings.tls_files
        if tls is not None and (days := _days_left_of(tls[0].read_bytes(), self._now)) is not None:
            yield _gauge("privet_tls_certificate_days_left", "Days until the TLS certificate ends.", days)

    def _database(self) -> Iterator[Metric]:
        services = self.services
        with services.database.read() as connection:
            states = vitals.jobs_by_state(connection)
            queued = vitals.outbox_length(connection)
        jobs = GaugeMetricFamily("privet_jobs", "Jobs by their state.", labels=["state"])
        for state in CloudState:
            jobs.add_metric([state.value], states.get(state.value, 0))
        yield jobs
        yield _gauge("privet_outbox_messages", "Messages to hospitals that are kept.", queued)
        joined = services.membership.current()
        own = joined.trust.certificate(joined.certificate, role=Role.CLOUD)
        days = (ends(own) - self._now) / _DAY_SECONDS
        yield _gauge("privet_certificate_days_left", "Days until the cloud's own certificate ends.", days)
        if (backup := self._newest_backup()) is not None:
            age = max(0, self._now - backup)
            yield _gauge("privet_backup_age_seconds", "Since the newest `privet cloud backup`.", age)

    @property
    def _now(self) -> int:
        return self.services.history.clock()

    def _newest_backup(self) -> int | None:
        """Read on in the log of acts, which only grows."""
        with self._lock, self.services.database.read() as connection:
            while found := acts.page(connection, after=self._seen, limit=_PAGE):
                for entry in found:
                    record: dict[str, Any] = json.loads(entry.record)
                    if record["act"] == "backup_taken":
                        self._backup = record["time"]
                self._seen = found[-1].number
            return self._backup


def _gauge(name: str, help_text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, help_text, value=value)


def _days_left_of(pem: bytes, now: int) -> float | None:
    """Of the first certificate in a file that the operator may be replacing just now."""
    with suppress(ValueError, ssl.SSLError):
        end = x509.load_pem_x509_certificate(pem).not_valid_after_utc
        return (end - datetime.fromtimestamp(now, UTC)).total_seconds() / _DAY_SECONDS
    return None
