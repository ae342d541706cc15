"""CPU time by part, taken by wrapping the product's own functions while a block runs.

A part inside another is charged to itself only. One thread at a time: the meter has one stack.
"""

from __future__ import annotations

import inspect
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import wraps
from time import process_time
from typing import Any
from unittest.mock import patch


@dataclass(slots=True)
class Meter:
    """`seconds`: CPU seconds of this process by part. `counts`: whatever the probes noted."""

    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    counts: Counter[str] = field(default_factory=Counter)
    _inner: list[float] = field(default_factory=list)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Charge the block's CPU time, less that of parts inside it."""
        self._inner.append(0.0)
        start = process_time()
        try:
            yield
        finally:
            spent = process_time() - start
            self.seconds[name] += spent - self._inner.pop()
            if self._inner:
                self._inner[-1] += spent

    def total(self, parts: Sequence[str]) -> float:
        """CPU seconds of these parts."""
        return sum(self.seconds[part] for part in parts)


@dataclass(frozen=True, slots=True)
class Probe:
    """Where to measure: attribute `name` of a module or class. `note` counts from (counts, arguments, result)."""

    owner: Any
    name: str
    part: str
    note: Callable[[Counter[str], tuple[Any, ...], Any], None] | None = None

    def wrapped(self, meter: Meter) -> Any:
        """The function as it is, with the meter around it."""
        original = getattr(self.owner, self.name)

        @wraps(original)
        def measured(*args: Any, **options: Any) -> Any:
            with meter.part(self.part):
                result = original(*args, **options)
            if self.note is not None:
                self.note(meter.counts, args, result)
            return result

        is_bound = isinstance(inspect.getattr_static(self.owner, self.name), classmethod)
        return staticmethod(measured) if is_bound else measured


@contextmanager
def metered(meter: Meter, probes: Sequence[Probe]) -> Iterator[None]:
    """Measure at these places while the block runs."""
    with ExitStack() as stack:
        for probe in probes:
            stack.enter_context(patch.object(probe.owner, probe.name, probe.wrapped(meter)))
        yield
