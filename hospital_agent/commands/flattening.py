"""`privet data flatten`: FHIR resources to a table with one value in a field."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shared.reports import Report


def flatten(
    view: Annotated[
        Path,
        typer.Argument(metavar="VIEW", help="A SQL-on-FHIR ViewDefinition, as JSON.", show_default=False),
    ],
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="NDJSON files of FHIR resources.", show_default=False),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", metavar="FILE", help="The table: a .parquet or .csv file.", show_default=False
        ),
    ],
    limit: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.01, help="What one resource may take at most.")
    ] = 60,
) -> Report:
    """Flatten FHIR resources, as bulk exports write them, into a table by a view definition.

    Exit codes: 0 written; 2 wrong usage; 3 a view or a line that cannot be used, or takes too long, which it names.
    """
    from rich.console import Console

    from hospital_agent.records.flattening import flatten as write_table

    console = Console(stderr=True)
    with console.status("reading resources") as status:
        done = write_table(view, files, out, lambda seen: status.update(f"{seen} resources read"), limit)
    return Report(
        {"out": str(out), "resources": done.resources, "rows": done.rows, "columns": list(done.columns)},
        f"{out}: {done.rows} rows of {len(done.columns)} columns, from {done.resources} resources",
    )
