"""Where the cloud's files are, and the argument that names its folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

from machine.arguments import folder_argument
from machine.places import Places

PLACES: Final = Places.of("cloud", "URL")  # the URL is for `privet.client`

Folder = Annotated[Path, folder_argument(PLACES, "[FOLDER]")]
"""The argument of the cloud's commands."""
