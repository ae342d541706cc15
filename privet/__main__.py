"""The command `privet`: run one program's command, print its report or its error, return the exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated

import typer
from typer.core import TyperGroup
from typer.exceptions import Abort, TyperException
from typer.main import get_command

from privet.outcome import ExitCode, print_problem, print_report, problem_of, usage_problem, wants_json
from privet.programs import ProgramGroup
from shared.errors import InternalError
from shared.reports import Report

app = typer.Typer(
    cls=ProgramGroup,
    no_args_is_help=True,
    epilog=(
        "Exit codes: 0 done, 1 internal error, 2 wrong usage, 3 input refused, 4 refused by the other side, "
        "5 try later, 6 job failed or declined, 130 interrupted."
    ),
)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"privet {version('privet')}")
        raise typer.Exit


@app.callback()
def root(
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Hospitals grow one decision tree together, and none of them shows its records."""


def run(arguments: Sequence[str]) -> int:
    """Run `privet ARGUMENTS` in this process.

    Returns: the exit code. Prints the report on standard output, problems on standard error (with `--json`
        as a problem object on standard output).
    """
    as_json = wants_json(arguments)
    try:
        return _finish(_invoke(arguments), as_json=as_json)
    except TyperException as error:
        problem = usage_problem(error)
    except (Abort, KeyboardInterrupt):
        return ExitCode.INTERRUPTED
    except Exception as error:  # the outermost net: every bug becomes exit code 1 without its text
        problem = problem_of(error)
    print_problem(problem, as_json=as_json)
    return problem.exit_code


def _invoke(arguments: Sequence[str]) -> object:
    command = get_command(app)
    if not isinstance(command, TyperGroup):
        raise InternalError("the root of the command is not a group")
    return command.main(list(arguments), prog_name="privet", standalone_mode=False)


def _finish(outcome: object, *, as_json: bool) -> int:
    if isinstance(outcome, Report):
        print_report(outcome, as_json=as_json)
        return outcome.exit_code
    if isinstance(outcome, int):  # typer.Exit, which includes --help, --version and Ctrl-C
        return outcome
    if outcome is None:
        return ExitCode.DONE
    raise InternalError(f"a command returned {type(outcome).__name__}, expected a report")


def main() -> None:
    """Entry point of the `privet` script."""
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
