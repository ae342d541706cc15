"""How many bytes went over the wire, by message type.

Bodies are counted as they travel (after compression). Headers are counted as HTTP/1.1 writes them: request or
status line, and `name: value` with its line end. TLS records and TCP are not counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

_LINE_END = 2
_STATUS_LINE = len("HTTP/1.1 200 \r\n")


@dataclass(slots=True)
class Traffic:
    """Bytes by message type: `sent` and `received`, headers included; `headers` is their part of both."""

    sent: dict[str, int] = field(default_factory=dict)
    received: dict[str, int] = field(default_factory=dict)
    headers: int = 0

    def add_request(self, kind: str, request: httpx.Request) -> None:
        """One request as it was sent."""
        line = len(f"{request.method}  HTTP/1.1") + len(request.url.raw_path) + _LINE_END
        head = line + _header_bytes(request.headers)
        self.headers += head
        self.sent[kind] = self.sent.get(kind, 0) + head + len(request.content)

    def add_response(self, kind: str, response: httpx.Response) -> None:
        """One response as it came; its body must have been read."""
        head = _STATUS_LINE + len(response.reason_phrase) + _header_bytes(response.headers)
        self.headers += head
        self.received[kind] = self.received.get(kind, 0) + head + response.num_bytes_downloaded

    def move(self, source: str, shares: Mapping[str, int]) -> None:
        """Book received bytes under the types of the messages that an answer carried."""
        for kind, size in shares.items():
            self.received[kind] = self.received.get(kind, 0) + size
            self.received[source] = self.received.get(source, 0) - size

    def drain(self) -> dict[str, Any]:
        """The figures since the last call, which start again at zero."""
        figures = {"sent": self.sent, "received": self.received, "headers": self.headers}
        self.sent, self.received, self.headers = {}, {}, 0
        return figures


def _header_bytes(headers: httpx.Headers) -> int:
    return sum(len(name) + len(value) + len(": ") + _LINE_END for name, value in headers.raw) + _LINE_END
