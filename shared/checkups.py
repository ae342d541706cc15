"""Looking over a program and its surroundings: a list of checks, each passed or a problem with its remedy.

A check is a function that returns what it found, in a sentence, or raises what is wrong; a check that makes no sense
after an earlier problem raises `Skipped`. Texts name places and rules, never a count, a row, a key or a password.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from shared.errors import InputError, InternalError, PeerError, PrivetError, TemporaryError
from shared.reports import Report

_INPUT: Final = 3
_REFUSED: Final = 4
_LATER: Final = 5


class Skipped(Exception):  # noqa: N818 - not an error: there is nothing to look at
    """The check cannot be made, for the reason given."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing to look at. `remedy`: the next step where the error itself names none."""

    name: str
    look: Callable[[], str]
    remedy: str


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check came to. `outcome`: `pass`, `problem` or `skipped`. `exit_code`: 0, or by whose fault it is."""

    name: str
    outcome: str
    text: str
    remedy: str = ""
    number: str = ""
    exit_code: int = 0

    @property
    def document(self) -> dict[str, Any]:
        """Plain JSON; empty members are left out."""
        members = {
            "check": self.name,
            "outcome": self.outcome,
            "text": self.text,
            "remedy": self.remedy,
            "number": self.number,
        }
        return {name: value for name, value in members.items() if value}

    @property
    def lines(self) -> list[str]:
        """For a person."""
        number = f" [{self.number}]" if self.number else ""
        head = f"{self.outcome:8} {self.name}: {self.text}{number}"
        return [head, f"         do: {self.remedy}"] if self.remedy else [head]


def examine(checks: Iterable[Check]) -> list[Finding]:
    """Make every check in order, whatever the ones before came to."""
    return [_finding(check) for check in checks]


def _finding(check: Check) -> Finding:
    try:
        return Finding(check.name, "pass", check.look())
    except Skipped as skipped:
        return Finding(check.name, "skipped", str(skipped))
    except InternalError:
        raise
    except PrivetError as error:
        remedy = error.remedy if isinstance(error, InputError) and error.remedy else check.remedy
        text = str(error).removesuffix(remedy).rstrip(" .")
        return Finding(check.name, "problem", text, remedy, error.number, _code_of(error))
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        reason = error.strerror or type(error).__name__
        return Finding(check.name, "problem", f"{place}{reason}", check.remedy, "", _INPUT)


def _code_of(error: PrivetError) -> int:
    if isinstance(error, PeerError):
        return _REFUSED
    return _LATER if isinstance(error, TemporaryError) else _INPUT


def report_of(findings: list[Finding]) -> Report:
    """All findings; the exit code is that of the problem that this side can mend first: 3, else 4, else 5."""
    codes = sorted(finding.exit_code for finding in findings if finding.exit_code)
    problems = sum(finding.outcome == "problem" for finding in findings)
    verdict = "No problem was found." if not problems else f"Problems: {problems}."
    lines = [line for finding in findings for line in finding.lines]
    document = {"problems": problems, "checks": [finding.document for finding in findings]}
    return Report(document, "\n".join([*lines, verdict]), exit_code=codes[0] if codes else 0)
