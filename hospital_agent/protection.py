"""Whether and how the private files of an agent's folder are encrypted: `protection` holds its data key, wrapped.

The key that opens it comes from outside of the folder: the file that `PRIVET_AGENT_KEY_FILE` names, or the credential
`privet-key` that systemd hands over. Files from before the folder was protected are read as they are until
`privet agent protect` has sealed them, so that a conversion may be cut off anywhere.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final

from hospital_agent.places import CREDENTIALS, PREFIX
from machine.files import read_file, write_file
from shared.crypto.at_rest import (
    MAX_SECRET_BYTES,
    AtRest,
    OuterSecret,
    is_sealed,
    lock,
    new_data_key,
    parse_secret,
    unlock,
)
from shared.errors import InputError, numbered

KEY_FILE: Final = f"{PREFIX}KEY_FILE"
CREDENTIAL: Final = "privet-key"
PROTECTION_FILE: Final = "protection"
_MAX_DOCUMENT_BYTES: Final = 4096
_OVERHEAD_BYTES: Final = 64
_LARGE_MAGIC: Final = b"privet-at-rest-pieces-1\n"
_PIECE_BYTES: Final = 2**26
_LENGTH_BYTES: Final = 8
_REMEDY: Final = (
    f"Name the key file in {KEY_FILE}, or hand it over as the credential {CREDENTIAL} (LoadCredential=)."
)


@dataclass(frozen=True, slots=True)
class Protection:
    """The private files of one folder. `at_rest`: None while the folder is not encrypted."""

    folder: Path
    at_rest: AtRest | None = field(default=None, repr=False)

    @classmethod
    def of(cls, folder: Path) -> Protection:
        """As the folder stands now. Raises: InputError: it is encrypted, and no or another key is at hand."""
        path = folder / PROTECTION_FILE
        if not path.is_file():
            return cls(folder)
        with numbered("A021"):
            key_file = find_key_file()
            if key_file is None:
                raise InputError(
                    "this folder is encrypted and no key was given", where=str(folder), remedy=_REMEDY
                )
            document = read_file(path, max_bytes=_MAX_DOCUMENT_BYTES, remedy="Restore it from a backup.")
            return cls(folder, unlock(document, read_secret(key_file, folder), where=str(path)))

    @classmethod
    def begin(cls, folder: Path, key_file: Path) -> Protection:
        """Encrypt what is written from now on; of a folder that is encrypted already, change the key that opens it.

        Raises: InputError: no key in the file, or the present key is not at hand.
        """
        secret = read_secret(key_file, folder)
        present = cls.of(folder)
        at_rest = present.at_rest or new_data_key()
        write_file(folder / PROTECTION_FILE, lock(at_rest, secret))
        return cls(folder, at_rest)

    def end(self) -> None:
        """From now on nothing is encrypted; whoever calls has opened every file."""
        (self.folder / PROTECTION_FILE).unlink(missing_ok=True)

    @property
    def is_on(self) -> bool:
        """Whether the folder is encrypted."""
        return self.at_rest is not None

    def seal(self, content: bytes, name: str) -> bytes:
        """What to keep of `content`: sealed where the folder is encrypted."""
        return content if self.at_rest is None else self.at_rest.seal(content, name=name)

    def open(self, content: bytes, name: str) -> bytes:
        """What was kept. Raises: InputError: it is sealed and does not open, or this folder has lost its protection."""
        if not is_sealed(content):
            return content
        if self.at_rest is None:
            raise InputError(
                f"this is encrypted, and the file {PROTECTION_FILE} of its folder is gone",
                where=name,
                remedy="Restore that file from a backup of the folder.",
            )
        return self.at_rest.open(content, name=name)

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

    def write(self, path: Path, content: bytes) -> None:
        """Replace a file of the folder, sealed where the folder is encrypted."""
        write_file(path, self.seal(content, self._name(path)))

    def read(self, path: Path, *, max_bytes: int, remedy: str) -> bytes:
        """A file of the folder, opened. Raises: InputError: it cannot be read, is too long, or does not open."""
        return self.open(
            read_file(path, max_bytes=max_bytes + _OVERHEAD_BYTES, remedy=remedy), self._name(path)
        )

    def _name(self, path: Path) -> str:
        return path.relative_to(self.folder).as_posix()


def is_large(content: bytes) -> bool:
    """Whether this begins as the output of `Protection.seal_large` of an encrypted folder."""
    return content.startswith(_LARGE_MAGIC)


def _piece_name(name: str, number: int, count: int) -> str:
    return f"{name}, piece {number} of {count}"


def find_key_file() -> Path | None:
    """The key file that the surroundings name."""
    named, handed_over = os.environ.get(KEY_FILE), os.environ.get(CREDENTIALS)
    if named:
        return Path(named)
    if handed_over and (Path(handed_over) / CREDENTIAL).is_file():
        return Path(handed_over) / CREDENTIAL
    return None


def read_secret(path: Path, folder: Path) -> OuterSecret:
    """What a key file holds. Args: folder: the one that it is to protect.

    Raises: InputError: not there, no key, open to all users of the machine, or inside the folder.
    """
    if path.resolve().is_relative_to(folder.resolve()):
        raise InputError(
            "a key beside what it protects protects nothing",
            where=str(path),
            remedy="Keep it outside of the folder, and out of its backups.",
        )
    content = read_file(
        path, max_bytes=MAX_SECRET_BYTES, remedy="Make one with: openssl rand -base64 32 > FILE"
    )
    if path.stat().st_mode & 0o007:
        raise InputError(
            "all users of this machine may read this key", where=str(path), remedy=f"Run: chmod 600 {path}"
        )
    return parse_secret(content, where=str(path))
