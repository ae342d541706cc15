"""How a command ends: its report or its error, as text or as JSON, and the exit code.

| code | meaning |
|---|---|
| 0 | done |
| 1 | internal error: a bug of ours |
| 2 | wrong usage of the command line |
| 3 | input refused: a file, a setting or an argument |
| 4 | refused by the other side |
| 5 | try later: the other side cannot be reached or is busy |
| 6 | the job failed or was declined |
| 130 | interrupted (Ctrl-C) |
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

from typer.exceptions import TyperException

from shared.errors import (
    InputError,
    InternalError,
    JobFailure,
    PeerError,
    PrivetError,
    TemporaryError,
    kind_and_place,
)
from shared.reports import Report


class ExitCode(IntEnum):
    """What the shell sees; the table stands at the top of this module."""

    DONE = 0
    INTERNAL = 1
    USAGE = 2
    INPUT = 3
    REFUSED = 4
    LATER = 5
    JOB_FAILED = 6
    INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Problem:
    """An error as it is printed: title, detail, and where it applies code, remedy and the number of its page."""

    exit_code: ExitCode
    title: str
    detail: str
    code: str = ""
    where: str = ""
    remedy: str = ""
    number: str = ""

    @property
    def document(self) -> Mapping[str, Any]:
        """The problem object of `--json`; empty members are left out."""
        members = {
            "type": f"urn:privet:problem:{self.code or self.exit_code.name.lower().replace('_', '-')}",
            "title": self.title,
            "detail": self.detail,
            "code": self.code,
            "where": self.where,
            "remedy": self.remedy,
            "number": self.number,
            "help": self.help,
            "exit_code": int(self.exit_code),
        }
        return {key: value for key, value in members.items() if value != ""}

    @property
    def help(self) -> str:
        """The command that shows the page of its number."""
        return f"privet explain {self.number}" if self.number else ""

    @property
    def text(self) -> str:
        """One paragraph for a person."""
        if not self.number:
            return f"{self.title}: {self.detail}"
        return f"{self.title} [{self.number}]: {_sentence(self.detail)} More: {self.help}"


def problem_of(error: Exception) -> Problem:
    """The problem that an error is, by whose fault it is (shared.errors)."""
    problem = _problem_of(error)
    return replace(problem, number=error.number) if isinstance(error, PrivetError) else problem


def _problem_of(error: Exception) -> Problem:
    match error:
        case InputError():
            return Problem(
                ExitCode.INPUT, "Input refused", str(error), where=error.where, remedy=error.remedy
            )
        case PeerError():
            return Problem(ExitCode.REFUSED, "Refused", str(error), code=error.code.value)
        case JobFailure():
            return Problem(ExitCode.JOB_FAILED, "Job failed", str(error), code=error.code.value)
        case TemporaryError() | ConnectionError() | TimeoutError():
            return Problem(ExitCode.LATER, "Try again later", str(error))
        case OSError():
            return _file_problem(error)
        case InternalError():
            return Problem(ExitCode.INTERNAL, "Internal error", str(error))
        case _:
            return _unexpected(error)


def _file_problem(error: OSError) -> Problem:
    where = str(error.filename or "")
    reason = error.strerror or type(error).__name__
    return Problem(ExitCode.INPUT, "Input refused", f"{where}: {reason}" if where else reason, where=where)


def _unexpected(error: Exception) -> Problem:
    detail = f"{kind_and_place(error)}; please report it as SECURITY.md or CONTRIBUTING.md says"
    return Problem(ExitCode.INTERNAL, "Internal error", detail)


def usage_problem(error: TyperException) -> Problem:
    """Words of the command line that do not parse, and where to read how they should be."""
    context = getattr(error, "ctx", None)
    remedy = f"See: {context.command_path} --help" if context is not None else ""
    detail = error.format_message().replace("Value error, ", "") or "a command is missing"
    return Problem(ExitCode.USAGE, "Wrong usage", f"{_sentence(detail)} {remedy}".rstrip(), remedy=remedy)


def _sentence(text: str) -> str:
    """With one stop at its end."""
    return text if text.endswith(("?", "!")) else f"{text.rstrip('.')}."


def wants_json(arguments: Sequence[str]) -> bool:
    """Whether `--json` stands among the words of the command line, before a lone `--`."""
    words = list(arguments)
    return "--json" in (words[: words.index("--")] if "--" in words else words)


def print_report(report: Report, *, as_json: bool) -> None:
    """The report on standard output."""
    _write(_dump(report.document) if as_json else _shown(report.text))


def print_problem(problem: Problem, *, as_json: bool) -> None:
    """The text on standard error; with `--json` also the problem object on standard output."""
    if as_json:
        _write(_dump(problem.document))
    else:
        sys.stderr.write(_shown(problem.text) + "\n")


def _shown(text: str) -> str:
    """Nothing that a terminal obeys but ends of lines and tabs: names and values come from files of others."""
    from shared.tree.schema_checks import plain_line

    return "\n".join("\t".join(map(plain_line, line.split("\t"))) for line in text.split("\n"))


def _write(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _dump(document: Mapping[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False)
