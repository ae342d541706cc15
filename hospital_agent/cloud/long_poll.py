"""The relay by plain requests, for networks whose proxies let no WebSocket through.

Two connections: one asks for frames and waits, one posts them. Each request may be repeated: the cloud keeps a batch
until it is asked for the next one, and links drop what comes twice.
"""

from __future__ import annotations

import threading
from collections import deque
from contextlib import suppress
from typing import Any, Final

import httpx

from hospital_agent.cloud.answers import relay_fault
from hospital_agent.cloud.calls import Calls
from hospital_agent.cloud.carriers import Deliver
from hospital_agent.cloud.connecting import read_capped, reason_of
from hospital_agent.cloud.retries import BusyError, FullJitter, Patience
from shared.errors import ErrorCode, PeerError, PrivetError
from shared.wire.relay import BATCH_HEADER, BATCH_TYPE, MAX_BATCH_BYTES, pack, packed_bytes, unpack

WAIT_SECONDS: Final = 10.0
_SHORTEST_WAIT_SECONDS: Final = 2.0
_TRIES: Final = 4
"""Of one request; afterwards the way counts as cut."""


class LongPollCarrier:
    """Requests by turns (`hospital_agent.cloud.carriers.Carrier`)."""

    def __init__(
        self, asking: httpx.Client, posting: httpx.Client, path: str, calls: Calls, patience: Patience
    ) -> None:
        self._asking = asking
        self._posting = posting
        self._path = path
        self._calls = calls
        self._patience = patience
        self._wait_seconds = WAIT_SECONDS
        self._out: deque[bytes] = deque()
        self._news = threading.Condition()
        self._ending = threading.Event()
        self._is_closing = False
        self._fault: PrivetError | None = None

    def probe(self) -> None:
        """One request that waits for nothing. Raises: BusyError: not now. PeerError: refused."""
        self._request(self._asking, "GET", params={"after": 0, "wait": 0})

    def send(self, parcel: bytes) -> None:
        """Take one parcel for sending, without waiting."""
        with self._news:
            self._out.append(parcel)
            self._news.notify()

    def run(self, deliver: Deliver) -> None:
        """Ask and post until closed. Raises: BusyError: cut. PeerError: refused."""
        poster = threading.Thread(target=self._post_all, name="relay posts", daemon=True)
        poster.start()
        try:
            number = 0
            while not self._ending.is_set():
                number, parcels = self._ask(number)
                for parcel in parcels:
                    deliver(parcel)
        finally:
            self._end()
            poster.join()
            self.discard()
        if self._fault is not None and not self._is_closing:
            raise self._fault

    def discard(self) -> None:
        """Instead of `run`: close at once."""
        self._asking.close()
        self._posting.close()

    def unsent(self) -> list[bytes]:
        """Parcels that no answered request carried."""
        with self._news:
            return list(self._out)

    def close(self) -> None:
        """Send what is left, then let both connections end after the request at hand."""
        self._is_closing = True
        self._end()

    def _end(self) -> None:
        with self._news:
            self._ending.set()
            self._news.notify()

    def _ask(self, after: int) -> tuple[int, list[bytes]]:
        wait = self._wait_seconds
        timeout = httpx.Timeout(wait + 15.0, connect=10.0)
        try:
            response, body = self._request(
                self._asking, "GET", params={"after": after, "wait": wait}, timeout=timeout
            )
        except BusyError as error:
            if error.cut:
                self._wait_seconds = max(_SHORTEST_WAIT_SECONDS, wait / 2)
            raise
        with suppress(KeyError, ValueError, PeerError):
            return int(response.headers[BATCH_HEADER]), [bytes(parcel) for parcel in unpack(body)]
        raise BusyError("the answer is not the relay's", cut=True)

    def _post_all(self) -> None:
        try:
            while batch := self._next_batch():
                headers = {"content-type": BATCH_TYPE}
                self._request(self._posting, "POST", headers, content=pack(batch))
                with self._news:
                    for _ in batch:
                        self._out.popleft()
            if self._is_closing:
                # A newer question lets the one that waits go at once.
                self._request(self._posting, "GET", params={"after": 0, "wait": 0})
        except PrivetError as error:
            self._fault = error
            self._ending.set()

    def _next_batch(self) -> list[bytes]:
        """All that fits into one request; empty at the end."""
        with self._news:
            self._news.wait_for(lambda: self._out or self._ending.is_set())
            if self._ending.is_set() and not self._is_closing:
                return []  # it goes by the next way
            batch: list[bytes] = []
            total = 0
            for parcel in self._out:
                total += packed_bytes(parcel)
                if batch and total > MAX_BATCH_BYTES:
                    break
                batch.append(parcel)
            return batch

    def _request(
        self, http: httpx.Client, method: str, headers: dict[str, str] | None = None, **options: Any
    ) -> tuple[httpx.Response, bytes]:
        """Send until it is answered, a few times. Raises: BusyError, PeerError."""
        jitter = FullJitter(self._patience)
        for tries_left in reversed(range(_TRIES)):
            try:
                return self._once(http, method, {**self._calls.headers(), **(headers or {})}, options)
            except BusyError as busy:
                if not tries_left or self._ending.wait(jitter.next_wait(busy.retry_after_seconds)):
                    raise
            except PeerError as refusal:
                # A clock that is off shows as a bad signature; the answer has brought the right time.
                if refusal.code is not ErrorCode.BAD_SIGNATURE or tries_left < _TRIES - 1:
                    raise
        raise BusyError("the relay does not answer", cut=True)

    def _once(
        self, http: httpx.Client, method: str, headers: dict[str, str], options: dict[str, Any]
    ) -> tuple[httpx.Response, bytes]:
        try:
            with http.stream(method, self._path, headers=headers, **options) as response:
                self._calls.learn(response.headers)
                body = read_capped(response, MAX_BATCH_BYTES)
        except httpx.TransportError as error:
            cut = not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
            raise BusyError(f"the cloud cannot be reached: {reason_of(error)}", cut=cut) from None
        except httpx.DecodingError:
            raise PeerError(ErrorCode.MALFORMED, "the cloud's answer is not in its stated encoding") from None
        if not response.is_success:
            raise relay_fault(response.status_code, response.headers, body)
        return response, body
