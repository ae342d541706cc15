"""Looks for secrets in bytes: keys in every form in which a program may hold or write them, and planted counts.

Large numbers are found by fragments of 16 bytes, so that half of an overwritten key is found too. A count of six
digits is short: it is looked for where chance cannot put it, that is as a number between other characters (decimal,
hexadecimal), beside its neighbour in the table (8-byte words, 48-bit slots), or as a Python integer behind the
address of its type.
"""

from __future__ import annotations

import base64
import re
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from tests.support.memory import PythonInts

FRAGMENT_BYTES = 16
_ANCHOR_BYTES = 4
_GZIP_MAGIC = b"\x1f\x8b\x08"
_BASE64URL = re.compile(rb"[A-Za-z0-9_-]{22,}")
_HEX = re.compile(rb"\b(?:[0-9a-f]{2}){16,}\b")
_WORD = re.compile(rb"[A-Za-z0-9_.-]")
_DEPTH = 4


@dataclass(frozen=True)
class Pattern:
    """Bytes that give a secret away.

    is_number: only where no letter, digit or point touches them. anchor: where the rare bytes begin, if it is known.
    """

    secret: str
    form: str
    content: bytes = field(repr=False)
    is_number: bool = False
    anchor: int | None = None

    def matches(self, haystack: bytes, place: int) -> bool:
        """Whether it stands at that place."""
        end = place + len(self.content)
        if place < 0 or haystack[place:end] != self.content:
            return False
        return not self.is_number or not (
            _WORD.match(haystack[max(0, place - 1) : place]) or _WORD.match(haystack[end : end + 1])
        )


def key_patterns(name: str, value: int, length: int) -> list[Pattern]:
    """A large secret number of so many bytes in binary, text and CPython's digits."""
    big = value.to_bytes(length, "big")
    return [
        *_fragments(name, "big-endian", big),
        *_fragments(name, "little-endian", big[::-1]),
        *_fragments(name, "CPython digits", _digits(value)),
        *_fragments(name, "hexadecimal", f"{value:x}".encode()),
        *_fragments(name, "hexadecimal", f"{value:X}".encode()),
        *_fragments(name, "decimal", str(value).encode()),
        *_base64_fragments(name, big),
    ]


def bytes_patterns(name: str, secret: bytes) -> list[Pattern]:
    """A secret key that is bytes."""
    return key_patterns(name, int.from_bytes(secret, "big"), len(secret))


def _fragments(name: str, form: str, content: bytes) -> list[Pattern]:
    """Its beginning, middle and end."""
    size = min(FRAGMENT_BYTES, len(content))
    starts = {0, (len(content) - size) // 2, len(content) - size}
    return [Pattern(name, form, content[start : start + size]) for start in sorted(starts)]


def _base64_fragments(name: str, big: bytes) -> list[Pattern]:
    """As base64 and base64url, whatever stood before it in the encoded bytes."""
    found = []
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for shift in range(3):
            whole = encode(bytes(shift) + big).rstrip(b"=")
            found += _fragments(name, "base64", whole[4:-4])
    return found


def _digits(value: int) -> bytes:
    """30 bits in every four bytes, least significant first: how CPython stores integers."""
    digits = []
    while value:
        digits.append(value & (2**30 - 1))
        value >>= 30
    return struct.pack(f"<{len(digits)}I", *digits)


def count_patterns(name: str, cells: Sequence[int]) -> list[Pattern]:
    """A table's cells in their order, each of at least five digits."""
    assert all(10_000 <= cell < 2**46 for cell in cells)
    found = []
    for cell in cells:
        secret = f"{name}: {cell}"
        for text in (f"{cell}", f"{cell}.0", f"{cell:x}", f"0x{cell:x}"):
            found.append(Pattern(secret, "number in text", text.encode(), is_number=True))
    for first, second in pairwise(cells):
        secret = f"{name}: {first}, {second}"
        for form, size in (("8-byte words", 8), ("48-bit slots", 6)):
            low, high = first.to_bytes(size, "little"), second.to_bytes(size, "little")
            found += [Pattern(secret, form, low + high), Pattern(secret, form, (low + high)[::-1])]
        words = first.to_bytes(8, "big") + second.to_bytes(8, "big")
        found.append(Pattern(secret, "8-byte words", words.lstrip(b"\0")))
    return found


def integer_patterns(patterns: Iterable[tuple[str, int]], ints: PythonInts) -> list[Pattern]:
    """Small integers as objects of one running interpreter."""
    head = ints.head(1)
    return [
        Pattern(name, "Python integer", head + _digits(value), anchor=len(head)) for name, value in patterns
    ]


class Scanner:
    """Finds any of many patterns in one pass over large haystacks, by the four rarest bytes of each."""

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        self._by_anchor: dict[bytes, list[tuple[Pattern, int]]] = {}
        for pattern in patterns:
            start = _anchor(pattern.content) if pattern.anchor is None else pattern.anchor
            anchor = pattern.content[start : start + _ANCHOR_BYTES]
            self._by_anchor.setdefault(anchor, []).append((pattern, start))
        self._firsts = np.zeros(2**16, dtype=bool)
        self._seconds = np.zeros(2**16, dtype=bool)
        for anchor in self._by_anchor:
            first, second = struct.unpack("<HH", anchor)
            self._firsts[first] = self._seconds[second] = True

    def find(self, haystack: bytes) -> set[tuple[str, str]]:
        """(secret, form) of everything that is there."""
        return {
            (pattern.secret, pattern.form)
            for place in self._candidates(haystack)
            for pattern, start in self._by_anchor.get(haystack[place : place + _ANCHOR_BYTES], ())
            if pattern.matches(haystack, place - start)
        }

    def _candidates(self, haystack: bytes) -> Iterator[int]:
        """Places where an anchor may stand, by two tables of byte pairs."""
        for shift in (0, 1):
            usable = (len(haystack) - shift) // 2
            if usable < 2:
                continue
            pairs = np.frombuffer(haystack, "<u2", usable, shift)
            here = np.flatnonzero(self._firsts[pairs[:-1]])
            for index in here[self._seconds[pairs[here + 1]]]:
                yield int(index) * 2 + shift


def _anchor(content: bytes) -> int:
    """Where the four bytes begin that chance and empty memory have least: no zeros, all different."""
    starts = range(len(content) - _ANCHOR_BYTES + 1)
    return max(starts, key=lambda start: len(set(content[start : start + _ANCHOR_BYTES]) - {0}))


def unpacked(data: bytes, depth: int = _DEPTH) -> Iterator[bytes]:
    """The data, and all that is packed or encoded inside: gzip streams, base64url and hexadecimal text."""
    yield data
    if depth == 0:
        return
    decoded = bytearray()
    for text in _BASE64URL.findall(data):
        decoded += base64.urlsafe_b64decode(text + b"A" * (-len(text) % 4)) + b"|"
    for text in _HEX.findall(data):
        decoded += bytes.fromhex(text.decode()) + b"|"
    inner = [*_gunzipped(data), *([bytes(decoded)] if decoded else [])]
    for part in inner:
        yield from unpacked(part, depth - 1)


def _gunzipped(data: bytes) -> Iterator[bytes]:
    place = data.find(_GZIP_MAGIC)
    while place >= 0:
        unpacker = zlib.decompressobj(wbits=31)
        try:
            part = unpacker.decompress(data[place:])
        except zlib.error:
            part = b""
        if part:
            yield part
        place = data.find(_GZIP_MAGIC, place + 1)


def everything_in(pieces: Iterable[bytes]) -> bytes:
    """All pieces with all that is packed inside them, as one run of bytes."""
    return b"\n|\n".join(part for piece in pieces for part in unpacked(piece))
