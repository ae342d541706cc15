"""What a FHIRPath of a mapping may cost: time, items and letters, so that no study's document can hold an agent up.

The engine's table of functions and operators is wrapped once, for no loop of a path goes round without one of them; it
counts in threads within `bounded` only. Regular expressions are refused there: a bad one cannot be interrupted, and
holds up every thread of the agent meanwhile. So is what asks the clock: the same resources must give the same record.
"""

from __future__ import annotations

import importlib
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from functools import wraps
from typing import Any, Final

MAX_SECONDS: Final = 0.5
"""Of the processor, for one path on one resource; usual ones take a few milliseconds."""
MAX_QUESTION_SECONDS: Final = 5.0
"""Of the processor, for all paths on all resources of one patient: ten thousand costly ones would take an hour."""
MAX_ITEMS: Final = 2_000
MAX_LETTERS: Final = 1_000_000
MAX_BITS: Final = 4_096
MAX_DIGITS: Final = 1_000
CLOCK: Final = ("now", "today", "timeOfDay")
EXPRESSIONS: Final = ("matches", "matchesFull", "replaceMatches")


class TooCostlyError(Exception):
    """A path that would take too long, or whose values grow too large."""


_running = threading.local()
_wrapped: set[str] = set()
_wrapping = threading.Lock()


@contextmanager
def one_question() -> Iterator[None]:
    """While all paths are evaluated on the resources of one patient, in this thread."""
    _running.question_ends = time.thread_time() + MAX_QUESTION_SECONDS
    try:
        yield
    finally:
        del _running.question_ends


@contextmanager
def bounded() -> Iterator[None]:
    """While one path is evaluated on one resource, in this thread. Raises: TooCostlyError: no time left for it."""
    _wrap_all()
    if is_question_over():
        raise TooCostlyError
    _running.ends = min(time.thread_time() + MAX_SECONDS, _question_ends())
    try:
        yield
    finally:
        del _running.ends


def is_question_over() -> bool:
    """Whether the paths together have taken all the time of one question."""
    return time.thread_time() > _question_ends()


def _question_ends() -> float:
    ends: float = getattr(_running, "question_ends", math.inf)
    return ends


def _wrap_all() -> None:
    known = importlib.import_module("fhirpathpy.engine.invocations").invocation_registry
    with _wrapping:
        for name, entry in known.items():
            if name not in _wrapped and "fn" in entry:
                entry["fn"] = _counted(entry["fn"], is_refused=name in (*CLOCK, *EXPRESSIONS))
                _wrapped.add(name)


def _counted(function: Callable[..., Any], *, is_refused: bool) -> Callable[..., Any]:
    @wraps(function)  # the engine knows one of them by its name
    def call(*arguments: Any) -> Any:
        ends = getattr(_running, "ends", None)
        if ends is None:
            return function(*arguments)
        if is_refused or time.thread_time() > ends:
            raise TooCostlyError
        for argument in arguments[1:]:  # the first is the engine's state
            _check(argument)
        found = function(*arguments)
        _check(found)
        return found

    return call


def _check(values: Any) -> None:
    """What doubles with each step is stopped while it is small."""
    items = values if isinstance(values, list) else [values]
    if len(items) > MAX_ITEMS or any(map(_is_huge, items)):
        raise TooCostlyError


def _is_huge(item: Any) -> bool:
    """Args: item: a value, or the engine's node around one."""
    value = getattr(item, "data", item)
    if isinstance(value, str):
        return len(value) > MAX_LETTERS
    if isinstance(value, Decimal):
        return value.is_finite() and abs(value.adjusted()) > MAX_DIGITS
    return isinstance(value, int) and value.bit_length() > MAX_BITS
