"""Arguments and options that commands of several programs take alike, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from machine.places import Places
from shared.errors import InputError
from shared.reports import Report

if TYPE_CHECKING:
    from shared.configuring import Effective, Setting

NewKeyFile = Annotated[
    Path | None,
    typer.Option(
        "--key-file",
        help="A file outside of the folder with 32 bytes (openssl rand -base64 32) or a passphrase. Of a folder that "
        "is encrypted already it becomes the new key.",
    ),
]
"""The key under which a folder is encrypted from now on."""
RemoveKey = Annotated[bool, typer.Option("--remove", help="Decrypt the folder, by the key that is at hand.")]
Markdown = Annotated[
    bool, typer.Option("--markdown", help="Every setting there is, explained, as a table in Markdown.")
]


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


def check_key(key_file: Path | None, *, remove: bool) -> None:
    """Raises: InputError: neither a key nor its removal was asked for, or both."""
    if (key_file is None) != remove:
        raise InputError(
            "expected a key file, or --remove", where="--key-file", remedy="Give one of the two."
        )


def settings_report(
    places: Places, known: Sequence[Setting], in_force: Callable[[], Sequence[Effective]], *, markdown: bool
) -> Report:
    """The settings that there are (`markdown`), or those in force, where each comes from, secrets hidden."""
    from shared.configuring import report_of, table_of

    if markdown:
        return Report({"settings": [one.path for one in known]}, table_of(known, places.prefix))
    return report_of(in_force())
