"""The one door to randomness: the operating system's generator (protocol section 2).

Nothing else in `shared` imports `random`, `secrets`, `os` or numpy's generators; pure functions take
what they need as bytes or as a callable of the types below, so that tests pass known values.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

RandomBytes = Callable[[int], bytes]
"""Takes a length, returns that many uniform bytes."""
RandomBelow = Callable[[int], int]
"""Takes a bound, returns a uniform integer in [0, bound)."""


def random_bytes(length: int) -> bytes:
    """Uniform bytes from the operating system."""
    return secrets.token_bytes(length)


def random_below(bound: int) -> int:
    """Uniform integer in [0, bound) from the operating system."""
    return secrets.randbelow(bound)


def random_token() -> str:
    """A URL-safe token of 256 bits for people's API access."""
    return secrets.token_urlsafe(32)
