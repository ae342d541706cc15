"""Sealed frames on their way through the cloud: an address before opaque bytes, no JSON.

A parcel is `u8 length || id || frame`. Towards the cloud the id is the receiver's, from the cloud the sender's. One
WebSocket message is one parcel; a body of HTTP is a batch, `u32 length || parcel` again and again, big-endian. An
empty WebSocket message is the cloud's greeting: this way works.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import Final

from shared.errors import ErrorCode, PeerError
from shared.ids import AgentId, is_valid_id

MAX_FRAME_BYTES: Final = 2**22 + 2**12
"""4 MiB of sealed content, and a header."""
MAX_PARCEL_BYTES: Final = MAX_FRAME_BYTES + 65
MAX_BATCH_BYTES: Final = 4 * MAX_PARCEL_BYTES
BATCH_TYPE: Final = "application/octet-stream"
RELAY_HEADER: Final = "privet-relay"
"""The signed call (`shared.protocol.polling.RelayCall`) of each request, and of a WebSocket's handshake."""

BATCH_HEADER: Final = "privet-batch"
"""The number of a batch that the cloud hands out; it is kept until the next request names it as `after`."""

REPLACED: Final = 4000
"""Close code: a newer connection of the same agent took this one's place."""
CLOSE_CODES: Final[Mapping[int, ErrorCode]] = {
    1009: ErrorCode.TOO_LARGE,
    4400: ErrorCode.MALFORMED,
    4401: ErrorCode.BAD_SIGNATURE,
    4409: ErrorCode.LATE,
}
"""Close codes of a refusal; after any other one it is worth connecting again."""

_LENGTH: Final = struct.Struct(">I")

Parcel = bytes | bytearray | memoryview


def as_parcel(agent: AgentId, frame: Parcel) -> bytes:
    """The parcel for, or from, `agent`."""
    name = agent.encode("ascii")
    return b"".join((bytes((len(name),)), name, frame))


def read_parcel(parcel: Parcel) -> tuple[AgentId, memoryview]:
    """Address and frame; the frame is a view, nothing is copied.

    Raises: PeerError: `malformed`: no address, or no frame behind it; `too_large`.
    """
    view = memoryview(parcel)
    if len(view) > MAX_PARCEL_BYTES:
        raise PeerError(ErrorCode.TOO_LARGE, f"a frame is at most {MAX_FRAME_BYTES} bytes long; cut it")
    end = 1 + view[0] if view else 0
    name = bytes(view[1:end]).decode("ascii", "replace")
    if not is_valid_id(name) or len(view) <= end:
        raise PeerError(ErrorCode.MALFORMED, "a parcel is an address, then a frame of at least one byte")
    if len(view) - end > MAX_FRAME_BYTES:
        raise PeerError(ErrorCode.TOO_LARGE, f"a frame is at most {MAX_FRAME_BYTES} bytes long; cut it")
    return AgentId(name), view[end:]


def pack(parcels: Iterable[bytes]) -> bytes:
    """Several parcels as one body."""
    pieces: list[bytes] = []
    for parcel in parcels:
        pieces += (_LENGTH.pack(len(parcel)), parcel)
    return b"".join(pieces)


def packed_bytes(parcel: Parcel) -> int:
    """How much one parcel adds to a batch."""
    return _LENGTH.size + len(parcel)


def unpack(batch: bytes) -> list[memoryview]:
    """The parcels of a body, as views. Raises: PeerError: `malformed`: a length that the body does not hold."""
    view = memoryview(batch)
    parcels: list[memoryview] = []
    place = 0
    while place < len(view):
        start = place + _LENGTH.size
        if start > len(view):
            raise PeerError(ErrorCode.MALFORMED, "a batch of frames ends within a length")
        (length,) = _LENGTH.unpack_from(view, place)
        place = start + length
        if place > len(view):
            raise PeerError(ErrorCode.MALFORMED, "a batch of frames is shorter than its lengths say")
        parcels.append(view[start:place])
    return parcels
