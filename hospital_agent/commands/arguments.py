"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hospital_agent.places import DEFAULT_FOLDER, PREFIX


def default_folder() -> Path:
    """The folder of the system's service."""
    return DEFAULT_FOLDER


Folder = Annotated[
    Path,
    typer.Argument(
        metavar="[DIR]",
        help=f"The agent's folder; {DEFAULT_FOLDER} if it is left out.",
        file_okay=False,
        envvar=f"{PREFIX}FOLDER",
        default_factory=default_folder,
        show_default=False,
    ),
]
JobPrefix = Annotated[str, typer.Argument(metavar="JOB", help="A job's id, or its beginning.")]
ModelArgument = Annotated[
    str,
    typer.Argument(
        metavar="MODEL", help="A name such as study:ID, a model's id or its beginning, or `latest`."
    ),
]
ModelPrefix = Annotated[str, typer.Argument(metavar="MODEL", help="A model's id, or its beginning.")]
