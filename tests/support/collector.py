"""A collector of traces: takes OTLP over HTTP, and decodes what comes with OpenTelemetry's own messages."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True)
class Span:
    """One span. Ids are hex; an empty `parent` is none."""

    service: str
    name: str
    trace: str
    id: str
    parent: str
    attributes: dict[str, Any]
    events: int
    status: str


@dataclass
class Collector:
    """What came so far. `resources`: names of attributes of the senders."""

    url: str
    spans: list[Span] = field(default_factory=list)
    resources: set[str] = field(default_factory=set)

    def take(self, raw: bytes) -> None:
        """One export."""
        message = ExportTraceServiceRequest.FromString(raw)
        for part in message.resource_spans:
            about = {pair.key: pair.value.string_value for pair in part.resource.attributes}
            self.resources |= about.keys()
            for scope in part.scope_spans:
                self.spans += [_span(about.get("service.name", ""), one) for one in scope.spans]


def _span(service: str, one: Any) -> Span:
    attributes = {
        pair.key: getattr(pair.value, pair.value.WhichOneof("value") or "string_value")
        for pair in one.attributes
    }
    ids = one.trace_id.hex(), one.span_id.hex(), one.parent_span_id.hex()
    return Span(service, one.name, *ids, attributes, len(one.events), one.status.message)


@contextmanager
def running_collector() -> Iterator[Collector]:
    """A collector on a free port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            """Take one export."""
            body = self.rfile.read(int(self.headers["content-length"]))
            packed = self.headers.get("content-encoding") == "gzip"
            found = self.path == "/v1/traces"
            if found:
                collector.take(gzip.decompress(body) if packed else body)
            self.send_response(200 if found else 404)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_parts: object) -> None:
            """Quietly."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collector = Collector(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        server.server_close()
