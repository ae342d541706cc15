"""Where the passphrase of the private files comes from: the environment, or a person at the terminal."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from typing import Final

import typer

from shared.errors import InputError

VARIABLE: Final = "PRIVET_AUTHORITY_PASSPHRASE"
MIN_LENGTH: Final = 12


@dataclass(slots=True)
class PassphraseSource:
    """Asks once, and only when a file really needs it."""

    _known: str | None = field(default=None, repr=False)

    def get(self) -> str:
        """The passphrase of an existing vault.

        Raises: InputError: not in the environment, and nobody to ask.
        """
        if self._known is None:
            self._known = os.environ.get(VARIABLE) or _ask(
                "Passphrase of the authority's folder", twice=False
            )
        return self._known


def choose(*, asked_for: bool) -> str | None:
    """The passphrase of a new vault, or None for files without one.

    Args: asked_for: the user wants one; without that, one is taken only from the environment.
    Raises: InputError: shorter than 12 characters, or nobody to ask.
    """
    passphrase = os.environ.get(VARIABLE)
    if not passphrase and not asked_for:
        return None
    passphrase = passphrase or _ask("Choose a passphrase for the private files", twice=True)
    if len(passphrase) < MIN_LENGTH:
        raise InputError(
            f"the passphrase has fewer than {MIN_LENGTH} characters",
            remedy="Choose a longer one, such as five words.",
        )
    return passphrase


def _ask(question: str, *, twice: bool) -> str:
    if not sys.stdin.isatty():
        raise InputError(
            "a passphrase is needed and there is no terminal to ask at",
            where=VARIABLE,
            remedy="Set this environment variable, or run the command in a terminal.",
        )
    answer: str = typer.prompt(question, hide_input=True, confirmation_prompt=twice, err=True)
    return answer
