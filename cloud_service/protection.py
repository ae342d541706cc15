"""Whether and how the private keys in the cloud's folder are encrypted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from cloud_service.places import PLACES
from machine.protection import PROTECTION_FILE, FolderProtection

__all__ = ["KEY_FILE", "PROTECTION_FILE", "Protection"]

KEY_FILE: Final = PLACES.key_file_variable


@dataclass(frozen=True, slots=True)
class Protection(FolderProtection):
    """The private keys of one cloud's folder."""

    places = PLACES
    number = "C022"
