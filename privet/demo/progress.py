"""The demo's live progress, on standard error: a spinner in a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console


def _stderr_console() -> Console:
    return Console(stderr=True, highlight=False, emoji=False)


@dataclass(slots=True)
class Progress:
    """Tells a person what is happening. Texts are plain: square brackets are not read as markup."""

    console: Console = field(default_factory=_stderr_console)

    @contextmanager
    def step(self, text: str) -> Iterator[None]:
        """One part of the story: shown while it runs, and with its seconds when it is done."""
        begun = time.monotonic()
        with self.console.status(text, spinner="dots"):
            yield
        self.console.print(f"✓ {text} ({time.monotonic() - begun:.1f} s)", markup=False, soft_wrap=True)

    def line(self, text: str) -> None:
        """Something that has happened within a step."""
        self.console.print(f"  {text}", markup=False, soft_wrap=True)


def plural(count: int, noun: str) -> str:
    """`1 round`, `2 rounds`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
