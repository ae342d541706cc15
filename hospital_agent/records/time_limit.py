"""A limit on one step of a command that people run: an expression of theirs may go on for ever."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Never

from shared.errors import InputError


class _OverdueError(BaseException):
    """No Exception, so that nothing between here and there takes it for one of its own."""


@contextmanager
def at_most(seconds: float, where: str, remedy: str) -> Iterator[None]:
    """End the block after so many seconds of wall time; of the main thread alone, as signals are.

    Raises: InputError: it took longer.
    """
    before = signal.signal(signal.SIGALRM, _end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except _OverdueError:
        raise InputError(f"took longer than {seconds:g} seconds", where=where, remedy=remedy) from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _end(_number: int, _frame: FrameType | None) -> Never:
    raise _OverdueError
