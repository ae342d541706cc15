"""What the daemon says while it works: lines for a person, or JSON when nobody watches. Never a count or a value.

Fields that may appear are listed here, and a last processor drops every other, so that a careless call cannot leak.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Final, TextIO

import structlog

from hospital_agent.cloud import Exchange

_FINE: Final = 200
ALLOWED: Final = frozenset(
    {
        "event",
        "level",
        "timestamp",
        "agent",
        "job",
        "study",
        "round",
        "attempt",
        "phase",
        "type",
        "code",
        "seconds",
        "request",
        "status",
        "url",
    }
)


def only_allowed(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> Mapping[str, Any]:
    """The last processor before the renderer."""
    return {key: value for key, value in event.items() if key in ALLOWED}


@dataclass(slots=True)
class Progress:
    """Tells a person (`terminal`) or a log collector what happens.

    `request`: the name of the request to the cloud that the present work follows from, while there is one.
    """

    agent: str
    stream: TextIO = field(default_factory=lambda: sys.stderr)
    terminal: bool | None = None
    request: str = ""
    _logger: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.terminal is None:
            self.terminal = self.stream.isatty()
        self._logger = structlog.wrap_logger(
            structlog.PrintLogger(self.stream),
            processors=[
                structlog.processors.add_log_level,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                only_allowed,
                structlog.processors.JSONRenderer(),
            ],
            wrapper_class=structlog.BoundLogger,
            agent=self.agent,
        )

    def tell(self, text: str, **fields: Any) -> None:
        """A step that went as it should. `text`: a short sentence without values."""
        self._say("info", text, fields)

    def warn(self, text: str, **fields: Any) -> None:
        """Something that a person may want to look at."""
        self._say("warning", text, fields)

    def note(self, exchange: Exchange) -> None:
        """A request to the cloud, for a log collector; a poll that went well is not worth a line."""
        self.request = exchange.request
        if self.terminal or (exchange.kind == "poll" and exchange.status == _FINE):
            return
        more = {} if exchange.status is None else {"status": exchange.status}
        self.tell("request", type=exchange.kind, seconds=round(exchange.seconds, 4), **more)

    def _say(self, level: str, text: str, fields: Mapping[str, Any]) -> None:
        if not self.terminal:
            named = {"request": self.request} if self.request else {}
            getattr(self._logger, level)(text, **{**named, **fields})
            return
        job = f"job {fields['job'][:8]}  " if "job" in fields else ""
        mark = "! " if level == "warning" else ""
        self.stream.write(f"{time.strftime('%H:%M:%S')}  {job}{mark}{text}\n")
        self.stream.flush()
