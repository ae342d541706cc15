"""When a request is sent again: transport errors, 429, 502, 503 and 504, with full jitter (protocol rule A5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import stamina

from shared.errors import TemporaryError
from shared.rng import random_below

_GRAIN: Final = 1000

# The daemon says itself what it waits for; the library's own log lines would go to standard output.
stamina.instrumentation.set_on_retry_hooks(())


class BusyError(TemporaryError):
    """A request that may succeed when it is sent again. `cut`: something on the way ended it, not the cloud."""

    def __init__(self, message: str, *, retry_after_seconds: float | None = None, cut: bool = False) -> None:
        super().__init__(message, retry_after_seconds=retry_after_seconds)
        self.cut = cut


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait between tries, and in all before the caller gets its turn again. Seconds."""

    first_seconds: float = 1.0
    most_seconds: float = 60.0
    total_seconds: float = 300.0


class FullJitter:
    """Waits drawn evenly between 0 and a bound that doubles from `first_seconds` to `most_seconds`."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._tries = 0

    def next_wait(self, retry_after_seconds: float | None = None) -> float:
        """Seconds until the next try; what the cloud asked for comes on top of the jitter."""
        bound: float = min(self._patience.most_seconds, self._patience.first_seconds * 2**self._tries)
        self._tries = min(self._tries + 1, 32)
        jitter = bound * random_below(_GRAIN + 1) / _GRAIN
        asked = min(retry_after_seconds or 0.0, self._patience.most_seconds)
        return min(asked + jitter, self._patience.most_seconds)


def retrying(patience: Patience) -> Iterator[stamina.Attempt]:
    """Attempts until one succeeds or the patience ends."""
    jitter = FullJitter(patience)

    def wait_before_retry(error: Exception) -> float | bool:
        return jitter.next_wait(error.retry_after_seconds) if isinstance(error, BusyError) else False

    yield from stamina.retry_context(on=wait_before_retry, attempts=None, timeout=patience.total_seconds)
