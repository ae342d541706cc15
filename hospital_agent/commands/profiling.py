"""`privet data inspect`: what is in a file or a table of records, and what to do before a study."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hospital_agent.commands.by_column import names_of
from hospital_agent.commands.deriving import Derive, read_derivations
from hospital_agent.commands.sources import Agent, File, Set, chosen_settings, chosen_table
from machine.files import write_new
from shared.reports import Report
from shared.texts import text

if TYPE_CHECKING:
    from hospital_agent.records.profile.profile import Asked, Profile, Tell
    from hospital_agent.records.source import DataSettings
    from shared.wire.contract import Derivations

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
    derive: Derive = None,
    names: Annotated[
        str | None,
        typer.Option(metavar="A,B,C", help="What the study calls all columns, in the file's order."),
    ] = None,
    floor: Floor = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the page as HTML too; it must not exist.")
    ] = None,
) -> Report:
    """What was found in the records: columns, kinds, values, faults, and the option that deals with each.

    A database and a Parquet file are asked where they lie, column by column, unless columns are derived.
    Exit codes: 0 looked at, whatever was found; 1 looked at, and no study can be made so (weight stop); 2 wrong usage;
    3 it cannot be read, or is not one table of cases, with the line; 5 the database cannot be reached.
    """
    from hospital_agent.records.profile.finding import Weight
    from hospital_agent.records.profile.page import document_of, html_of, text_of
    from hospital_agent.records.profile.profile import Asked

    settings = chosen_settings(file, agent, setting)
    target = class_column if class_column is not None else settings.class_column
    person = patient if patient is not None else settings.patient_column
    asked = Asked(chosen_floor(floor, agent), target, (*settings.drop, *(drop or ())), person)
    with telling(settings) as tell:
        profile = _looked_at(settings, asked, read_derivations(derive), names, tell)
    told = text_of(profile)
    if html is not None:
        write_new(html, html_of(profile).encode())
        told += f"\n\nThe same as a page: {html}"
    stops = any(finding.weight is Weight.STOP for finding in profile.findings)
    return Report(document_of(profile), told, exit_code=1 if stops else 0)


def _looked_at(
    settings: DataSettings, asked: Asked, agreed: Derivations | None, names: str | None, tell: Tell
) -> Profile:
    """In the engine where there is one, else of a table in memory."""
    from hospital_agent.records.derived_draft import with_derived
    from hospital_agent.records.draft_choices import Choices
    from hospital_agent.records.profile.in_engine import is_asked_there, profile_there
    from hospital_agent.records.profile.profile import profile_of

    if agreed is None and names is None and is_asked_there(settings):
        return profile_there(settings, asked, tell)
    table = chosen_table(settings)
    called = dict(settings.rename) | names_of(names, [column.name for column in table.columns])
    if agreed is not None:
        table = with_derived(table, agreed, settings, Choices("inspect", names=called))
    study = {study: own for own, study in called.items() if study != own}
    drop = [study.get(str(one), one) for one in asked.drop]
    target = None if asked.class_column is None else study.get(str(asked.class_column), asked.class_column)
    return profile_of(table, asked.floor, target, drop, asked.patient, tell)


@contextmanager
def telling(settings: DataSettings) -> Iterator[Tell]:
    """Tells who waits at a terminal what is being done with the records, on standard error."""
    from rich.console import Console
    from rich.markup import escape  # names of files may hold brackets

    where = (settings.table or text("profile.step.query")) if settings.path is None else settings.path.name
    with Console(stderr=True).status(escape(text("profile.step.reading", where=where))) as status:
        yield lambda step: status.update(escape(step))


def chosen_floor(floor: int | None, agent: Path | None) -> int:
    """The option, else the policy's `min_child`, else the default."""
    from hospital_agent.policy import load_policy
    from hospital_agent.records.profile.shown import DEFAULT_FLOOR
    from hospital_agent.settings import load_settings

    if floor is not None:
        return floor
    return DEFAULT_FLOOR if agent is None else load_policy(load_settings(agent).policy).min_child
