"""`privet data check` and `sign`: whether the own records fit a contract, and who handed a contract over."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hospital_agent.commands.contracting import read_contract, read_json
from hospital_agent.commands.sources import Agent, File, Set, chosen_settings, chosen_table
from machine.files import write_file, write_new
from shared.errors import InputError
from shared.reports import Report

if TYPE_CHECKING:
    from hospital_agent.records.contract_check import Check
    from shared.wire.contract import DataContract

_UNFIT = 1


def check(
    contract: Annotated[
        str,
        typer.Argument(
            metavar="CONTRACT", help="A data contract's file; with --agent also the id of a study."
        ),
    ],
    file: File = None,
    agent: Agent = None,
    setting: Set = None,
) -> Report:
    """Whether the records fit a data contract: pass, or which rule fails on which column. Never values, never rows.

    Exit codes: 0 they fit; 1 they do not; 2 wrong usage; 3 contract or records cannot be read; 5 no database.
    """
    from hospital_agent.records.contract_check import check_table
    from hospital_agent.records.sql_ways import THERE, parting_notes, way_of
    from shared.contract.schema import schema_of_contract

    wanted = chosen_contract(contract, agent)
    settings = replace(chosen_settings(file, agent, setting), contract=wanted)
    found = check_table(chosen_table(settings), wanted, settings)
    if found.faults:
        return unfit(found, wanted)
    if settings.url is not None:
        schema = schema_of_contract(wanted)
        way = way_of(settings, schema)
        parting = parting_notes(settings, schema) if way == THERE else ()
        found = replace(found, notes=(*found.notes, way, *parting))
    text = "\n".join([f"The records fit contract {wanted.name}.", *found.notes])
    return Report(_document(found, wanted), text)


def unfit(found: Check, wanted: DataContract) -> Report:
    """What a steward is told of records that do not fit."""
    lines = [
        f"The records do not fit contract {wanted.name}:",
        *(f"  {fault.text}" for fault in found.faults),
    ]
    return Report(_document(found, wanted), "\n".join([*lines, *found.notes]), exit_code=_UNFIT)


def _document(found: Check, wanted: DataContract) -> dict[str, Any]:
    return {
        "fits": not found.faults,
        "contract": wanted.name,
        "sha256": wanted.sha256,
        "faults": [fault.to_json() for fault in found.faults],
        "notes": list(found.notes),
    }


def sign(
    contract: Annotated[Path, typer.Argument(metavar="CONTRACT", help="A data contract.")],
    agent: Annotated[
        Path, typer.Option(metavar="DIR", help="The folder of the agent that signs.", file_okay=False)
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="A new file to write; without it, CONTRACT is replaced."
        ),
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Tell who signed it, in place of signing it.")
    ] = False,
) -> Report:
    """Sign a data contract with this hospital's key, so that other stewards see who handed it over.

    Exit codes: 0 done; 2 wrong usage; 3 no contract, or no agent; 4 the signature does not hold.
    """
    from hospital_agent.keyring import Keyring
    from hospital_agent.settings import load_settings
    from shared.contract.files import signed_contract_of
    from shared.protocol.contract_signing import sign_contract, verify_contract

    keyring = Keyring.open(agent)
    if verify:
        signed = signed_contract_of(read_json(contract), str(contract))
        if signed is None:
            raise InputError("it is not signed", where=str(contract), remedy="Have its hospital sign it.")
        verify_contract(signed, keyring.hospital_trust())
        document = {"hospital": signed.hospital, "sha256": signed.contract.sha256}
        return Report(document, f"Signed by {signed.hospital}. Contract {signed.contract.sha256}")
    certificate = keyring.certificate
    if certificate is None:
        raise InputError("this agent has no certificate yet", remedy="Join first: privet agent join DIR.")
    own = load_settings(agent).id
    signed = sign_contract(read_contract(contract), own, keyring.identity, certificate.der)
    path = contract if out is None else out
    write = (
        write_file if path == contract else write_new
    )  # in its own place it is replaced, elsewhere nothing is
    write(path, (signed.model_dump_json(by_alias=True, indent=1) + "\n").encode())
    document = {"hospital": own, "sha256": signed.contract.sha256, "contract": str(path)}
    return Report(document, f"Signed as {own}: {path}. Contract {signed.contract.sha256}")


def chosen_contract(text: str, agent: Path | None) -> DataContract:
    """A file's contract, or that of a study which this agent was shown. Raises: InputError: there is none."""
    if agent is None or Path(text).exists():
        return read_contract(Path(text))
    from hospital_agent.journal import Journal
    from hospital_agent.journal import studies as kept
    from hospital_agent.settings import load_settings

    load_settings(agent)  # Refuses a folder that is no agent's, before a journal is made there.
    with Journal.open(agent) as journal:
        contract = kept.find(journal, text).document.contract
    if contract is None:
        raise InputError(
            "the study has no data contract",
            where=f"study {text}",
            remedy="Check its schema with privet agent check-data.",
        )
    return contract
