"""What this process counts for `/metrics`, in Prometheus' terms.

No label tells of a study, a job, a hospital or a person: routes are templates, the rest are closed lists of words. What
can be looked up at the moment of asking is in `cloud_service.service.vitals`. All names start with `privet_`;
`LABELS` and the sample alerts in `deploy/prometheus` are held to them by a test.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics

from cloud_service.service.recording import News
from cloud_service.service.telemetry import TRACES
from cloud_service.store.database import Database
from shared.errors import ErrorCode

disable_created_metrics()  # type: ignore[no-untyped-call]
REGISTRY: Final = CollectorRegistry(auto_describe=True)
METHODS: Final = frozenset({"GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH"})
_SHORT: Final = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
_LONG: Final = (1.0, 10.0, 60.0, 600.0, 3600.0, 21_600.0, 86_400.0, 604_800.0)

REQUESTS: Final = Counter(
    "privet_requests",
    "Requests answered; status is a class such as 2xx.",
    ["route", "method", "status"],
    registry=REGISTRY,
)
REQUEST_SECONDS: Final = Histogram(
    "privet_request_seconds",
    "From a request's first byte to its answer's last; of a long poll with its wait.",
    ["route", "method"],
    buckets=(*_SHORT, 30.0),
    registry=REGISTRY,
)
REFUSALS: Final = Counter(
    "privet_refusals", "Requests refused, by the code of their problem.", ["code"], registry=REGISTRY
)
MESSAGES: Final = Counter(
    "privet_messages",
    "Signed messages of agents whose signature held; code is accepted, or why not.",
    ["type", "code"],
    registry=REGISTRY,
)
STATE_SECONDS: Final = Histogram(
    "privet_job_state_seconds",
    "How long jobs waited in a state before the next one; a round is COLLECTING, OPENING and DECIDING.",
    ["state"],
    buckets=_LONG,
    registry=REGISTRY,
)
SUM_CPU_SECONDS: Final = Counter(
    "privet_sum_cpu_seconds", "CPU time spent on sums of rounds.", registry=REGISTRY
)
RELAY_FRAMES: Final = Counter("privet_relay_frames", "Sealed frames passed on here.", registry=REGISTRY)
RELAY_BYTES: Final = Counter("privet_relay_bytes", "Bytes of these frames.", registry=REGISTRY)
READ_SECONDS: Final = Histogram(
    "privet_database_read_seconds", "Transactions that read.", buckets=_SHORT, registry=REGISTRY
)
WRITE_SECONDS: Final = Histogram(
    "privet_database_write_seconds", "Transactions that write.", buckets=_SHORT, registry=REGISTRY
)
WORKER_RUNS: Final = Counter(
    "privet_worker_runs", "Turns of the background work.", ["worker"], registry=REGISTRY
)
WORKER_FAILURES: Final = Counter(
    "privet_worker_failures", "Turns that ended in an error.", ["worker"], registry=REGISTRY
)
WORKER_SECONDS: Final = Counter(
    "privet_worker_seconds", "Time that the background work took.", ["worker"], registry=REGISTRY
)


def count_request(route: str, method: str, status: int, seconds: float, code: str | None) -> str:
    """One request that was answered. Args: route: its template. code: of the problem, if it was refused.

    Returns: the method, or `other` for one that is not in use.
    """
    known = method if method in METHODS else "other"
    REQUESTS.labels(route, known, f"{status // 100}xx").inc()
    REQUEST_SECONDS.labels(route, known).observe(seconds)
    if code is not None:
        REFUSALS.labels(code).inc()
    return known


def count_message(kind: str, refused: ErrorCode | None) -> None:
    """One message whose signature held."""
    MESSAGES.labels(kind, "accepted" if refused is None else refused.value).inc()


def count_frame(size: int) -> None:
    """One sealed frame that was passed on."""
    RELAY_FRAMES.inc()
    RELAY_BYTES.inc(size)


def count_sum(microseconds: int) -> None:
    """One sum of a round."""
    SUM_CPU_SECONDS.inc(microseconds / 1e6)


def count_state(news: News) -> None:
    """A step that was committed, for how long the job had been in the state that it left."""
    if news.left is not None:
        state, seconds = news.left
        STATE_SECONDS.labels(state).observe(seconds)


def watch(database: Database) -> None:
    """Time the transactions of a database from now on, for `/metrics` and for traces."""
    database.observe = _took


def _took(kind: str, seconds: float) -> None:
    (READ_SECONDS if kind == "read" else WRITE_SECONDS).observe(seconds)
    TRACES.done(f"database {kind}", seconds)


@contextmanager
def turn_of(worker: str) -> Iterator[None]:
    """One turn of the background work."""
    began = perf_counter()
    WORKER_RUNS.labels(worker).inc()
    try:
        yield
    except Exception:
        WORKER_FAILURES.labels(worker).inc()
        raise
    finally:
        WORKER_SECONDS.labels(worker).inc(perf_counter() - began)
