"""`privet data recode`: the own records as a study reads them, for programs that know its tree and not its contract."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from hospital_agent.commands.contract_checking import chosen_contract, unfit
from hospital_agent.commands.sources import Agent, File, Set, chosen_settings, chosen_table
from machine.files import write_new
from shared.errors import InputError
from shared.reports import Report


def recode(
    contract: Annotated[
        str,
        typer.Argument(
            metavar="CONTRACT",
            help="A data contract's file, or an exported tree (json); with --agent also the id of a study.",
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="The CSV file to write; it must not exist.")
    ],
    file: File = None,
    agent: Agent = None,
    setting: Set = None,
) -> Report:
    """Write the records as a study reads them: its columns, its values, empty where missing. For exported trees.

    The class column may be absent. Rows stay in their order. The file holds records of patients: its owner alone may
    read it.
    Exit codes: 0 written; 1 the records do not fit, and nothing is written; 2 wrong usage; 3 contract or records cannot
    be read; 5 no database.
    """
    from hospital_agent.records.contract_check import check_table
    from hospital_agent.records.recoding import recoded, with_class

    wanted = chosen_contract(contract, agent)
    settings = replace(chosen_settings(file, agent, setting), contract=wanted)
    if out.exists():
        raise InputError("it exists already", where=str(out), remedy="Name another file.")
    table, classes = with_class(chosen_table(settings), wanted, settings)
    found = check_table(table, wanted, settings)
    if found.faults:
        return unfit(found, wanted)
    write_new(out, recoded(table, wanted, settings, classes=classes))
    document = {"contract": wanted.name, "sha256": wanted.sha256, "file": str(out), "class_column": classes}
    told = "its class column included" if classes else "without a class column"
    return Report(document, f"The records are written to {out} as contract {wanted.name} reads them, {told}.")
