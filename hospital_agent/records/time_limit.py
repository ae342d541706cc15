"""A limit on one step of a command that people run: an expression of theirs may go on for ever."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from shared.errors import InputError

_AGAIN_SECONDS: Final = 0.1


class _OverdueError(BaseException):
    """No Exception, so that nothing between here and there takes it for one of its own."""


@contextmanager
def at_most(seconds: float, where: str, remedy: str) -> Iterator[None]:
    """End the block after so many seconds of wall time; of the main thread alone, as signals are.

    Raises: InputError: it took longer.
    """
    armed: list[bool] = [True]
    fired: list[bool] = []

    def end(_number: int, _frame: FrameType | None) -> None:
        if armed:
            fired.append(True)
            raise _OverdueError

    before = signal.signal(signal.SIGALRM, end)
    try:
        try:
            # Again and again: an alarm that falls into a finalizer is lost.
            signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN_SECONDS)
            yield
        finally:
            armed.clear()
    except (_OverdueError, Exception):
        armed.clear()
        if not fired:
            raise
        # What was interrupted may have said something of its own instead.
        raise InputError(f"took longer than {seconds:g} seconds", where=where, remedy=remedy) from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
