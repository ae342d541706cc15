"""`privet agent stewards`: who may answer for this hospital on its pages, with a password each."""

from __future__ import annotations

from typing import Annotated

import typer

from hospital_agent.commands.arguments import Folder
from machine.terminal import new_password
from shared.reports import Report

stewards = typer.Typer(
    help="People who may answer studies and jobs on this hospital's pages.",
    no_args_is_help=True,
    add_completion=False,
)
Name = Annotated[
    str, typer.Argument(metavar="NAME", help="The person's name, as this hospital's log will have it.")
]
FromInput = Annotated[
    bool, typer.Option("--password-stdin", help="Read the password from standard input, one line.")
]


@stewards.command("add")
def add(folder: Folder, name: Name, password_stdin: FromInput = False) -> Report:
    """Let somebody answer on the pages, or give somebody a new password. Counts at once, also while the agent runs."""
    from hospital_agent.people.stewards import Stewards
    from hospital_agent.settings import load_settings

    local = load_settings(folder).local
    Stewards.of(folder).with_one(name, new_password(from_input=password_stdin)).save()
    text = f"{name} may answer studies and jobs on the pages of this agent, with this password."
    if not (local.serve and local.pages and local.approve_on_page):
        text += "\nNote: the settings switch that off (local.serve, local.pages, local.approve_on_page)."
    return Report({"steward": name}, text)


@stewards.command("list")
def list_stewards(folder: Folder) -> Report:
    """The names."""
    from hospital_agent.people.stewards import Stewards
    from hospital_agent.settings import load_settings

    load_settings(folder)
    names = Stewards.of(folder).names
    text = "\n".join(names) or f"Nobody yet. Next: privet agent stewards add {folder} NAME"
    return Report({"stewards": names}, text)


@stewards.command("remove")
def remove(folder: Folder, name: Name) -> Report:
    """Take that right from somebody. Counts at once; what was answered stays."""
    from hospital_agent.people.stewards import Stewards
    from hospital_agent.settings import load_settings

    load_settings(folder)
    Stewards.of(folder).without(name).save()
    return Report({"steward": name, "removed": True}, f"{name} may answer nothing on the pages any more.")
