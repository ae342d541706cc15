"""Large answers packed once, however many hospitals fetch them: a broadcast goes to all of a job within seconds."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final

LEAST_BYTES: Final = 2**14
"""Shorter ones are packed sooner than they are looked for."""
MAX_BYTES: Final = 2**24
"""Of all packed answers that are kept."""
MOST_BYTES: Final = 2**22
"""Longer ones are not kept, so that a few do not put out all others."""


class Packing:
    """Packs each body once while it is in demand; the same one that several ask for at once, by the first of them."""

    def __init__(self, pack: Callable[[bytes], bytes]) -> None:
        self._pack = pack
        self._kept: OrderedDict[bytes, Future[bytes]] = OrderedDict()
        self._lock = threading.Lock()
        self.length = 0

    def packed(self, body: bytes) -> bytes:
        """The body, packed. Waits in a worker thread, never on the event loop."""
        if not LEAST_BYTES <= len(body) <= MOST_BYTES:
            return self._pack(body)
        name = hashlib.sha256(body).digest()
        with self._lock:
            known = self._kept.get(name)
            if known is not None:
                self._kept.move_to_end(name)
            else:
                mine = self._kept[name] = Future[bytes]()
        return known.result() if known is not None else self._fill(name, mine, body)

    def _fill(self, name: bytes, mine: Future[bytes], body: bytes) -> bytes:
        try:
            packed = self._pack(body)
        except BaseException as error:
            with self._lock:
                del self._kept[name]
            mine.set_exception(error)
            raise
        with self._lock:
            mine.set_result(packed)
            self.length += len(packed)
            while self.length > MAX_BYTES:
                self._drop_oldest()
        return packed

    def _drop_oldest(self) -> None:
        oldest = next(name for name, work in self._kept.items() if work.done())
        self.length -= len(self._kept.pop(oldest).result())
