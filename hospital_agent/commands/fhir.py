"""`fhir …`: the mapping from FHIR resources to a study's attributes, and what became of cards."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hospital_agent.commands.arguments import Folder
from hospital_agent.commands.predicting import contract_in, mapping_in, open_shelf
from machine.files import write_new
from shared.errors import InputError
from shared.reports import Report

if TYPE_CHECKING:
    from hospital_agent.clinical import Clinical
    from hospital_agent.models import Model
    from shared.contract.fhir import MappedRecord
    from shared.wire.fhir_mapping import FhirMapping

fhir = typer.Typer(
    help="Let clinical systems ask: FHIR mappings, and what became of CDS Hooks cards.", no_args_is_help=True
)

Mapping = Annotated[Path, typer.Argument(metavar="MAPPING", help="A FHIR mapping, as JSON.")]
Asked = Annotated[
    str,
    typer.Option(
        "--asked", metavar="DATE", help="The moment of asking, such as 2026-11-30T08:00:00Z; else now."
    ),
]
WantedModel = Annotated[
    str | None,
    typer.Option(
        "--model", help="A name, or a model's id or its beginning; else the newest whose tree is here."
    ),
]


@fhir.command()
def draft(
    folder: Folder,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="The mapping to write; it must not exist.")
    ],
    model: WantedModel = None,
) -> Report:
    """Write a mapping to fill in, from a model's schema and its study's data contract.

    Exit codes: 0 written; 2 wrong usage; 3 no such model, or a file that is there.
    """
    from shared.contract.fhir_checking import TO_FILL, draft_mapping

    found = _model(folder, model)
    study = found.manifest.study
    mapping = draft_mapping(study, found.schema, contract_in(folder, study))
    text = json.dumps(mapping.model_dump(mode="json", by_alias=True), indent=2, ensure_ascii=False)
    write_new(out, f"{text}\n".encode())
    open_codes = text.count(TO_FILL)
    return Report(
        {
            "mapping": str(out),
            "study": study,
            "attributes": len(mapping.attributes),
            "to_fill_in": open_codes,
        },
        f"{out}: {len(mapping.attributes)} attributes. Next: replace {TO_FILL} in {open_codes} places by codes of your "
        f"systems, then: privet agent fhir check {folder} --mapping {out}",
    )


@fhir.command()
def check(
    folder: Folder,
    mapping: Annotated[
        Path | None,
        typer.Option("--mapping", metavar="FILE", help="Check this mapping alone, against a model's schema."),
    ] = None,
    model: WantedModel = None,
) -> Report:
    """Check a mapping, or all that the settings offer to clinical systems: services, mappings, models, clients.

    Exit codes: 0 all in order; 1 something that is offered cannot be answered yet; 2 wrong usage; 3 a file that cannot
    be used, which it names.
    """
    from hospital_agent.clinical import parse_mapping, read_mapping

    if mapping is None:
        return _check_services(folder)
    read_mapping(mapping)
    parsed = parse_mapping(mapping)
    notes = _fits(parsed, _model(folder, model), folder)
    document = {"mapping": parsed.name, "sha256": parsed.sha256, "fits": True, "notes": notes}
    return Report(document, "\n".join([f"The mapping fits. SHA-256 {parsed.sha256}", *notes]))


def _check_services(folder: Path) -> Report:
    from hospital_agent.clinical import load_services
    from hospital_agent.settings import load_settings

    settings = load_settings(folder).clinical
    if settings.services is None:
        raise InputError(
            "nothing is offered to clinical systems",
            where="setting clinical.services",
            remedy="Name a file of services there; see docs/guides/clinical-systems.md.",
        )
    clinical = load_services(settings.services, partial(mapping_in, folder))
    services = [_service(folder, clinical, name) for name in clinical.services]
    clients = [{"iss": name} for name in clinical.clients]
    lines = [
        f"{one['id']}  {one['hook']}  model {one['model']}: {one['state']}"
        + "".join(f"\n  {n}" for n in one["notes"])
        for one in services
    ]
    told = (
        f"{len(clients)} clients" if clients else "no clients: the door of the local API decides who may ask"
    )
    exit_code = 0 if all(one["ready"] for one in services) else 1
    document = {"services": services, "clients": clients, "studies": sorted(clinical.readers)}
    return Report(document, "\n".join([*lines, told]), exit_code)


def _service(folder: Path, clinical: Clinical, name: str) -> dict[str, Any]:
    """A service, and whether it can be answered now."""
    service = clinical.services[name]
    told: dict[str, Any] = {"id": name, "hook": service.hook, "model": service.model}
    try:
        found = _desk_model(folder, service.model)
        notes = _fits(clinical.reader(found.manifest.study).mapping, found, folder)
    except InputError as error:
        return told | {"ready": False, "state": str(error), "notes": []}
    return told | {"ready": True, "state": f"ready, version {found.id[:8]}", "notes": notes}


@fhir.command("map")
def map_resources(
    mapping: Mapping,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="One patient's resources (.json), or many patients' from bulk exports (.ndjson).",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write records as CSV; it must not exist."),
    ] = None,
    asked: Asked = "",
) -> Report:
    """Show the record that a patient's resources become, and where each value came from; or write one a patient.

    The CSV holds records of patients: its owner alone may read it.
    Exit codes: 0 done; 2 wrong usage; 3 a mapping or resources that cannot be used.
    """
    from hospital_agent.clinical import read_mapping
    from hospital_agent.clinical.bulk import resources_of
    from shared.contract.fhir_resources import Gathered, of_one_patient

    reader, moment = read_mapping(mapping), _moment(asked)
    if all(path.suffix == ".ndjson" for path in files):
        return _many(reader, files, moment, out)
    resources = of_one_patient([pair for path in files for pair in resources_of(path)])
    record = reader.read(Gathered(tuple(resources)), moment)
    if out is not None:
        _write(out, reader, [record])
    origins = [one.document for one in record.origins]
    document = {"mapping": reader.mapping.name, "sha256": reader.mapping.sha256, "asked": moment.isoformat()}
    return Report(document | {"inputs": origins}, "\n".join(map(_origin_text, origins)))


def _many(reader: Any, files: list[Path], moment: datetime, out: Path | None) -> Report:
    from rich.console import Console

    from hospital_agent.clinical.bulk import records_of

    if out is None:
        raise InputError("many patients need a file", where="--out", remedy="Name a CSV file to write.")
    with Console(stderr=True).status("reading resources") as status:
        records = records_of(files, reader, moment, lambda seen: status.update(f"{seen} resources read"))
    _write(out, reader, records)
    document = {
        "file": str(out),
        "rows": len(records),
        "columns": [one.name for one in reader.mapping.attributes],
    }
    return Report(document, f"{out}: {len(records)} rows of {len(reader.mapping.attributes)} columns")


def _write(out: Path, reader: Any, records: list[MappedRecord]) -> None:
    from hospital_agent.clinical.bulk import table_of

    write_new(out, table_of(reader, records))


@fhir.command()
def feedback(folder: Folder) -> Report:
    """What became of CDS Hooks cards: by service and model, how many were accepted or overridden, and why.

    Exit codes: 0; 3 no agent there.
    """
    from hospital_agent.clinical import Ledger
    from hospital_agent.clinical.ledger import LEDGER_FILE
    from hospital_agent.settings import load_settings

    load_settings(folder)
    found = Ledger.open(folder).summary() if (folder / LEDGER_FILE).exists() else []
    lines = [
        f"{one['service']}  model {one['model'][:8]}  {one['cards']} cards, {one['covered']} covered, "
        f"{one['accepted']} accepted, {one['overridden']} overridden"
        + "".join(f"\n  {count} × {reason}" for reason, count in one["reasons"].items())
        for one in found
    ]
    return Report({"services": found}, "\n".join(lines) or "No cards yet.")


def _model(folder: Path, wanted: str | None) -> Model:
    return _desk_model(folder, "latest" if wanted is None else wanted)


def _desk_model(folder: Path, wanted: str) -> Model:
    """The model that a name or an id means, as the running agent takes it."""
    from hospital_agent.commands.serving_desk import desk_in
    from hospital_agent.settings import load_settings

    return desk_in(folder, open_shelf(folder), load_settings(folder).local).find(wanted).model


def _fits(mapping: FhirMapping, model: Model, folder: Path) -> list[str]:
    from shared.contract.fhir_checking import check_mapping

    return check_mapping(mapping, model.schema, contract_in(folder, model.manifest.study))


def _moment(text: str) -> datetime:
    from shared.contract.fhir_resources import moment_of

    if not text:
        return datetime.now(UTC)
    moment = moment_of(text)
    if moment is None:
        raise InputError(
            "expected a date, or a date and time with its zone", where="--asked", remedy="Such as 2026-11-30."
        )
    return moment


def _origin_text(origin: dict[str, Any]) -> str:
    value = "missing" if origin["value"] is None else origin["value"]
    told = [origin.get(name, "") for name in ("resource", "date", "given", "note")]
    return f"{origin['attribute']} = {value}  ({', '.join(text for text in told if text)})"
