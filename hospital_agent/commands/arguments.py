"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The agent's folder.", file_okay=False)]
JobPrefix = Annotated[str, typer.Argument(metavar="JOB", help="A job's id, or its beginning.")]
ModelPrefix = Annotated[str, typer.Argument(metavar="MODEL", help="A model's id, or its beginning.")]
