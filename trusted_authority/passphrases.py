"""The passphrase of the authority's private files."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from machine.terminal import new_passphrase, passphrase

VARIABLE: Final = "PRIVET_AUTHORITY_PASSPHRASE"


@dataclass(slots=True)
class PassphraseSource:
    """Asks once, and only when a file really needs it."""

    _known: str | None = field(default=None, repr=False)

    def get(self) -> str:
        """The passphrase of an existing vault.

        Raises: InputError: not in the environment, and nobody to ask.
        """
        if self._known is None:
            self._known = passphrase(VARIABLE, "Passphrase of the authority's folder")
        return self._known


def choose(*, asked_for: bool) -> str | None:
    """The passphrase of a new vault, or None for files without one.

    Args: asked_for: the user wants one; without that, one is taken only from the environment.
    Raises: InputError: too short, or nobody to ask.
    """
    return new_passphrase(VARIABLE, "Choose a passphrase for the private files", asked_for=asked_for)
