"""Logs as JSON lines on standard error. Only the keys listed here are ever written, whatever a caller passes."""

from __future__ import annotations

import logging
import sys
from collections.abc import MutableMapping
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
        "milliseconds",
        "error",
        "host",
        "port",
        "version",
        "until",
        "remedy",
    }
)


def keep_allowed(_logger: object, _name: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """The last processor before the renderer: drop what is not on the list."""
    return {key: value for key, value in event.items() if key in ALLOWED}


def configure(level: int = logging.INFO) -> None:
    """Set up structlog for this process."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
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
