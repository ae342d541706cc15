"""One request to the cloud and its answer, as told to whoever watches: the log, `/metrics`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request. `kind`: a message's type, or `poll`, `registration` and the like. `request`: its `X-Request-ID`.

    `status`: of the answer; None: none came. `seconds`: from its sending to the answer's end.
    """

    kind: str
    request: str
    status: int | None
    seconds: float


Observer = Callable[[Exchange], None]
"""Told of each exchange, in the thread that carries it out."""
