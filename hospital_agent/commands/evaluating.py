"""`evaluation` and `evaluate`: what jobs that only count have opened, and a tree held against the own records."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hospital_agent.commands.arguments import Folder
from hospital_agent.commands.predicting import open_model, open_shelf
from shared.errors import InputError
from shared.reports import Report

if TYPE_CHECKING:
    from hospital_agent.models.tallies import Cabinet

_SHOWN_VALUES = 12


class RecordsName(StrEnum):
    """Which of the own records."""

    TEST = "test"
    TRAIN = "train"
    ALL = "all"


def evaluation(
    folder: Folder,
    job: Annotated[
        str | None,
        typer.Argument(
            metavar="[JOB]", help="A job's id, or its beginning; without it, those that there are."
        ),
    ] = None,
    remove: Annotated[
        bool, typer.Option("--remove", help="Delete the job's counts from this hospital.")
    ] = False,
) -> Report:
    """The counts that a job has opened, summed over all hospitals: of an evaluation or a histogram."""
    from hospital_agent.keyring import Keyring
    from hospital_agent.models.tallies import cabinet_of, tally_document
    from hospital_agent.settings import load_settings

    load_settings(folder)
    ring = Keyring.open(folder)
    cabinet = cabinet_of(folder, ring.identity.public, ring.hospital_trust().root)
    if remove:
        return _removed(cabinet, job)
    if job is None:
        found = [tally_document(cabinet.get(one), None) for one in cabinet.ids()]
        rows = [{name: one[name] for name in ("job", "study", "kind", "use", "saved")} for one in found]
        lines = [
            f"{row['job'][:8]}  study {row['study']}  {row['kind']} of {row['use']} records" for row in rows
        ]
        return Report({"evaluations": rows}, "\n".join(lines) or "No job has only counted here yet.")
    result = cabinet.get(cabinet.find(job))
    asked, shelf = result.manifest.tally, open_shelf(folder)
    known = asked is not None and asked.model in shelf.ids()
    model = shelf.get(str(asked.model)) if asked is not None and known else None
    document = tally_document(result, model)
    return Report(document, _histogram_text(document) if model is None else _places_text(document))


def _removed(cabinet: Cabinet, job: str | None) -> Report:
    if job is None:
        raise InputError("name the job whose counts are to go", where="--remove")
    found = cabinet.find(job)
    cabinet.remove(found)
    return Report({"job": found, "removed": True}, f"The counts of job {found} are removed.")


def evaluate(
    folder: Folder,
    model: Annotated[
        str | None,
        typer.Argument(
            metavar="[MODEL]",
            help="A name, a model's id or its beginning; without it, the newest whose tree is here.",
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(help="A model that another hospital has exported, in place of one of this hospital."),
    ] = None,
    records: Annotated[
        RecordsName | None,
        typer.Option(help="Those held out when the tree was grown, by default where some were; or others."),
    ] = None,
    own_tree: Annotated[
        bool,
        typer.Option(
            "--own-tree", help="Beside it, the tree that this hospital's own training records alone give."
        ),
    ] = False,
) -> Report:
    """Hold a tree against this hospital's own records. Nothing leaves it, and no other hospital is asked."""
    from hospital_agent.daemon.judging_here import judged_here
    from hospital_agent.models.foreign import read_foreign
    from hospital_agent.settings import load_settings

    if model is not None and file is not None:
        raise InputError("give either a model or --file", where="evaluate")
    settings, shelf = load_settings(folder), open_shelf(folder)
    asked = read_foreign(file, shelf.root) if file is not None else open_model(folder, model)
    document = judged_here(
        folder, settings, asked, None if records is None else records.value, own_tree=own_tree
    )
    return Report(document, _places_text(document))


def _histogram_text(document: dict[str, Any]) -> str:
    if document["kind"] != "histogram":
        return f"{_head(document)}\nThe tree is not here any more: --json has the counts by place."
    lines = [_head(document), f"Class {document['class']}: {', '.join(document['classes'])}"]
    for attribute in document["attributes"]:
        lines.append(f"{attribute['name']}:")
        shown = list(zip(attribute["values"], attribute["counts"], strict=True))
        lines += [f"  {value}: {' '.join(map(str, row))}" for value, row in shown[:_SHOWN_VALUES]]
        lines += ["  ..."] if len(shown) > _SHOWN_VALUES else []
    return "\n".join(lines)


def _places_text(document: dict[str, Any]) -> str:
    classes = document["classes"]
    table = _confusion(document)
    lines = [_head(document), *_table_lines("The tree", table, classes)]
    own = document.get("own_tree")
    if own is not None:
        lines += _table_lines(
            "The tree of this hospital's own records",
            _confusion({**own, "classes": classes}),
            classes,
        )
        paired = document["paired"]
        lines.append(
            f"Right by both {paired['both_right']}, by the joint tree only {paired['only_joint_right']}, by the own "
            f"only {paired['only_own_right']}, by neither {paired['neither_right']}."
        )
    return "\n".join(lines)


def _confusion(document: dict[str, Any]) -> list[list[int]]:
    from hospital_agent.models.tallies import confusion_of

    parts = (document["nodes"], document["answers"], document["votes"])
    return confusion_of(*parts, len(document["classes"]))


def _table_lines(name: str, table: list[list[int]], classes: list[str]) -> list[str]:
    right, total = sum(table[c][c] for c in range(len(classes))), sum(map(sum, table))
    share = "" if not total else f" ({right / total:.3f})"
    head = f"{name} is right for {right} of {total}{share}. Lines: true class; columns: what it answers, in order."
    width = max(map(len, classes), default=0)
    return [
        head,
        *(
            f"  {label:<{width}}  {' '.join(map(str, row))}"
            for label, row in zip(classes, table, strict=True)
        ),
    ]


def _head(document: dict[str, Any]) -> str:
    use = {"test": "held-out records", "train": "records that it was grown on", "all": "all records"}
    of = {
        "evaluation": f"Tree {str(document.get('model'))[:8]} on the {use[document['use']]} of",
        "local": f"Tree {str(document.get('model'))[:8]} on the {use[document['use']]} of",
        "histogram": "Counts of the records of",
    }
    note = "" if document["use"] == "test" or document["kind"] == "histogram" else " (too good by nature)"
    return f"Study {document['study']}: {of[document['kind']]} {', '.join(document['hospitals'])}{note}."
