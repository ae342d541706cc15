"""Spans for OpenTelemetry, where `[telemetry] endpoint` names a collector; otherwise nothing is measured or loaded.

What a span may be called and carry is listed in `shared.protocol.tracing`; the rest is dropped here.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from shared.errors import InputError
from shared.protocol.tracing import SPANS, TRACE_HEADER, allowed, is_traceparent

_NANOSECONDS: Final = 1_000_000_000
_EXPORT_SECONDS: Final = 5
_tracer: Any = None


@contextmanager
def exporting(endpoint: str, service: str) -> Iterator[None]:
    """Send spans to a collector by OTLP over HTTP while the context lasts; an empty endpoint sends none.

    Raises: InputError: OpenTelemetry is not installed.
    """
    global _tracer
    if not endpoint:
        yield
        return
    provider = _provider(endpoint, service)
    _tracer = provider.get_tracer("privet")
    try:
        yield
    finally:
        _tracer = None
        provider.shutdown()


def check(endpoint: str) -> None:
    """Raises: InputError: a collector is named, and OpenTelemetry is not installed."""
    if endpoint:
        _load()


def _load() -> tuple[Any, Any, Any, Any]:
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise InputError(
            "a collector of traces is named, and OpenTelemetry is not installed",
            where="telemetry.endpoint",
            remedy="Install privet with the extra `otel`, or leave the setting out.",
            number="C023",
        ) from None
    return OTLPSpanExporter, Resource, TracerProvider, BatchSpanProcessor


def _provider(endpoint: str, service: str) -> Any:
    exporter, resource, provider, processor = _load()
    # A collector that is away is no reason for lines of another form in the log, nor for any trouble here.
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL + 1)
    made = provider(resource=resource({"service.name": service}), shutdown_on_exit=False)
    sender = exporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces", timeout=_EXPORT_SECONDS)
    made.add_span_processor(processor(sender))
    return made


@contextmanager
def span(name: str, attributes: dict[str, Any] | None = None, *, parent: str = "") -> Iterator[None]:
    """One piece of work. `attributes` are read at its end, so that the work may add to them.

    Args: parent: the `traceparent` of whoever asked for it, as it came.
    """
    if _tracer is None or name not in SPANS:
        yield
        return
    with _tracer.start_as_current_span(
        name, context=_context(parent), record_exception=False, set_status_on_exception=False
    ) as current:
        try:
            yield
        finally:
            current.set_attributes(allowed(attributes or {}))


def done(name: str, seconds: float) -> None:
    """A piece of work that ended just now."""
    if _tracer is not None and name in SPANS:
        end = time.time_ns()
        _tracer.start_span(name, start_time=end - int(seconds * _NANOSECONDS)).end(end)


def _context(parent: str) -> Any:
    if not is_traceparent(parent):
        return None
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    return TraceContextTextMapPropagator().extract({TRACE_HEADER: parent})
