"""The programs behind `privet NAME`, each imported only when it is asked for.

A hospital's machine that runs `privet agent` never loads the cloud's code, and `privet authority` needs no
database or network library. The short descriptions stand here so that `privet --help` loads none of them.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command as build_command

_LISTING: Final = "privet.listing"


@dataclass(frozen=True, slots=True)
class Program:
    """One part of the command: the module whose `app` holds it, and its line in the help."""

    module: str
    summary: str

    def load(self) -> TyperCommand | TyperGroup:
        """Import the program and add `--json` to each of its commands."""
        command = build_command(importlib.import_module(self.module).app)
        if not isinstance(command, TyperCommand | TyperGroup):
            raise TypeError(f"{self.module}.app is not a Typer program")
        for leaf in _leaves(command):
            leaf.params.append(_json_option())
        return command


PROGRAMS: Final = {
    "authority": Program(
        "trusted_authority.__main__", "Found a federation, certify its members, deal its keys."
    ),
    "cloud": Program("cloud_service.__main__", "Run the cloud that prompts, adds and returns."),
    "agent": Program("hospital_agent.__main__", "Run a hospital's agent: nobody else sees its records."),
    "data": Program("hospital_agent.commands.data", "Look at records, and bring them and a study together."),
    "audit": Program("privet.auditing", "Check exported logs of cloud and hospitals; needs no keys."),
    "export": Program("privet.exporting", "Write a finished tree for other programs or for people."),
    "explain": Program("privet.explaining", "Read what an error with a number means, and what to do."),
    "demo": Program("privet.demo", "Watch three hospitals grow one tree on this machine."),
}


class ProgramGroup(TyperGroup):
    """The root of the command; resolves `privet NAME` through `PROGRAMS`."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """The names of all programs, in the order of use."""
        return list(PROGRAMS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The program itself, or for the help's list of commands a stand-in that only has a summary."""
        program = PROGRAMS.get(cmd_name)
        if program is None:
            return None
        if ctx.meta.get(_LISTING):
            return TyperCommand(cmd_name, help=program.summary)
        return program.load()

    def format_help(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        """Print the help without importing any program."""
        ctx.meta[_LISTING] = True
        super().format_help(ctx, formatter)


def _leaves(command: Any) -> Iterable[TyperCommand]:
    if isinstance(command, TyperGroup):
        for child in command.commands.values():
            yield from _leaves(child)
    else:
        yield command


def _json_option() -> Any:
    # Typer builds options from signatures only, so the option is taken from a command made for the purpose.
    # Its value is read in `privet.outcome.wants_json`, from the words of the command line, because it must
    # be known even where they cannot be parsed.
    template = typer.Typer(add_completion=False)

    @template.command()
    def carrier(
        json_output: Annotated[
            bool, typer.Option("--json", expose_value=False, help="Print one JSON document and nothing else.")
        ] = False,
    ) -> None:
        """Carry the option."""

    return build_command(template).params[0]
