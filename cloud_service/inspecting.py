"""`privet cloud settings` and `privet cloud health`: what is in force here, and whether the running cloud can work."""

from __future__ import annotations

from typing import Annotated

import typer

from cloud_service.places import Folder
from shared.reports import Report

_ANSWER_SECONDS = 4.0


def add_to(app: typer.Typer) -> None:
    """Add every command of this module to `privet cloud`."""
    app.command("settings")(show_settings)
    app.command()(health)


def show_settings(
    folder: Folder,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Every setting there is, explained, as a table in Markdown.")
    ] = False,
) -> Report:
    """What is in force, and where each value comes from; secrets are hidden."""
    from cloud_service.places import PLACES
    from cloud_service.settings import all_settings, effective_settings
    from shared.configuring import report_of, table_of

    if markdown:
        known = all_settings()
        return Report({"settings": [one.path for one in known]}, table_of(known, PLACES.prefix))
    return report_of(effective_settings(folder))


def health(folder: Folder) -> Report:
    """Ask the cloud that runs from this folder, on this machine, whether it can work. For container health checks."""
    from cloud_service.api.probing import ask_ready
    from cloud_service.settings import load_settings

    where = ask_ready(load_settings(folder), _ANSWER_SECONDS)
    return Report({"ready": True, "address": where}, f"The cloud at {where} is ready.")
