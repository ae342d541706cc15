"""HTTP on loopback: the demo's only module that opens connections, to the cloud's people's API and the agents' own."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Self

import httpx

from shared.errors import InternalError, TemporaryError

HOST: Final = "127.0.0.1"
_TIMEOUT_SECONDS: Final = 60
_START_SECONDS: Final = 60
START_POLL_SECONDS: Final = 0.1
"""A program needs a second or two to start, on cores that it shares with this poll."""


def free_ports(count: int) -> list[int]:
    """Ports of this machine that were free just now, all different."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind((HOST, 0))
        return [int(each.getsockname()[1]) for each in sockets]
    finally:
        for each in sockets:
            each.close()


@dataclass(slots=True)
class Api:
    """A JSON API at `base_url`; `token` is a person's, where one is needed. Use as a context manager."""

    base_url: str
    token: str = field(default="", repr=False)
    _client: httpx.Client = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Connect past any proxy, since this is the same machine."""
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        self._client = httpx.Client(
            base_url=self.base_url, headers=headers, timeout=_TIMEOUT_SECONDS, trust_env=False
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def get(self, path: str) -> Any:
        """The document at `path`."""
        return self._request("GET", path)

    def post(self, path: str, document: Any) -> Any:
        """What answers a document posted to `path`."""
        return self._request("POST", path, json=document)

    def answers(self, path: str) -> bool:
        """Whether `path` answers 200."""
        try:
            return self._client.get(path).status_code == httpx.codes.OK
        except httpx.TransportError:
            return False

    def stream(self, path: str) -> Iterator[dict[str, Any] | None]:
        """The server-sent events at `path`, each one's data; None for every other line, at least every 15 seconds."""
        try:
            with self._client.stream("GET", path, headers={"Accept": "text/event-stream"}) as response:
                for line in response.iter_lines():
                    yield json.loads(line.removeprefix("data: ")) if line.startswith("data: ") else None
        except httpx.TransportError as error:
            raise self._unreachable(error) from None

    def _request(self, method: str, path: str, **options: Any) -> Any:
        try:
            return self._document(self._client.request(method, path, **options))
        except httpx.TransportError as error:
            raise self._unreachable(error) from None

    def _unreachable(self, error: httpx.TransportError) -> TemporaryError:
        return TemporaryError(f"{self.base_url} cannot be reached: {type(error).__name__}")

    def _document(self, response: httpx.Response) -> Any:
        if response.is_success:
            return response.json()
        problem = response.json() if "json" in response.headers.get("content-type", "") else {}
        detail = problem.get("detail", "") if isinstance(problem, dict) else ""
        text = f"{response.request.method} {response.url.path}: HTTP {response.status_code} {detail}".rstrip()
        if response.status_code in (429, 503):
            raise TemporaryError(text)
        raise InternalError(text)


def wait_until(
    condition: Callable[[], bool],
    what: str,
    check: Callable[[], None],
    poll_seconds: float = START_POLL_SECONDS,
) -> None:
    """Poll until `condition` holds. `check` raises where there is no hope.

    Raises: TemporaryError: it did not within a minute.
    """
    deadline = time.monotonic() + _START_SECONDS
    while not condition():
        check()
        if time.monotonic() > deadline:
            raise TemporaryError(f"{what} did not answer within {_START_SECONDS} seconds")
        time.sleep(poll_seconds)
