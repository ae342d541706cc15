"""`export`: a finished tree in a form that other programs or people read. Nothing is sent anywhere."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from hospital_agent.commands.arguments import Folder, ModelArgument
from hospital_agent.commands.predicting import contract_in, open_model
from machine.files import write_new
from shared.export import FormatName
from shared.reports import Report


def export(
    folder: Folder,
    model: ModelArgument,
    form: Annotated[FormatName, typer.Option("--format", help="The form to write.")],
    output: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="The file to write; it must not exist.")
    ],
) -> Report:
    """Write a model's tree for other programs or for people, with no more than the study's predictions show."""
    from hospital_agent.models.subjects import subject_of
    from shared.export.formats import FORMATS, reading_of, render

    found = open_model(folder, model)
    subject = subject_of(found, version("privet"), contract_in(folder, found.manifest.study))
    content = render(subject, form)
    write_new(output, content)
    disclosure = found.manifest.disclosure
    document = {
        "model": found.id,
        "format": form,
        "file": str(output),
        "bytes": len(content),
        "tree_sha256": found.tree_sha256,
        "disclosure": disclosure,
        "records": reading_of(subject, form),
    }
    shown = {
        "class": "classes only",
        "probability": "classes and their shares",
        "counts": "classes and training counts",
    }
    lines = [
        f"Model {found.id} is written to {output} as {form}: {FORMATS[form].purpose}.",
        f"It shows {shown[disclosure]}, as the study's predictions do.",
        *filter(None, [reading_of(subject, form)]),
    ]
    return Report(document, "\n".join(lines))
