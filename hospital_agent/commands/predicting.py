"""`models …` and `predict`: the finished trees, without the daemon and without the cloud."""

from __future__ import annotations

import csv
import os
import pwd
import time
from collections.abc import Callable
from contextlib import closing, suppress
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hospital_agent.commands.arguments import Folder, ModelArgument
from machine.files import write_new
from shared.errors import InputError
from shared.reports import Report
from shared.wire.exact_json import RepeatedNameError, read_exact

if TYPE_CHECKING:
    from hospital_agent.models import Model, Record, Shelf
    from shared.contract.asking import AskedReader
    from shared.wire.contract import DataContract
    from shared.wire.fhir_mapping import FhirMapping

models = typer.Typer(help="List, show, export and remove finished trees.", no_args_is_help=True)


@models.command("list")
def list_models(folder: Folder) -> Report:
    """The models of this hospital, oldest first."""
    from hospital_agent.models import summary

    shelf = open_shelf(folder)
    found = [summary(shelf.get(job)) for job in shelf.ids()]
    lines = [
        f"{m['id'][:8]}  study {m['study']}  class {m['class']}  {_size(m)}  {', '.join(m['hospitals'])}"
        for m in found
    ]
    return Report({"models": found}, "\n".join(lines) or f"No models yet. Next: privet agent status {folder}")


def _size(model: dict[str, Any]) -> str:
    return str(model["held"]) if model["nodes"] is None else f"{model['nodes']} nodes"


@models.command()
def show(
    folder: Folder,
    model: ModelArgument,
    importance: Annotated[
        bool,
        typer.Option("--importance", help="Also how much each attribute told, from the counts of the tree."),
    ] = False,
) -> Report:
    """One tree, drawn, with where it came from."""
    from hospital_agent.models import description

    document = description(open_model(folder, model))
    sha256 = document["tree_sha256"]
    head = (
        f"Study {document['study']}: {document['question']}\n"
        f"Grown by {', '.join(document['hospitals'])}{'' if sha256 is None else f'; SHA-256 {sha256}'}\n"
        f"{document['notice']}"
    )
    told = f"\n\n{_importance_text(document)}" if importance else ""
    return Report(document, f"{head}\n\n{document['drawing']}{told}")


def _importance_text(document: dict[str, Any]) -> str:
    """A table, most important first, or why there is none."""
    found = document.get("importance")
    if found is None:
        return "Importance: this model does not show counts, from which it would follow."
    width = max((len(entry["attribute"]) for entry in found), default=0)
    lines = [
        f"  {entry['attribute']:{width}}  {entry['gini']:6.1%}  {entry['entropy']:7.1%}  {entry['splits']:6}"
        for entry in found
    ]
    head = f"  {'':{width}}  {'Gini':>6}  {'entropy':>7}  {'splits':>6}"
    return "\n".join(
        [
            "Importance: shares of the decrease of impurity, on the records that the tree was grown on.",
            *([head, *lines] if found else ["  The tree asks nothing."]),
        ]
    )


@models.command()
def export(
    folder: Folder,
    model: ModelArgument,
    to: Annotated[
        Path,
        typer.Option("--out", "--to", "-o", metavar="FILE", help="The file to write; it must not exist."),
    ],
) -> Report:
    """Copy a model's signed file, with its proofs, to another place."""
    shelf = open_shelf(folder)
    job = open_model(folder, model).id
    write_new(to, shelf.path_of(job).read_bytes())
    return Report({"model": job, "file": str(to)}, f"Model {job} is written to {to}.")


def predict(
    folder: Folder,
    model: Annotated[
        str | None,
        typer.Option(
            help="A name such as study:ID, a model's id or its beginning; without it, the newest whose tree is here."
        ),
    ] = None,
    values: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="One attribute.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option(help="Records as CSV with a header, or as a JSON list.")
    ] = None,
) -> Report:
    """Answer for one record (--set, several times) or for a file of them.

    Who asked which model, and about how many records, is noted (privet agent predictions log). Drift counters are the
    running agent's, so they count what it is asked itself: by programs, on its pages and by clinical systems.
    """
    from hospital_agent.models import Answers

    if bool(values) == (file is not None):
        raise InputError("give either --set NAME=VALUE or --file FILE", where="predict")
    records = _from_file(file) if file is not None else [_from_words(values or [])]
    found = open_model(folder, model)
    answers = Answers.of(found, readers_in(folder)(found.manifest.study))
    records = [answers.as_study(record) for record in records]
    ignored: list[str] = []
    if file is not None:
        records, ignored = _of_study(records, answers.names)
    document = answers.document(records) | ({"ignored_columns": ignored} if ignored else {})
    _note(folder, found, len(records))
    lines = [_answer_text(prediction) for prediction in document["predictions"]]
    if ignored:
        lines.append(f"Columns that the study does not use: {', '.join(ignored)}")
    return Report(document, "\n".join([*lines, document["notice"]]))


def _note(folder: Path, model: Model, records: int) -> None:
    """In the log of predictions, if there is one. Raises: InputError: it cannot be written, so nothing is answered."""
    from hospital_agent.models.predictions_log import PredictionsLog
    from hospital_agent.settings import load_settings

    if not load_settings(folder).local.predictions_log:
        return
    try:
        with closing(PredictionsLog(folder, time.time, rotates=False)) as log:
            log.note(f"command of {person()}", model.id, model.tree_sha256, "only", records)
    except OSError as error:
        raise InputError(
            f"the log of predictions cannot be written: {error.strerror or type(error).__name__}",
            where=str(folder),
            remedy="Run it as the agent's user, make room on the disk, or set local.predictions_log = false.",
        ) from None


def person() -> str:
    """Who runs the command, as the system knows them."""
    with suppress(KeyError):
        return pwd.getpwuid(os.getuid()).pw_name
    return f"uid {os.getuid()}"


def _of_study(records: list[Record], names: frozenset[str]) -> tuple[list[Record], list[str]]:
    """Records without the columns that the study does not use, and those columns, as a job reads its table.

    Only where every record has all of the study's: else such a column may be a misspelt one, and is left to be refused.
    """
    ignored = sorted({name for record in records for name in record} - names)
    if not all(record.keys() >= names for record in records):
        return records, []
    return [{name: record[name] for name in names} for record in records], ignored


def readers_in(folder: Path) -> Callable[[str], AskedReader | None]:
    """How the data contracts of the studies that the agent in a folder was shown read records, in its units."""

    def reader_of(study: str) -> AskedReader | None:
        from hospital_agent.settings import load_settings
        from shared.contract.asking import record_reader

        contract = contract_in(folder, study)
        return None if contract is None else record_reader(contract, load_settings(folder).data.units)

    return reader_of


def contract_in(folder: Path, study: str) -> DataContract | None:
    """The data contract of a study that the agent in a folder was shown; None where it has none."""
    from hospital_agent.journal import Journal, studies

    with Journal.open(folder) as journal:
        return studies.contract_of(journal, study)


def mapping_in(folder: Path, study: str) -> FhirMapping | None:
    """The FHIR mapping of a study that the agent in a folder was shown; None where it has none."""
    from hospital_agent.journal import Journal, studies

    with Journal.open(folder) as journal:
        return studies.mapping_of(journal, study)


def open_shelf(folder: Path) -> Shelf:
    """The models of the agent in a folder, as its own keys verify them."""
    from hospital_agent.keyring import Keyring
    from hospital_agent.models import shelf_of
    from hospital_agent.settings import load_settings

    load_settings(folder)
    ring = Keyring.open(folder)
    return shelf_of(folder, ring.identity.public, ring.hospital_trust().root)


def open_model(folder: Path, wanted: str | None) -> Model:
    """The model that is meant, verified. Args: wanted: a name, an id or its beginning, or `latest`; None: the newest.

    Raises: InputError: no such model, several, or it was altered.
    """
    from hospital_agent.models.finding import model_meant
    from hospital_agent.models.names import Names

    return model_meant(open_shelf(folder), Names(folder, time.time).read(), wanted)


def _from_words(words: list[str]) -> Record:
    record: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise InputError(
                "expected NAME=VALUE", where="--set", remedy="Quote it: --set 'lumbar pain=yes'."
            )
        record[name.strip()] = value.strip()
    return record


def _from_file(path: Path) -> list[Record]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("not UTF-8", where=str(path), remedy="Save the file as UTF-8.") from None
    records = _from_json(text, path) if path.suffix.lower() == ".json" else _from_csv(text, path)
    if not records:
        raise InputError("no records", where=str(path), remedy="Give at least one record.")
    return records


def _from_json(text: str, path: Path) -> list[Record]:
    try:
        data: Any = read_exact(text)
    except RepeatedNameError as error:
        raise InputError(str(error), where=str(path)) from None
    except (ValueError, RecursionError):
        raise InputError("not JSON", where=str(path), remedy="Give a list of objects.") from None
    records = data if isinstance(data, list) else [data]
    for number, record in enumerate(records, start=1):
        plain = isinstance(record, dict) and all(
            value is None or isinstance(value, str | int | float | Decimal) for value in record.values()
        )
        if not plain:
            raise InputError(
                "expected an object of texts, numbers, true, false or null", where=f"{path}, record {number}"
            )
    return records


def _from_csv(text: str, path: Path) -> list[Record]:
    rows = list(csv.reader(text.splitlines()))
    if not rows:
        return []
    header, records = [name.strip() for name in rows[0]], []
    if len(set(header)) != len(header):
        raise InputError("a column name repeats", where=f"{path}, line 1", remedy="Make the names distinct.")
    for number, row in enumerate(rows[1:], start=2):
        if not row:
            continue
        if len(row) != len(header):
            raise InputError(
                f"{len(header)} columns expected, {len(row)} found", where=f"{path}, line {number}"
            )
        records.append({name: value.strip() for name, value in zip(header, row, strict=True)})
    return list(records)


def _answer_text(prediction: dict[str, Any]) -> str:
    text = f"{prediction['class']}: {prediction['path']}"
    if prediction["probability"] is not None:
        text += f"; share {prediction['probability']:.2f}"
    if prediction["interval_95"] is not None:
        low, high = prediction["interval_95"]
        text += f" (95 % interval {low:.2f} to {high:.2f})"
    return text if prediction["note"] is None else f"{text}. {prediction['note']}"
