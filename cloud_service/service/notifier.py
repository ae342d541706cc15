"""Wakes those who wait for news: long polls of agents and event streams of people.

Waiting happens on the event loop, news come from worker threads. A hint only: whoever is woken reads the database.
Those who wait at another replica are woken by `cloud_service.service.hints`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final

EVERYTHING: Final = "*"


def inbox_of(agent: str) -> str:
    """The key under which an agent's long polls wait."""
    return f"inbox {agent}"


def story_of(job: str) -> str:
    """The key under which watchers of a job wait."""
    return f"job {job}"


class Notifier:
    """Keys to waiting events. `attach` once, on the loop that the waiting happens on."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self.is_closed = False
        self.is_draining = False
        self.spread: Callable[[frozenset[str]], None] | None = None

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin; before this, `wake` has nobody to wake."""
        self._loop = loop
        self.is_closed = self.is_draining = False

    def drain(self) -> None:
        """The server is about to stop: it serves on, but is not ready for more."""
        self.is_draining = True

    def close(self) -> None:
        """Let everybody go, now and from now on, so that the server can stop at once."""
        self.is_closed = self.is_draining = True
        self.wake_here([EVERYTHING])

    def detach(self) -> None:
        """The loop ends."""
        self._loop = None

    def wake(self, keys: Iterable[str]) -> None:
        """Wake all who wait under one of the keys, at every replica; from any thread."""
        woken = frozenset(keys)
        self.wake_here(woken)
        if woken and self.spread is not None:
            self.spread(woken)

    def wake_here(self, keys: Iterable[str]) -> None:
        """The same in this process only."""
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._set, frozenset(keys))

    def _set(self, keys: frozenset[str]) -> None:
        for key in list(self._waiting) if EVERYTHING in keys else keys:
            for event in self._waiting.get(key, ()):
                event.set()

    @contextmanager
    def listening(self, key: str) -> Iterator[asyncio.Event]:
        """An event that is set by news under `key` from now on; clear it before looking."""
        event = asyncio.Event()
        self._waiting.setdefault(key, set()).add(event)
        try:
            yield event
        finally:
            others = self._waiting[key]
            others.discard(event)
            if not others:
                del self._waiting[key]

    def listeners(self, beginning: str) -> int:
        """How many wait here under keys that begin so."""
        return sum(len(events) for key, events in list(self._waiting.items()) if key.startswith(beginning))

    async def wait(self, event: asyncio.Event, seconds: float) -> None:
        """Until news, the end of the time, or the end of the server."""
        if self.is_closed:
            return
        try:
            await asyncio.wait_for(event.wait(), seconds)
        except TimeoutError:
            return
