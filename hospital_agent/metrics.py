"""`GET /metrics` of the local API: what this agent does, in Prometheus' terms, for this hospital's own people.

Figures are of this machine and its talk with the cloud. None is of records, and no label names a study or a job.
"""

from __future__ import annotations

import shutil
import time
from collections import Counter as Counted
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from fastapi import FastAPI
from fastapi.responses import Response
from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hospital_agent.cloud import BUSY_STATUSES, Exchange
from hospital_agent.journal import JobStatus, Journal
from hospital_agent.journal.store import JOURNAL_FILE
from hospital_agent.models.gauges import STATES as DRIFT_STATES
from shared.crypto.certificates import Certificate
from shared.protocol.expiry import ends

MEDIA_TYPE: Final = "text/plain; version=1.0.0; charset=utf-8"
_DAY_SECONDS: Final = 86_400
_BUCKETS: Final = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)

disable_created_metrics()  # type: ignore[no-untyped-call]


@dataclass(slots=True)
class Figures:
    """Of the agent in `folder`. `certificate`: its own, as the daemon holds it now. `clock`: Unix seconds."""

    folder: Path
    certificate: Callable[[], Certificate | None]
    clock: Callable[[], float] = time.time
    drift: Callable[[], Sequence[str]] = tuple
    """The words for the models that were asked, from `stable` to `shifted`."""
    registry: CollectorRegistry = field(default_factory=lambda: CollectorRegistry(auto_describe=True))
    _contact: float | None = None
    _requests: Counter = field(init=False)
    _seconds: Histogram = field(init=False)
    _retries: Counter = field(init=False)
    _predictions: Counter = field(init=False)

    def __post_init__(self) -> None:
        self._requests = Counter(
            "privet_agent_requests",
            "Requests to the cloud; status is a class such as 2xx, or none.",
            ["type", "status"],
            registry=self.registry,
        )
        self._seconds = Histogram(
            "privet_agent_request_seconds",
            "How long the cloud took, polls left out.",
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self._retries = Counter(
            "privet_agent_retries", "Requests that will have to be sent again.", registry=self.registry
        )
        self._predictions = Counter(
            "privet_agent_predictions", "Requests for predictions here.", ["status"], registry=self.registry
        )

    def count(self, exchange: Exchange) -> None:
        """One exchange with the cloud."""
        status = exchange.status
        self._requests.labels(exchange.kind, "none" if status is None else f"{status // 100}xx").inc()
        if exchange.kind != "poll":
            self._seconds.observe(exchange.seconds)
        if status is None or status in BUSY_STATUSES:
            self._retries.inc()
        else:
            self._contact = self.clock()

    def count_prediction(self, status: int) -> None:
        """One request for predictions that was answered."""
        self._predictions.labels(f"{status // 100}xx").inc()

    def page(self) -> bytes:
        """Everything in Prometheus' text format."""
        return generate_latest(self)

    def collect(self) -> Iterator[Metric]:
        """What was counted, then what is looked up now."""
        yield from self.registry.collect()
        with Journal.open(self.folder) as journal:
            statuses, queued = journal.status_counts(), journal.pending_count()
        jobs = GaugeMetricFamily("privet_agent_jobs", "Jobs in the journal by status.", labels=["state"])
        for status in JobStatus:
            jobs.add_metric([status.value], statuses.get(status.value, 0))
        yield jobs
        yield _gauge("privet_agent_queued_messages", "Own messages that the cloud has not answered.", queued)
        if self._contact is not None:
            silent = max(0.0, self.clock() - self._contact)
            yield _gauge("privet_agent_contact_age_seconds", "Since the cloud's newest answer.", silent)
        words = Counted(self.drift())
        drift = GaugeMetricFamily(
            "privet_agent_drift_models",
            "Models that were asked, by how far that is from training.",
            labels=["state"],
        )
        for word in DRIFT_STATES:
            drift.add_metric([word], words[word])
        yield drift
        size = sum(path.stat().st_size for path in self.folder.glob(f"{JOURNAL_FILE}*"))
        yield _gauge("privet_agent_journal_bytes", "The journal on disk.", size)
        free = shutil.disk_usage(self.folder).free
        yield _gauge("privet_agent_disk_free_bytes", "What is left on its disk.", free)
        certificate = self.certificate()
        if certificate is not None:
            days = (ends(certificate) - self.clock()) / _DAY_SECONDS
            yield _gauge("privet_agent_certificate_days_left", "Until the own certificate ends.", days)


def add_metrics(app: FastAPI, figures: Figures) -> None:
    """Let the local API show them, under the same guards as the rest, and count predictions."""

    @app.get("/metrics", include_in_schema=False)
    def metrics() -> Response:
        """Figures for Prometheus."""
        return Response(figures.page(), media_type=MEDIA_TYPE)

    app.add_middleware(_Count, figures=figures)


@dataclass(frozen=True, slots=True)
class _Count:
    """Counts requests for predictions by the status of their answers."""

    app: ASGIApp
    figures: Figures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].endswith("/predict"):
            await self.app(scope, receive, send)
            return

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.figures.count_prediction(message["status"])
            await send(message)

        await self.app(scope, receive, counted)


def _gauge(name: str, help_text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, help_text, value=value)
