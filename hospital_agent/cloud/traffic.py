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
    _newest_body: int = 0

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
        self._newest_body = response.num_bytes_downloaded
        self.received[kind] = self.received.get(kind, 0) + head + response.num_bytes_downloaded

    def share_out(self, body_bytes: int, sizes: Mapping[str, int]) -> None:
        """Book the body of a poll's answer under the types of the messages that it carried.

        Args: body_bytes: as it travelled. sizes: bytes by type before compression, which is shared out evenly.
        """
        whole = sum(sizes.values())
        for kind, size in sizes.items():
            part = body_bytes * size // whole
            self.received[kind] = self.received.get(kind, 0) + part
            self.received["poll"] -= part

    def drain(self) -> dict[str, Any]:
        """The figures since the last call, which start again at zero."""
        figures = {"sent": self.sent, "received": self.received, "headers": self.headers}
        self.sent, self.received, self.headers = {}, {}, 0
        return figures


def _header_bytes(headers: httpx.Headers) -> int:
    return sum(len(name) + len(value) + len(": ") + _LINE_END for name, value in headers.raw) + _LINE_END
