"""A request's body as bytes: counted while it streams in, unpacked with a cap, and large ones a few at a time.

Who sends is known only when a body is there whole, and gzip makes a thousand bytes of one: without the last limit a
stranger's small requests would fill the memory.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

from fastapi import Request
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from cloud_service.service.doorway import SMALL_BYTES
from cloud_service.service.rates import RateLimitedError
from shared.errors import ErrorCode, PeerError

_GZIP: Final = 31
"""Window bits that tell zlib to expect a gzip header and checksum."""
_STEP_BYTES: Final = 2**20
_JSON: Final = "application/json"
_LENGTH_DIGITS: Final = 18
START_SECONDS: Final = 10.0
"""A body has so long before its pace counts."""
LARGE_AT_ONCE: Final = 8
"""Bodies longer than `SMALL_BYTES` that are held in memory and worked on at a time."""
_QUICK_BYTES: Final = 2**12
"""Packed bodies up to here unpack in a moment; for longer ones the event loop does not wait."""


async def read_body(request: Request, max_bytes: int) -> bytes:
    """The JSON body, unpacked.

    Raises: PeerError: `too_large`: longer than `max_bytes` packed or unpacked; `malformed`: not JSON by its
        content type, or packed in another way than gzip.
    """
    is_packed = _check_headers(request)
    body = await _collect(request, max_bytes)
    return _unpack(body, max_bytes) if is_packed else body


async def read_bytes(request: Request, media_type: str, max_bytes: int) -> bytes:
    """A body of plain bytes. Raises: PeerError: `too_large`; `malformed`: of another type, or packed."""
    given = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if given != media_type or request.headers.get("content-encoding", "identity") != "identity":
        raise PeerError(ErrorCode.MALFORMED, f"the body must be of type {media_type}, and not packed")
    return await _collect(request, max_bytes)


@asynccontextmanager
async def held_body(request: Request, max_bytes: int, room: asyncio.Semaphore) -> AsyncIterator[bytes]:
    """The same for bodies that may be large: while the context lasts, a large one takes a place in `room`."""
    is_packed = _check_headers(request)
    body = await _collect(request, max_bytes)
    async with AsyncExitStack() as places:
        if is_packed or len(body) > SMALL_BYTES:
            await places.enter_async_context(room)
        if is_packed and len(body) > _QUICK_BYTES:
            body = await run_in_threadpool(_unpack, body, max_bytes)
        elif is_packed:
            body = _unpack(body, max_bytes)
        if len(body) <= SMALL_BYTES:
            await places.aclose()
        yield body


def _check_headers(request: Request) -> bool:
    """Whether the body is packed. Raises: PeerError: `malformed`."""
    if request.headers.get("content-type", "").split(";")[0].strip().lower() != _JSON:
        raise PeerError(ErrorCode.MALFORMED, f"the body must be of type {_JSON}")
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip"):
        raise PeerError(ErrorCode.MALFORMED, "the body may be packed by gzip only")
    return encoding == "gzip"


async def _collect(request: Request, max_bytes: int) -> bytes:
    if _states_more(request.headers.get("content-length", ""), max_bytes):
        raise _too_large(max_bytes)
    chunks: list[bytes] = []
    total = 0
    pace = request.app.state.services.settings.limits.slowest_bytes_per_second
    began, stream = asyncio.get_running_loop().time(), aiter(request.stream())
    try:
        while True:
            try:
                async with asyncio.timeout_at(began + START_SECONDS + total / pace):
                    chunk = await anext(stream)
            except StopAsyncIteration:
                break
            except TimeoutError:
                raise RateLimitedError(
                    f"the body came more slowly than {pace} bytes a second", retry_after_seconds=5
                ) from None
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
