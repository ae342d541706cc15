"""Logs as JSON lines on standard error. Only the keys listed here are ever written, whatever a caller passes.

Every line that is written while a request is served names the request: by the `X-Request-ID` that came, or a new one.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

import structlog

ALLOWED: Final = frozenset(
    {
        "event",
        "level",
        "timestamp",
        "request",
        "method",
        "route",
        "status",
        "job",
        "agent",
        "code",
        "round",
        "attempt",
        "type",
        "milliseconds",
        "error",
        "host",
        "port",
        "version",
        "until",
        "remedy",
    }
)


_about: ContextVar[dict[str, Any] | None] = ContextVar("about", default=None)


@contextmanager
def request_named(request: str) -> Iterator[dict[str, Any]]:
    """While one request is served, every line names it; gives what its last line will add, which `about` fills."""
    particulars: dict[str, Any] = {}
    token = _about.set(particulars)
    try:
        with structlog.contextvars.bound_contextvars(request=request):
            yield particulars
    finally:
        _about.reset(token)


def about(**particulars: Any) -> None:
    """Say of the request that is being served whom and which job it is about, in whatever thread that is found out."""
    held = _about.get()
    if held is not None:
        held.update(particulars)


def add_particulars(_logger: object, _name: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A processor: what is known of the request, where the line does not say it itself."""
    for name, value in (_about.get() or {}).items():
        event.setdefault(name, value)
    return event


def keep_allowed(_logger: object, _name: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """The last processor before the renderer: drop what is not on the list."""
    return {key: value for key, value in event.items() if key in ALLOWED}


def configure(level: int = logging.INFO) -> None:
    """Set up structlog for this process."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            add_particulars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            keep_allowed,
            structlog.processors.JSONRenderer(sort_keys=True),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        # Looked up at every line: whoever replaces standard error gets what follows.
        logger_factory=lambda *_names: structlog.WriteLogger(sys.stderr),
        cache_logger_on_first_use=False,
    )
