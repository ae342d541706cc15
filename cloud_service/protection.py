"""Whether and how the private keys in the cloud's folder are encrypted: `protection` holds its data key, wrapped.

The key that opens it comes from outside of the folder: the file that `PRIVET_CLOUD_KEY_FILE` names, or the credential
`privet-key` that systemd hands over. A key from before the folder was protected is read as it is until
`privet cloud protect` has sealed it, so that a conversion may be cut off anywhere.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cloud_service.places import CREDENTIALS, PREFIX
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
_REMEDY: Final = (
    f"Name the key file in {KEY_FILE}, or hand it over as the credential {CREDENTIAL} (LoadCredential=)."
)


@dataclass(frozen=True, slots=True)
class Protection:
    """The private keys of one folder. `at_rest`: None while the folder is not encrypted."""

    at_rest: AtRest | None = field(default=None, repr=False)

    @classmethod
    def of(cls, folder: Path) -> Protection:
        """As the folder stands now. Raises: InputError: it is encrypted, and no or another key is at hand."""
        path = folder / PROTECTION_FILE
        if not path.is_file():
            return cls()
        with numbered("C022"):
            key_file = find_key_file()
            if key_file is None:
                raise InputError(
                    "this folder is encrypted and no key was given", where=str(folder), remedy=_REMEDY
                )
            return cls(unlock(path.read_bytes(), read_secret(key_file, folder), where=str(path)))

    @property
    def is_on(self) -> bool:
        """Whether the folder is encrypted."""
        return self.at_rest is not None

    def seal(self, content: bytes, name: str) -> bytes:
        """What to keep of a file: sealed where the folder is encrypted."""
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
                number="C022",
            )
        return self.at_rest.open(content, name=name)


def renewed(folder: Path, key_file: Path) -> tuple[Protection, bytes]:
    """The protection of a folder under a key file, the present data key kept; and the document to write.

    Raises: InputError: no key in the file, or the folder is encrypted and its present key is not at hand.
    """
    secret = read_secret(key_file, folder)
    at_rest = Protection.of(folder).at_rest or new_data_key()
    return Protection(at_rest), lock(at_rest, secret)


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
    try:
        with path.open("rb") as stream:
            content = stream.read(MAX_SECRET_BYTES + 1)
            mode = os.fstat(stream.fileno()).st_mode
    except OSError as error:
        raise InputError(
            error.strerror or "cannot be read",
            where=str(path),
            remedy="Make one with: openssl rand -base64 32 > FILE",
        ) from None
    if mode & 0o007:
        raise InputError(
            "all users of this machine may read this key", where=str(path), remedy=f"Run: chmod 600 {path}"
        )
    return parse_secret(content, where=str(path))
