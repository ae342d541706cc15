"""Messages that many fetch within seconds: bytes of the newest broadcasts, so that a large one is read once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

MAX_BYTES: Final = 2**24
"""Of all messages that are kept."""
MOST_BYTES: Final = 2**21
"""Longer ones are read anew each time, so that a few do not put out all others."""


class RecentMessages:
    """By the id in the outbox, which names the same bytes for ever. A cache of one process and one database."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, bytes] = OrderedDict()
        self._lock = threading.Lock()
        self.length = 0

    def of(self, ids: Iterable[int]) -> dict[int, bytes]:
        """Those of the messages that are here."""
        with self._lock:
            return {number: self._kept[number] for number in ids if number in self._kept}

    def put(self, number: int, raw: bytes) -> None:
        """Keep one; the oldest go."""
        if len(raw) > MOST_BYTES:
            return
        with self._lock:
            if number in self._kept:
                return
            self._kept[number] = raw
            self.length += len(raw)
            while self.length > MAX_BYTES:
                self.length -= len(self._kept.popitem(last=False)[1])
