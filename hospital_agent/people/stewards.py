"""Who may answer for this hospital on its pages: names with a password each, kept as argon2id hashes in one file.

A command that answers needs the folder, and of an encrypted folder its key. So does `privet agent stewards add`, by
which somebody who has both hands that right on to a person with a browser. In an encrypted folder the list is sealed
under the folder's key, and a list that is not sealed counts for nothing: who can write files there adds nobody.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Self

from hospital_agent.protection import Protection
from shared.crypto.at_rest import is_sealed
from shared.crypto.passwords import check_password, hash_password, is_password
from shared.errors import InputError
from shared.tree.schema_checks import is_plain_line

STEWARDS_FILE: Final = "stewards.json"
NAME_CHARACTERS: Final = 64
MAX_STEWARDS: Final = 50
_MAX_BYTES: Final = 2**16


@dataclass(frozen=True, slots=True)
class Stewards:
    """The list as it stands. `hashes`: by name. `protection`: of the agent's folder."""

    protection: Protection = field(repr=False)
    hashes: dict[str, str] = field(repr=False)

    @classmethod
    def of(cls, folder: Path) -> Self:
        """As the file stands now; no file is an empty list.

        Raises: InputError: it cannot be read, or is not sealed though the folder is encrypted.
        """
        protection, path = Protection.of(folder), folder / STEWARDS_FILE
        if not path.is_file():
            return cls(protection, {})
        remedy = f"Remove the file and add the stewards again: privet agent stewards add {folder} NAME"
        if protection.is_on and not is_sealed(path.read_bytes()[:64]):
            raise InputError(
                "the list of stewards is not sealed by this folder's key", where=str(path), remedy=remedy
            )
        try:
            found = json.loads(protection.read(path, max_bytes=_MAX_BYTES, remedy=remedy))["stewards"]
            return cls(protection, {str(name): str(kept) for name, kept in found.items()})
        except (ValueError, KeyError, TypeError, AttributeError):
            raise InputError("this is no list of stewards", where=str(path), remedy=remedy) from None

    @property
    def names(self) -> list[str]:
        """Everybody, in order."""
        return sorted(self.hashes)

    def with_one(self, name: str, password: str) -> Stewards:
        """The list with one more, or with a new password of somebody. Raises: InputError: the name or the password."""
        if not 1 <= len(name) <= NAME_CHARACTERS or not is_plain_line(name) or name != name.strip():
            raise InputError(
                f"a name is one line of 1 to {NAME_CHARACTERS} characters",
                where="NAME",
                remedy="Give a shorter one.",
            )
        if name not in self.hashes and len(self.hashes) >= MAX_STEWARDS:
            raise InputError(f"there are {MAX_STEWARDS} stewards already", remedy="Remove one first.")
        check_password(password, name)
        return replace(self, hashes={**self.hashes, name: hash_password(password)})

    def without(self, name: str) -> Stewards:
        """The list without somebody. Raises: InputError: there is nobody of that name."""
        if name not in self.hashes:
            raise InputError(
                "there is no steward of that name", where=f"steward {name!r}", remedy="See the list."
            )
        return replace(self, hashes={known: kept for known, kept in self.hashes.items() if known != name})

    def save(self) -> None:
        """Keep the list, sealed where the folder is encrypted."""
        content = json.dumps({"v": 1, "stewards": self.hashes}).encode()
        self.protection.write(self.protection.folder / STEWARDS_FILE, content)

    def is_one(self, name: str, password: str) -> bool:
        """Whether this is a steward and the steward's password; of nobody the same work is done in vain."""
        return is_password(self.hashes.get(name), password)
