"""Whether and how the private files of a program's folder are encrypted: `protection` holds its data key, wrapped.

The key that opens it comes from outside of the folder, from where `places` says. Files from before the folder was
protected are read as they are until a conversion has sealed them, so that it may be cut off anywhere.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final, Self

from machine.files import read_file, write_file
from machine.places import CREDENTIAL, Places
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

PROTECTION_FILE: Final = "protection"
_MAX_DOCUMENT_BYTES: Final = 4096
_OVERHEAD_BYTES: Final = 64


@dataclass(frozen=True, slots=True)
class FolderProtection:
    """The private files of one folder. `at_rest`: None while the folder is not encrypted.

    A program says in a class of its own where keys come from (`places`) and which error their absence is (`number`).
    """

    places: ClassVar[Places]
    number: ClassVar[str]

    folder: Path
    at_rest: AtRest | None = field(default=None, repr=False)

    @classmethod
    def of(cls, folder: Path) -> Self:
        """As the folder stands now. Raises: InputError: it is encrypted, and no or another key is at hand."""
        path = folder / PROTECTION_FILE
        if not path.is_file():
            return cls(folder)
        with numbered(cls.number):
            key_file = cls.places.find_key_file()
            if key_file is None:
                raise InputError(
                    "this folder is encrypted and no key was given",
                    where=str(folder),
                    remedy=f"Name the key file in {cls.places.key_file_variable}, or hand it over as the credential "
                    f"{CREDENTIAL} (LoadCredential=).",
                )
            document = read_file(path, max_bytes=_MAX_DOCUMENT_BYTES, remedy="Restore it from a backup.")
            return cls(folder, unlock(document, read_secret(key_file, folder), where=str(path)))

    @classmethod
    def begin(cls, folder: Path, key_file: Path) -> Self:
        """Encrypt what is written from now on; of a folder that is encrypted already, change the key that opens it.

        Raises: InputError: no key in the file, or the present key is not at hand.
        """
        secret = read_secret(key_file, folder)
        at_rest = cls.of(folder).at_rest or new_data_key()
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
                number=self.number,
            )
        return self.at_rest.open(content, name=name)

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
    try:
        with path.open("rb") as stream:
            content = stream.read(MAX_SECRET_BYTES + 1)
            mode = os.fstat(stream.fileno()).st_mode  # of what was read, whatever has this name by now
    except OSError as error:
        raise InputError(
            error.strerror or "cannot be read",
            where=str(path),
            remedy="Make one with: openssl rand -base64 32 > FILE",
        ) from None
    if len(content) > MAX_SECRET_BYTES:
        raise InputError(
            f"longer than {MAX_SECRET_BYTES} bytes",
            where=str(path),
            remedy="Make one with: openssl rand -base64 32 > FILE",
        )
    if mode & 0o007:
        raise InputError(
            "all users of this machine may read this key", where=str(path), remedy=f"Run: chmod 600 {path}"
        )
    return parse_secret(content, where=str(path))
