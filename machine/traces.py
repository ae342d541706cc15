"""Spans for OpenTelemetry, where a collector is named; otherwise nothing is measured or loaded.

What a span may be called and carry is handed in; everything else is dropped here.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from shared.errors import InputError

_HEADER: Final = "traceparent"
_NANOSECONDS: Final = 1_000_000_000
_EXPORT_SECONDS: Final = 5


@dataclass(slots=True)
class Traces:
    """The spans of one program.

    `names`: those that a span may have; `allowed`: what may stay of its attributes; `number`: of the error that
    OpenTelemetry is missing.
    """

    names: Collection[str]
    allowed: Callable[[Mapping[str, Any]], dict[str, Any]]
    number: str
    _tracer: Any = field(default=None, repr=False)

    @contextmanager
    def exporting(self, endpoint: str, service: str) -> Iterator[None]:
        """Send spans to a collector by OTLP over HTTP while the context lasts; an empty endpoint sends none.

        Raises: InputError: OpenTelemetry is not installed.
        """
        if not endpoint:
            yield
            return
        provider = self._provider(endpoint, service)
        self._tracer = provider.get_tracer("privet")
        try:
            yield
        finally:
            self._tracer = None
            provider.shutdown()

    def check(self, endpoint: str) -> None:
        """Raises: InputError: a collector is named, and OpenTelemetry is not installed."""
        if endpoint:
            self._load()

    @contextmanager
    def span(
        self, name: str, attributes: Mapping[str, Any] | None = None, *, parent: str = ""
    ) -> Iterator[None]:
        """One piece of work. `attributes` are read at its end, so that the work may add to them.

        Args: parent: a valid `traceparent` of whoever asked for it; empty: nobody did.
        """
        if self._tracer is None or name not in self.names:
            yield
            return
        with self._tracer.start_as_current_span(
            name, context=_context(parent), record_exception=False, set_status_on_exception=False
        ) as current:
            try:
                yield
            finally:
                current.set_attributes(self.allowed(attributes or {}))

    def done(self, name: str, seconds: float) -> None:
        """A piece of work that ended just now."""
        if self._tracer is not None and name in self.names:
            end = time.time_ns()
            self._tracer.start_span(name, start_time=end - int(seconds * _NANOSECONDS)).end(end)

    def headers(self) -> dict[str, str]:
        """What a request carries so that its spans elsewhere join those here; nothing while none is open."""
        if self._tracer is None:
            return {}
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        carrier: dict[str, str] = {}
        TraceContextTextMapPropagator().inject(carrier)
        return {_HEADER: carrier[_HEADER]} if _HEADER in carrier else {}

    def _load(self) -> tuple[Any, Any, Any, Any]:
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
                number=self.number,
            ) from None
        return OTLPSpanExporter, Resource, TracerProvider, BatchSpanProcessor

    def _provider(self, endpoint: str, service: str) -> Any:
        exporter, resource, provider, processor = self._load()
        # A collector that is away is no reason for lines of another form in the log, nor for any trouble here.
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL + 1)
        made = provider(resource=resource({"service.name": service}), shutdown_on_exit=False)
        sender = exporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces", timeout=_EXPORT_SECONDS)
        made.add_span_processor(processor(sender))
        return made


def _context(parent: str) -> Any:
    if not parent:
        return None
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    return TraceContextTextMapPropagator().extract({_HEADER: parent})
