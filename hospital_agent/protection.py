"""Whether and how the private files of an agent's folder are encrypted, large ones piece by piece."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Final

from hospital_agent.places import PLACES
from machine.protection import PROTECTION_FILE, FolderProtection
from shared.errors import InputError

__all__ = ["KEY_FILE", "PROTECTION_FILE", "Protection", "is_large"]

KEY_FILE: Final = PLACES.key_file_variable
_LARGE_MAGIC: Final = b"privet-at-rest-pieces-1\n"
_PIECE_BYTES: Final = 2**26
_LENGTH_BYTES: Final = 8


@dataclass(frozen=True, slots=True)
class Protection(FolderProtection):
    """The private files of one agent's folder."""

    places = PLACES
    number = "A021"

    def seal_large(self, content: bytes, name: str) -> bytes:
        """As `seal`, for content of any length: piece by piece, each under its place among all."""
        if self.at_rest is None:
            return content
        pieces = [content[start : start + _PIECE_BYTES] for start in range(0, len(content), _PIECE_BYTES)]
        sealed = [
            self.at_rest.seal(piece, name=_piece_name(name, number, len(pieces)))
            for number, piece in enumerate(pieces)
        ]
        lengths = b"".join(len(piece).to_bytes(_LENGTH_BYTES, "big") for piece in sealed)
        head = _LARGE_MAGIC + len(sealed).to_bytes(_LENGTH_BYTES, "big")
        return b"".join([head, lengths, *sealed])

    def open_large(self, content: bytes, name: str) -> bytes:
        """The inverse of `seal_large`. Raises: InputError: as `open`, or it was cut short."""
        if not content.startswith(_LARGE_MAGIC):
            return content
        numbers = iter(
            int.from_bytes(content[place : place + _LENGTH_BYTES], "big")
            for place in range(len(_LARGE_MAGIC), len(content), _LENGTH_BYTES)
        )
        count = next(numbers, 0)
        lengths = list(islice(numbers, count))
        place, pieces = len(_LARGE_MAGIC) + (1 + count) * _LENGTH_BYTES, []
        for number, length in enumerate(lengths):
            pieces.append(self.open(content[place : place + length], _piece_name(name, number, count)))
            place += length
        if len(lengths) != count or place != len(content):
            raise InputError(
                "this encrypted file was cut short", where=name, remedy="Restore it from a backup."
            )
        return b"".join(pieces)


def is_large(content: bytes) -> bool:
    """Whether this begins as the output of `Protection.seal_large` of an encrypted folder."""
    return content.startswith(_LARGE_MAGIC)


def _piece_name(name: str, number: int, count: int) -> str:
    return f"{name}, piece {number} of {count}"
