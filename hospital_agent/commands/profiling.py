"""`privet data inspect`: what is in a file or a table of records, and what to do before a study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shared.errors import InputError
from shared.reports import Report


def inspect(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="The records.", show_default=False)
    ] = None,
    floor: Annotated[int, typer.Option(min=1, help="Fewest rows that are told of.")] = 5,
) -> Report:
    """What was found in the records: columns, kinds, values, and what to do about them."""
    from hospital_agent.records.files import read_table
    from hospital_agent.records.profile.facts import facts_of
    from hospital_agent.records.profile.shown import shown_values
    from hospital_agent.records.source import DataSettings

    if file is None:
        raise InputError("no records are named", where="FILE", remedy="Name a file.")
    table = read_table(DataSettings(path=file))
    columns = []
    for column in table.columns:
        facts = facts_of(column)
        shown = shown_values(facts.values, facts.counts, floor)
        columns.append(
            {
                "name": facts.name,
                "kind": facts.kind,
                "different": facts.different,
                "held_back": shown.held_back,
            }
        )
    lines = [f"{c['name']}: {c['kind']}, {c['different']} different values" for c in columns]
    return Report({"rows": table.row_count, "columns": columns}, "\n".join(lines))
