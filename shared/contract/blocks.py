"""Statements as blocks of one length, so that a sealed block tells nothing of what is in it; and back.

A block is `number || index || count || used || content || zeros`: a statement's random number (16 bytes), which part of
how many this is, how many bytes of content there are (2 bytes each, big-endian). Only the parts of one statement have a
number in common.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from pydantic import TypeAdapter, ValidationError

from shared.errors import ErrorCode, PeerError
from shared.rng import RandomBytes, random_bytes
from shared.wire.base import check_json_limits
from shared.wire.contract_sealed import (
    BLOCK_BYTES,
    MAX_BLOCKS,
    MIN_BLOCKS,
    AnyStatement,
    Blank,
    Counted,
    Statement,
)

_HEAD: Final = struct.Struct(">16sHHH")
_NUMBER_BYTES: Final = 16
_CONTENT_BYTES: Final = BLOCK_BYTES - _HEAD.size
_MAX_STATEMENT_BYTES: Final = _CONTENT_BYTES * MAX_BLOCKS
_STATEMENT: Final[TypeAdapter[Statement]] = TypeAdapter(AnyStatement)
_WHAT: Final = "a statement of the batch"


def to_blocks(statements: Iterable[Statement], random: RandomBytes = random_bytes) -> list[bytes]:
    """Each of BLOCK_BYTES; blanks at the end bring their number to a power of two, MIN_BLOCKS at least.

    Raises: PeerError: `too_large`: more than MAX_BLOCKS.
    """
    blocks = [block for statement in statements for block in _parts(statement, random)]
    wanted = max(MIN_BLOCKS, 1 << len(blocks).bit_length())  # Room for the count, which takes one block.
    if wanted > MAX_BLOCKS:
        raise PeerError(ErrorCode.TOO_LARGE, f"more than {MAX_BLOCKS} blocks of {BLOCK_BYTES} bytes")
    rest: list[Statement] = [Counted(blocks=wanted), *[Blank()] * (wanted - len(blocks) - 1)]
    return [*blocks, *(block for statement in rest for block in _parts(statement, random))]


def from_blocks(blocks: Sequence[bytes]) -> list[Statement]:
    """All statements but counts and blanks, in no order that means anything.

    Raises: PeerError: `malformed`: a block is missing or a part is there twice, or a statement is none.
    """
    found: dict[bytes, dict[int, tuple[int, bytes]]] = {}
    for block in blocks:
        number, index, count, content = _read(block)
        parts = found.setdefault(number, {})
        if index in parts:
            raise PeerError(ErrorCode.MALFORMED, "a part of a statement is there twice")
        parts[index] = (count, content)
    statements = [_statement(parts) for parts in found.values()]
    counted = sum(one.blocks for one in statements if isinstance(one, Counted))
    if counted != len(blocks):
        raise PeerError(
            ErrorCode.MALFORMED, f"{counted} blocks were sealed, and {len(blocks)} came: some are missing"
        )
    return [one for one in statements if not isinstance(one, (Counted, Blank))]


def _parts(statement: Statement, random: RandomBytes) -> Iterator[bytes]:
    raw, number = statement.canonical(), random(_NUMBER_BYTES)
    pieces = [raw[start : start + _CONTENT_BYTES] for start in range(0, len(raw), _CONTENT_BYTES)]
    for index, piece in enumerate(pieces):
        head = _HEAD.pack(number, index, min(len(pieces), MAX_BLOCKS), len(piece))
        yield (head + piece).ljust(BLOCK_BYTES, b"\0")


def _read(block: bytes) -> tuple[bytes, int, int, bytes]:
    if len(block) != BLOCK_BYTES:
        raise PeerError(ErrorCode.MALFORMED, f"a block is not of {BLOCK_BYTES} bytes")
    number, index, count, used = _HEAD.unpack_from(block)
    content = block[_HEAD.size : _HEAD.size + used]
    if len(content) != used or block[_HEAD.size + used :].strip(b"\0"):
        raise PeerError(ErrorCode.MALFORMED, "a block is not filled up as it should be")
    return number, index, count, content


def _statement(parts: dict[int, tuple[int, bytes]]) -> Statement:
    counts = {count for count, _ in parts.values()}
    if len(counts) != 1 or sorted(parts) != list(range(counts.pop())):
        raise PeerError(ErrorCode.MALFORMED, "a part of a statement is missing")
    raw = b"".join(parts[index][1] for index in range(len(parts)))
    check_json_limits(raw, what=_WHAT, max_bytes=_MAX_STATEMENT_BYTES)
    try:
        return _STATEMENT.validate_json(raw)
    except ValidationError:
        raise PeerError(ErrorCode.MALFORMED, f"{_WHAT} is none that this version knows") from None
