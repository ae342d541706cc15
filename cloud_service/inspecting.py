"""`privet cloud settings` and `privet cloud health`: what is in force here, and whether the running cloud can work."""

from __future__ import annotations

import typer

from cloud_service.places import PLACES, Folder
from machine.arguments import Markdown, settings_report
from shared.reports import Report

_ANSWER_SECONDS = 4.0


def add_to(app: typer.Typer) -> None:
    """Add every command of this module to `privet cloud`."""
    app.command("settings")(show_settings)
    app.command()(health)


def show_settings(
    folder: Folder,
    markdown: Markdown = False,
) -> Report:
    """What is in force, and where each value comes from; secrets are hidden."""
    from cloud_service.settings import all_settings, effective_settings

    return settings_report(PLACES, all_settings(), lambda: effective_settings(folder), markdown=markdown)


def health(folder: Folder) -> Report:
    """Ask the cloud that runs from this folder, on this machine, whether it can work. For container health checks."""
    from cloud_service.api.probing import ask_ready
    from cloud_service.settings import load_settings

    where = ask_ready(load_settings(folder), _ANSWER_SECONDS)
    return Report({"ready": True, "address": where}, f"The cloud at {where} is ready.")
