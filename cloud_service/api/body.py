"""A request's body as bytes: counted while it streams in, unpacked with a cap."""

from __future__ import annotations

import zlib
from typing import Final

from fastapi import Request
from starlette.requests import ClientDisconnect

from shared.errors import ErrorCode, PeerError

_GZIP: Final = 31
"""Window bits that tell zlib to expect a gzip header and checksum."""
_STEP_BYTES: Final = 2**20
_JSON: Final = "application/json"
_LENGTH_DIGITS: Final = 18


async def read_body(request: Request, max_bytes: int) -> bytes:
    """The JSON body, unpacked.

    Raises: PeerError: `too_large`: longer than `max_bytes` packed or unpacked; `malformed`: not JSON by its
        content type, or packed in another way than gzip.
    """
    if request.headers.get("content-type", "").split(";")[0].strip().lower() != _JSON:
        raise PeerError(ErrorCode.MALFORMED, f"the body must be of type {_JSON}")
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip"):
        raise PeerError(ErrorCode.MALFORMED, "the body may be packed by gzip only")
    body = await _collect(request, max_bytes)
    return body if encoding == "identity" else _unpack(body, max_bytes)


async def _collect(request: Request, max_bytes: int) -> bytes:
    if _states_more(request.headers.get("content-length", ""), max_bytes):
        raise _too_large(max_bytes)
    chunks: list[bytes] = []
    total = 0
    try:
        async for chunk in request.stream():
            total += len(chunk)
            if total > max_bytes:
                raise _too_large(max_bytes)
            chunks.append(chunk)
    except ClientDisconnect:
        raise PeerError(ErrorCode.MALFORMED, "the body ended before its end") from None
    return b"".join(chunks)


def _states_more(length: str, max_bytes: int) -> bool:
    """Whether a Content-Length is a number beyond the cap; one of many digits is not worth converting."""
    digits = length.lstrip("0")
    return digits.isascii() and digits.isdigit() and (len(digits) > _LENGTH_DIGITS or int(digits) > max_bytes)


def _unpack(packed: bytes, max_bytes: int) -> bytes:
    unpacker = zlib.decompressobj(wbits=_GZIP)
    parts: list[bytes] = []
    total = 0
    rest = packed
    try:
        while rest and not unpacker.eof:
            part = unpacker.decompress(rest, _STEP_BYTES)
            rest = unpacker.unconsumed_tail
            total += len(part)
            if total > max_bytes:
                raise _too_large(max_bytes)
            parts.append(part)
    except zlib.error:
        raise PeerError(ErrorCode.MALFORMED, "the body is not valid gzip") from None
    if not unpacker.eof or unpacker.unused_data:
        raise PeerError(ErrorCode.MALFORMED, "the body is not one complete gzip stream")
    return b"".join(parts)


def _too_large(max_bytes: int) -> PeerError:
    return PeerError(ErrorCode.TOO_LARGE, f"the body is longer than {max_bytes} bytes")
