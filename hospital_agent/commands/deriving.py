"""The option `--derive` of `privet data draft` and `inspect`: what hospitals agreed to make of several columns."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from machine.files import read_file
from shared.errors import InputError

if TYPE_CHECKING:
    from shared.wire.contract import Derivations

_MAX_BYTES: Final = 2**20
_REMEDY: Final = "A JSON object of inputs and derived, as the guide on data contracts shows it."

Derive = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Values to make of several columns: JSON with inputs and derived, the same at all hospitals.",
    ),
]


def read_derivations(path: Path | None) -> Derivations | None:
    """What a file agrees on; None where there is none. Raises: InputError: it is no such file."""
    if path is None:
        return None
    from pydantic import ValidationError

    from shared.wire.base import describe
    from shared.wire.contract import Derivations

    raw = read_file(path, max_bytes=_MAX_BYTES, remedy=_REMEDY)
    try:
        return Derivations.model_validate_json(raw)
    except ValidationError as error:
        raise InputError(describe(error), where=str(path), remedy=_REMEDY) from None
