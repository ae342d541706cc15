"""Wait for what comes about by itself."""

from __future__ import annotations

import time
from collections.abc import Callable

_LOOK_SECONDS = 0.01


def until(condition: Callable[[], object], what: str = "", *, seconds: float = 30.0) -> None:
    """Look until it holds; fails after `seconds`, and says `what` was waited for."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, what or f"not so after {seconds} s"
        time.sleep(_LOOK_SECONDS)
