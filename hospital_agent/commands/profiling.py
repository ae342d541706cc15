"""`privet data inspect`: what is in a file or a table of records, and what to do before a study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hospital_agent.commands.sources import Agent, File, Set, chosen_settings, chosen_table
from machine.files import write_new
from shared.reports import Report

Floor = Annotated[
    int | None,
    typer.Option(min=1, help="Fewest rows that are told of; the policy's min_child with --agent, else 5."),
]


def inspect(
    file: File = None,
    agent: Agent = None,
    setting: Set = None,
    class_column: Annotated[
        str | None, typer.Option("--class", metavar="COLUMN", help="The class, by name or position from 1.")
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="A column to leave aside (repeatable).")
    ] = None,
    patient: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="The column that names patients, to find repeated ones; else data.patient."
        ),
    ] = None,
    floor: Floor = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the page as HTML too; it must not exist.")
    ] = None,
) -> Report:
    """What was found in the records: columns, kinds, values, faults, and the option that deals with each.

    Exit codes: 0 looked at, whatever was found; 1 looked at, and no study can be made so (weight stop); 2 wrong usage;
    3 it cannot be read, or is not one table of cases, with the line; 5 the database cannot be reached.
    """
    from hospital_agent.records.profile.finding import Weight
    from hospital_agent.records.profile.page import document_of, html_of, text_of
    from hospital_agent.records.profile.profile import profile_of

    settings = chosen_settings(file, agent, setting)
    target = class_column if class_column is not None else settings.class_column
    person = patient if patient is not None else settings.patient_column
    table = chosen_table(settings)
    profile = profile_of(table, chosen_floor(floor, agent), target, [*settings.drop, *(drop or ())], person)
    text = text_of(profile)
    if html is not None:
        write_new(html, html_of(profile).encode())
        text += f"\n\nThe same as a page: {html}"
    stops = any(finding.weight is Weight.STOP for finding in profile.findings)
    return Report(document_of(profile), text, exit_code=1 if stops else 0)


def chosen_floor(floor: int | None, agent: Path | None) -> int:
    """The option, else the policy's `min_child`, else the default."""
    from hospital_agent.policy import load_policy
    from hospital_agent.records.profile.shown import DEFAULT_FLOOR
    from hospital_agent.settings import load_settings

    if floor is not None:
        return floor
    return DEFAULT_FLOOR if agent is None else load_policy(load_settings(agent).policy).min_child
