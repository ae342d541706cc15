"""The cloud's spans. What one may be called and carry is listed in `shared.protocol.tracing`."""

from __future__ import annotations

from typing import Final

from machine.traces import Traces
from shared.protocol.tracing import SPANS, allowed

TRACES: Final = Traces(SPANS, allowed, number="C023")
