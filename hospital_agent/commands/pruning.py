"""`prune`: a finished tree cut back by the records that an evaluation held out. Nothing is sent anywhere."""

from __future__ import annotations

from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hospital_agent.commands.arguments import Folder, ModelArgument
from hospital_agent.commands.predicting import contract_in, open_model
from machine.files import write_new
from shared.errors import InputError
from shared.export import FormatName
from shared.reports import Report

if TYPE_CHECKING:
    from hospital_agent.models.pruned import PrunedModel


class MethodName(StrEnum):
    """How hold-out records decide."""

    REDUCED_ERROR = "reduced-error"
    COST_COMPLEXITY = "cost-complexity"


def prune(
    folder: Folder,
    model: ModelArgument,
    evaluation: Annotated[
        str,
        typer.Option(
            "--evaluation", metavar="JOB", help="The job that evaluated it on records that were held out."
        ),
    ],
    method: Annotated[
        MethodName,
        typer.Option(
            help="reduced-error: each subtree that saves no error on them becomes a leaf; cost-complexity: of the "
            "trees between the whole one and its root, the smallest of fewest errors."
        ),
    ] = MethodName.REDUCED_ERROR,
    form: Annotated[FormatName | None, typer.Option("--format", help="With -o: the form to write.")] = None,
    output: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write the pruned tree; the file must not exist."),
    ] = None,
) -> Report:
    """Cut a tree back by counts that an evaluation has opened. The model stays as it is; every hospital that does this
    comes to the same tree. Trees of modes id3 and gain-ratio by reduced-error.
    """
    from hospital_agent.keyring import Keyring
    from hospital_agent.models.pruned import prune_model
    from hospital_agent.models.tallies import cabinet_of

    if (form is None) != (output is None):
        raise InputError("give --format and --out together, or neither", where="prune")
    asked, ring = open_model(folder, model), Keyring.open(folder)
    cabinet = cabinet_of(folder, ring.identity.public, ring.hospital_trust().root)
    found = prune_model(asked, cabinet.get(cabinet.find(evaluation)), method.value)
    document = _document(found, method.value)
    if output is not None and form is not None:
        document |= {"file": str(output), "format": form, "bytes": _write(folder, found, form, output)}
    return Report(document, _text(document))


def _write(folder: Path, found: PrunedModel, form: FormatName, output: Path) -> int:
    from hospital_agent.models.subjects import subject_of
    from shared.export.formats import render

    contract = contract_in(folder, found.model.manifest.study)
    content = render(subject_of(found.model, version("privet"), contract), form)
    write_new(output, content)
    return len(content)


def _document(found: PrunedModel, method: str) -> dict[str, Any]:
    from hospital_agent.models import description
    from hospital_agent.models.pruned import NAMED, WARNING

    shown = description(found.model)
    return {
        "model": found.model.id,
        "method": method,
        "grown_sha256": found.grown.sha256,
        "tree_sha256": found.model.tree_sha256,
        "nodes": [found.grown.node_count, found.model.shown_tree.node_count],
        "records": found.records,
        "errors": [found.errors_before, found.errors_after],
        "alpha": None if found.alpha is None else str(found.alpha),
        "warning": f"{NAMED} {WARNING}" if found.names_leaves else WARNING,
        "tree": shown["tree"],
        "drawing": shown["drawing"],
    }


def _text(document: dict[str, Any]) -> str:
    nodes, errors = document["nodes"], document["errors"]
    head = (
        f"Model {document['model']}, {document['method']} by {document['records']} hold-out records: {nodes[0]} nodes "
        f"become {nodes[1]}, {errors[0]} errors become {errors[1]}.\nSHA-256 {document['tree_sha256']}\n"
        f"{document['warning']}"
    )
    written = f"\n\nWritten to {document['file']} as {document['format']}." if "file" in document else ""
    return f"{head}\n\n{document['drawing']}{written}"
