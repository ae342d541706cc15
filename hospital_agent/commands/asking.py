"""Words that only a person may know, asked at the terminal."""

from __future__ import annotations

import sys

import typer

from shared.errors import InputError


def ask_hidden(question: str, kind: str, *, where: str, remedy: str, twice: bool) -> str:
    """What a person types, not shown. Args: kind: what is asked for, `a password`. twice: typed again to be sure.

    Raises: InputError: there is no terminal; `where` and `remedy` say how to give it otherwise.
    """
    if not sys.stdin.isatty():
        raise InputError(f"{kind} is needed and there is no terminal to ask at", where=where, remedy=remedy)
    answer: str = typer.prompt(question, hide_input=True, confirmation_prompt=twice, err=True)
    return answer
