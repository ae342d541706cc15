"""`privet export`: an exported tree, or one that a cloud published, in another form; needs no keys and no network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from machine.files import read_file
from shared.errors import InputError
from shared.export import FormatName
from shared.reports import Report

if TYPE_CHECKING:
    from shared.export.subject import Subject

app = typer.Typer(add_completion=False)

_MAX_BYTES: Final = 2**30


@app.command()
def export(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Of `privet agent export --format json`, or the JSON of a cloud's /v1/jobs/{job}/tree.",
        ),
    ],
    form: Annotated[FormatName, typer.Option("--format", help="The form to write.")],
    output: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="The file to write; it must not exist.")
    ],
) -> Report:
    """Write a tree in another form, for other programs or for people."""
    from shared.export.formats import FORMATS, reading_of, render

    subject = read_subject(file)
    content = render(subject, form)
    try:
        with output.open("xb") as stream:
            stream.write(content)
    except FileExistsError:
        raise InputError("it exists already", where=str(output), remedy="Name another file.") from None
    reading = reading_of(subject, form) or _unknown_reading(subject)
    document = {
        "format": form,
        "file": str(output),
        "bytes": len(content),
        "tree_sha256": subject.tree_sha256,
        "disclosure": subject.disclosure,
        "records": reading,
    }
    lines = [f"The tree is written to {output} as {form}: {FORMATS[form].purpose}."]
    return Report(document, "\n".join([*lines, *filter(None, [reading])]))


def _unknown_reading(subject: Subject) -> str | None:
    """Of a tree as a cloud publishes it, which does not tell whether the study has a data contract."""
    if subject.origin.version:
        return None
    return (
        "N.B. This file tells nothing of how the study reads records. Where the study has a data contract, other "
        "spellings, codes for missing and units are answered wrongly: export the tree at a hospital, with "
        "`privet agent export --format json`, or recode the records first, with `privet data recode`."
    )


def read_subject(file: Path) -> Subject:
    """The tree in a file. Raises: InputError: it cannot be read, or is of another form."""
    from shared.export.document import read_document

    remedy = "Write one with `privet agent export --format json`."
    raw = read_file(file, max_bytes=_MAX_BYTES, remedy=remedy)
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError):
        raise InputError("not JSON", where=str(file), remedy=remedy) from None
    try:
        return read_document(data)
    except InputError as error:
        raise InputError(str(error), where=str(file)) from None
