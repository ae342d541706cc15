"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hospital_agent.places import PLACES
from machine.arguments import folder_argument

Folder = Annotated[Path, folder_argument(PLACES, "[DIR]", file_okay=False)]
JobPrefix = Annotated[str, typer.Argument(metavar="JOB", help="A job's id, or its beginning.")]
ModelArgument = Annotated[
    str,
    typer.Argument(
        metavar="MODEL", help="A name such as study:ID, a model's id or its beginning, or `latest`."
    ),
]
ModelPrefix = Annotated[str, typer.Argument(metavar="MODEL", help="A model's id, or its beginning.")]
