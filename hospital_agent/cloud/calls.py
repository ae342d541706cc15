"""The signed call that opens the relay for one job, and the clock by which it is signed."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Final

import httpx

from hospital_agent.cloud.connecting import clock_offset
from shared.protocol.envelopes import Signer
from shared.protocol.polling import RelayCall, sign_call
from shared.wire.relay import RELAY_HEADER

_RENEW_SECONDS: Final = 60.0
"""A call is good for five minutes by the clocks; one is used for many requests."""


@dataclass(slots=True)
class Calls:
    """One agent in one job. Safe to use from several threads."""

    agent: str
    job: str
    signer: Signer
    _offset: float = 0.0
    _made: float = float("-inf")
    _header: str = field(default="", repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def headers(self) -> dict[str, str]:
        """The header of the next request."""
        with self._lock:
            if time.monotonic() - self._made > _RENEW_SECONDS:
                now = max(0, int(time.time() + self._offset))
                self._header = sign_call(RelayCall(agent=self.agent, job=self.job, time=now), self.signer)
                self._made = time.monotonic()
            return {RELAY_HEADER: self._header}

    def learn(self, headers: httpx.Headers) -> None:
        """Correct the clock by an answer; what was signed by a wrong one is not used again."""
        offset = clock_offset(headers)
        with self._lock:
            if offset is not None and abs(offset - self._offset) > 1:
                self._offset, self._made = offset, float("-inf")
