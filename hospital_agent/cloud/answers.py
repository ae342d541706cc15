"""Reading what the cloud answers: problem documents to errors, the inbox to exact message bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from hospital_agent.cloud.retries import BusyError
from shared.errors import ErrorCode, PeerError, TemporaryError
from shared.wire.base import MAX_INTEGER, check_item_count

_DEFAULT_CODES: Final = {
    401: ErrorCode.BAD_SIGNATURE,
    403: ErrorCode.UNKNOWN_AGENT,
    409: ErrorCode.REPLAY_CONFLICT,
    413: ErrorCode.TOO_LARGE,
    422: ErrorCode.CONTRIBUTION_REJECTED,
}
BUSY_STATUSES: Final = frozenset({429, 502, 503, 504})
_MAX_DETAIL: Final = 500
_INBOX_START: Final = '{"items":['
_INBOX_END: Final = "]}"


def busy_error(status: int, headers: Mapping[str, str]) -> BusyError:
    """An answer that asks for patience; only Retry-After in seconds is understood."""
    wait = None
    with suppress(KeyError, ValueError):
        wait = max(0.0, float(headers["retry-after"]))
    return BusyError(f"the cloud is busy (HTTP {status})", retry_after_seconds=wait, cut=status in (502, 504))


def refusal_of(status: int, body: bytes) -> PeerError | TemporaryError:
    """A problem document (RFC 9457) back to the error that it was at the cloud."""
    document = _document(body)
    try:
        code = ErrorCode(document.get("code", ""))
    except ValueError:
        if status >= 500:
            return TemporaryError(f"the cloud has an internal fault (HTTP {status})")
        code = _DEFAULT_CODES.get(status, ErrorCode.MALFORMED)
    detail = document.get("detail")
    text = printable(detail) if isinstance(detail, str) else f"HTTP {status}"
    return PeerError(code, f"the cloud refused: {text}")


def _document(body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def relay_fault(status: int, headers: Mapping[str, str], body: bytes) -> PeerError | BusyError:
    """What an answer of the relay other than success means; a proxy's page is nobody's refusal."""
    if status in BUSY_STATUSES or status >= 500:
        return busy_error(status, headers)
    refusal = refusal_of(status, body)
    if isinstance(refusal, PeerError) and _document(body).get("code") == refusal.code.value:
        return refusal
    return BusyError(f"something on the way to the cloud answers HTTP {status}", cut=True)


def printable(text: str) -> str:
    """The same without control characters, and not longer than a line or five."""
    # It ends in this hospital's terminal and log, which would obey control characters.
    return "".join(c if c.isprintable() else " " for c in text[:_MAX_DETAIL])


def inbox_items(raw: bytes) -> list[tuple[int, bytes, str]]:
    """The inbox's items as (id, exact bytes of the signed envelope, message type), in order.

    The cloud writes canonical JSON around the stored bytes, so each message is cut out as it stands, and is checked
    as a message by the protocol. The type is for the books only.
    Raises: PeerError: `malformed`: another form, or ids that do not grow.
    """
    check_item_count(raw, what="inbox")
    try:
        return _cut(raw.decode("utf-8"))
    except (ValueError, RecursionError, KeyError, TypeError):
        raise PeerError(ErrorCode.MALFORMED, "inbox: not the form that was agreed on") from None


def _cut(text: str) -> list[tuple[int, bytes, str]]:
    if not (text.startswith(_INBOX_START) and text.endswith(_INBOX_END)):
        raise ValueError("inbox framing")
    decoder = json.JSONDecoder()
    items: list[tuple[int, bytes, str]] = []
    place, end = len(_INBOX_START), len(text) - len(_INBOX_END)
    while place < end:
        place = _after(text, place, '{"id":')
        number, place = decoder.raw_decode(text, place)
        start = _after(text, place, ',"message":')
        message, stop = decoder.raw_decode(text, start)
        place = _after(text, stop, "}")
        place = place if place == end else _after(text, place, ",")
        # A number beyond all bounds would be kept as the place in the inbox, and no later poll could name it.
        if type(number) is not int or not (items[-1][0] if items else 0) < number <= MAX_INTEGER:
            raise ValueError("inbox ids")
        items.append((number, text[start:stop].encode(), str(message["envelope"]["type"])))
    return items


def _after(text: str, place: int, expected: str) -> int:
    if not text.startswith(expected, place):
        raise ValueError("inbox framing")
    return place + len(expected)
