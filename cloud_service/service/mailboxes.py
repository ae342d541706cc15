"""Sealed frames that wait in memory for one member of a job: bounded for each sender, counted, never looked into.

Everything here runs on the event loop. What does not fit waits (back-pressure) while the receiver is there to take,
and is dropped when it is not, or not fast enough: the links between agents send again what was not acknowledged.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from shared.ids import AgentId
from shared.wire.relay import packed_bytes

HELD_BYTES: Final = 16 * 2**20
"""Of one sender for one receiver."""
ALL_HELD_BYTES: Final = 512 * 2**20
"""Of everybody, in this process."""
PATIENCE_SECONDS: Final = 10.0
"""How long a sender is held back by a receiver that takes, but slowly."""


@dataclass(slots=True)
class PairFigures:
    """What passed from one member to another: never content. `latest`: Unix seconds."""

    frames: int = 0
    bytes: int = 0
    lost: int = 0
    latest: int = 0


class Store:
    """How much all mailboxes hold together."""

    def __init__(self, limit: int = ALL_HELD_BYTES) -> None:
        self.limit = limit
        self.held = 0


class Mailbox:
    """Parcels for one member, oldest first. One reader at a time: the newest takes the place of the one before.

    Args: figures: what passed before, to be added to.
    """

    def __init__(
        self, store: Store, clock: Callable[[], int], figures: dict[AgentId, PairFigures] | None = None
    ) -> None:
        self._store = store
        self._clock = clock
        self._parcels: deque[tuple[AgentId, bytes]] = deque()
        self._held: dict[AgentId, int] = {}
        self._freed = asyncio.Event()
        self._news: asyncio.Event | None = None
        self._is_stalled = False
        self._batch = 0
        self._handed_out: list[bytes] = []
        self.figures: dict[AgentId, PairFigures] = {} if figures is None else figures
        self.is_closed = False
        self.has_moved = False

    def attach(self, news: asyncio.Event) -> None:
        """A reader has come; it is told by `news`, and who read before is told that it was replaced."""
        if self._news is not None:
            self._news.set()
        self._news = news
        news.set()

    def detach(self, news: asyncio.Event) -> None:
        """The reader has gone, if it was still the reader. Who waits for room need not wait for it any more."""
        if self._news is news:
            self._news = None
            self._freed.set()

    def is_reader(self, news: asyncio.Event) -> bool:
        """Whether nobody took the place since."""
        return self._news is news

    async def put(self, sender: AgentId, parcel: bytes) -> None:
        """Let one parcel wait here; holds the sender back while there is no room, and drops it at the end."""
        figures = self.figures.setdefault(sender, PairFigures())
        size = len(parcel)
        if not self._fits(sender, size) and not await self._room(sender, size):
            figures.lost += 1
            return
        self._held[sender] = self._held.get(sender, 0) + size
        self._store.held += size
        self._parcels.append((sender, parcel))
        figures.frames += 1
        figures.bytes += size
        figures.latest = self._clock()
        if self._news is not None:
            self._news.set()

    def take(self, max_bytes: int) -> list[bytes]:
        """The oldest parcels, together at most `max_bytes` as a batch, but one at least if there is one."""
        taken: list[bytes] = []
        total = 0
        while self._parcels:
            sender, parcel = self._parcels[0]
            total += packed_bytes(parcel)
            if taken and total > max_bytes:
                break
            self._parcels.popleft()
            self._held[sender] -= len(parcel)
            self._store.held -= len(parcel)
            taken.append(parcel)
        self._is_stalled = False
        if taken:
            self._freed.set()
        return taken

    def take_batch(self, after: int, max_bytes: int) -> tuple[int, list[bytes]]:
        """The same with a number: a batch whose number the next request does not name is handed out again."""
        if after == self._batch:
            self._let_go()
        if not self._handed_out:
            self._handed_out = self.take(max_bytes)
            self._store.held += sum(map(len, self._handed_out))
            self._batch += bool(self._handed_out)
        return self._batch, self._handed_out

    def _let_go(self) -> None:
        self._store.held -= sum(map(len, self._handed_out))
        self._handed_out = []

    def close(self) -> None:
        """Drop everything and let everybody go: the job is over."""
        self.is_closed = True
        self._store.held -= sum(self._held.values())
        self._held.clear()
        self._parcels.clear()
        self._let_go()
        self._freed.set()
        if self._news is not None:
            self._news.set()

    def move(self) -> None:
        """The same, but the job goes on: its frames are at another replica from now on."""
        self.has_moved = True
        self.close()

    def _fits(self, sender: AgentId, size: int) -> bool:
        return (
            not self.is_closed
            and self._held.get(sender, 0) + size <= HELD_BYTES
            and self._store.held + size <= self._store.limit
        )

    async def _room(self, sender: AgentId, size: int) -> bool:
        end = asyncio.get_running_loop().time() + PATIENCE_SECONDS
        while not self._fits(sender, size):
            left = end - asyncio.get_running_loop().time()
            if self._news is None or self.is_closed or self._is_stalled:
                return False
            self._freed.clear()
            try:
                await asyncio.wait_for(self._freed.wait(), left)
            except TimeoutError:
                # Nobody waits again for a reader who is there by name only, until it takes something.
                self._is_stalled = True
        return True
