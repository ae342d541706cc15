"""The records that a command of `privet data` is about: a file, or what an agent's settings name."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shared.errors import InputError

if TYPE_CHECKING:
    from hospital_agent.records.source import DataSettings
    from hospital_agent.records.table import Table

File = Annotated[
    Path | None,
    typer.Argument(metavar="FILE", help="The records; else those of --agent or --set.", show_default=False),
]
Agent = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="An agent's folder: read the records as its settings say.", file_okay=False
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A data setting for this time (repeatable), such as delimiter=tab, header=false, url=..., table=...",
    ),
]


def chosen_settings(file: Path | None, agent: Path | None, said: Sequence[str] | None) -> DataSettings:
    """Where the records are and how to read them. Raises: InputError: none named, or a setting that there is not."""
    from pydantic import ValidationError

    from hospital_agent.daemon.office import data_settings
    from hospital_agent.settings import DataSection, load_settings
    from shared.configuring import faults_of

    base = DataSection() if agent is None else load_settings(agent).data
    values = base.model_dump(by_alias=True, exclude_unset=True) | dict(map(_setting, said or ()))
    if file is not None:
        values = {name: value for name, value in values.items() if name not in ("url", "table", "query")}
        values["path"] = file
    try:
        section = DataSection.model_validate(values)
    except ValidationError as error:
        raise InputError(
            faults_of(error),
            where="--set",
            remedy="The settings of [data] are listed by privet agent settings DIR --markdown.",
        ) from None
    return data_settings(section)


def chosen_table(settings: DataSettings) -> Table:
    """All of the records as texts. Raises: InputError: they cannot be read, or are no table of cases."""
    from hospital_agent.records.files import read_table
    from hospital_agent.records.sql_table import read_sql_table

    if settings.url is not None:
        return read_sql_table(settings)
    if settings.path is None:
        raise InputError(
            "no records are named",
            where="FILE",
            remedy="Name a file, an agent's folder with --agent, or a database with --set url=... --set table=...",
        )
    return read_table(settings)


def _setting(text: str) -> tuple[str, Any]:
    name, sign, value = text.partition("=")
    if not sign:
        raise InputError(
            f"expected NAME=VALUE, got {name!r}", where="--set", remedy="Such as --set delimiter=tab."
        )
    try:
        return name.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return name.strip(), value
