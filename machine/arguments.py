"""Arguments and options that commands of several programs take alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from machine.places import Places


def folder_argument(places: Places, metavar: str, *, file_okay: bool = True) -> Any:
    """A command's folder: what was typed, else the environment's, else the one of the system's service."""

    def default_folder() -> Path:
        return places.default_folder

    return typer.Argument(
        metavar=metavar,
        help=f"The {places.name}'s folder; {places.default_folder} if it is left out.",
        file_okay=file_okay,
        envvar=f"{places.prefix}FOLDER",
        default_factory=default_folder,
        show_default=False,
    )
