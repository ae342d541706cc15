"""Words that only a person may know, asked for at the terminal or taken from where a program without one gets them."""

from __future__ import annotations

import os
import sys
from typing import Final

import typer

from shared.errors import InputError

MIN_PASSPHRASE: Final = 12
"""Characters of a passphrase that is chosen."""


def ask_hidden(question: str, kind: str, *, where: str, remedy: str, twice: bool) -> str:
    """What a person types, not shown. Args: kind: what is asked for, `a password`. twice: typed again to be sure.

    Raises: InputError: there is no terminal; `where` and `remedy` say how to give it otherwise.
    """
    if not sys.stdin.isatty():
        raise InputError(f"{kind} is needed and there is no terminal to ask at", where=where, remedy=remedy)
    answer: str = typer.prompt(question, hide_input=True, confirmation_prompt=twice, err=True)
    return answer


def new_password(*, from_input: bool) -> str:
    """A password that somebody chooses, typed twice. Args: from_input: the first line of standard input instead.

    Raises: InputError: there is no terminal.
    """
    if from_input:
        return sys.stdin.readline().rstrip("\r\n")
    remedy = "Add --password-stdin and pipe it in."
    return ask_hidden("Password", "a password", where="--password-stdin", remedy=remedy, twice=True)


def passphrase(variable: str, question: str) -> str:
    """The passphrase of a file that has one: from the environment or, without it there, from the terminal.

    Raises: InputError: not in the environment, and nobody to ask.
    """
    return os.environ.get(variable) or _asked(variable, question, twice=False)


def new_passphrase(variable: str, question: str, *, asked_for: bool) -> str | None:
    """One for a file that is being made, or None for a file without.

    Args: asked_for: the user wants one; without that, one is taken only from the environment.
    Raises: InputError: shorter than `MIN_PASSPHRASE`, or nobody to ask.
    """
    chosen = os.environ.get(variable)
    if not chosen and not asked_for:
        return None
    chosen = chosen or _asked(variable, question, twice=True)
    if len(chosen) < MIN_PASSPHRASE:
        raise InputError(
            f"the passphrase has fewer than {MIN_PASSPHRASE} characters",
            where=variable,
            remedy="Choose a longer one, such as five words.",
        )
    return chosen


def _asked(variable: str, question: str, *, twice: bool) -> str:
    return ask_hidden(
        question,
        "a passphrase",
        where=variable,
        remedy="Set this environment variable, or run the command in a terminal.",
        twice=twice,
    )
