"""Which part of a hospital's records one of them falls in, by HMAC-SHA-256: what files and engines follow.

A hash that databases have too (`sha256`), in the construction of RFC 2104, whose proof asks nothing of the hash but
that its compression function is a pseudo-random function (Bellare, "New Proofs for NMAC and HMAC", 2006, section 3).
A record's place is the first 64 bits of the tag, as a fraction of 1, times the number of parts. So a range of places is
a range of tags, which bytes are compared with in their order. Decision record 45.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from typing import Final, Literal

HASH: Final[Literal["hmac-sha256"]] = "hmac-sha256"
CODES_A_WORD: Final = 7
"""Codes of one byte in a word: seven are below 2^56, and engines add them up in 64 bits with a sign."""
RECORD: Final = "record:"
PATIENT: Final = "patient:"
BETWEEN_WORDS: Final = ","
BEFORE_OCCURRENCE: Final = "#"
_LABEL: Final = b"privet-selection/hmac-sha256\0"
_PLACE_BYTES: Final = 8
_BLOCK_BYTES: Final = 64
_INNER, _OUTER = 0x36, 0x5C


def parting_key(secret: bytes, seed: bytes, parts: int) -> bytes:
    """The key of one seed and number of parts, 32 bytes. Args: secret: the hospital's own, 32 bytes."""
    return hmac.digest(secret, _LABEL + seed + parts.to_bytes(4, "big"), "sha256")


def of_patient(patient: str) -> bytes:
    """What is hashed of a record whose patient is known."""
    return f"{PATIENT}{patient}".encode()


def of_record(words: Iterable[int], occurrence: int) -> bytes:
    """What is hashed of a record by itself.

    Args: words: its codes, seven to a word, the first one times 1, the next times 256 and so on, and numbers in fixed
        point behind them, one a word. occurrence: how many records alike stand before it.
    """
    return f"{RECORD}{BETWEEN_WORDS.join(map(str, words))}{BEFORE_OCCURRENCE}{occurrence}".encode()


def place_of(key: bytes, message: bytes, parts: int) -> int:
    """The place of a message, 0 to parts - 1."""
    tag = hmac.digest(key, message, "sha256")
    return int.from_bytes(tag[:_PLACE_BYTES], "big") * parts >> (8 * _PLACE_BYTES)


def first_tag(place: int, parts: int) -> bytes | None:
    """The least tag of a place, cut to 8 bytes; None beyond the last place. Tags are compared byte by byte."""
    least = -(-(place << (8 * _PLACE_BYTES)) // parts)
    return None if least >> (8 * _PLACE_BYTES) else least.to_bytes(_PLACE_BYTES, "big")


def pads(key: bytes) -> tuple[bytes, bytes]:
    """The blocks that HMAC puts before the inner and the outer message. Args: key: at most 64 bytes."""
    block = key.ljust(_BLOCK_BYTES, b"\0")
    return bytes(byte ^ _INNER for byte in block), bytes(byte ^ _OUTER for byte in block)
