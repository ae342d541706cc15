"""How one request is recognised in the logs of both programs, and what a trace may say of it.

An agent names each request by `X-Request-ID`, the cloud repeats the name in its answer and in its log. `traceparent` is
W3C's Trace Context. Neither is signed, and nothing is decided by them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

REQUEST_HEADER: Final = "x-request-id"
TRACE_HEADER: Final = "traceparent"
_REQUEST: Final = re.compile(r"[0-9A-Za-z_-]{8,64}")
_TRACE: Final = re.compile(r"00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")

ATTRIBUTES: Final = frozenset(
    {"http.request.method", "http.route", "http.response.status_code", "privet.type", "privet.code"}
)
"""Every attribute that a span may have: templates and words of closed lists, never who, which job or how many."""
SPANS: Final = frozenset(
    {"request", "message step", "sum", "database read", "database write", "agent turn", "agent request"}
)
"""Every name that a span may have."""


def is_request_id(text: str) -> bool:
    """Whether somebody else's name for a request may stand in a log."""
    return _REQUEST.fullmatch(text) is not None


def is_traceparent(text: str) -> bool:
    """Whether it has the form of W3C's Trace Context."""
    return _TRACE.fullmatch(text) is not None


def allowed(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes that a span may have; others are dropped, and those that say nothing."""
    return {name: value for name, value in attributes.items() if name in ATTRIBUTES and value is not None}
