"""What a command of any Privet program hands back: one document for machines, one text for people.

The commands of the three programs return a `Report` and print nothing on standard output; the one place
that prints it, as JSON or as text, is `privet.__main__` (docs/adr/0002-one-command.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of one command.

    Args: document: plain JSON values (dict, list, str, int, float, bool, None), printed with `--json`.
        text: the same for a person, without a newline at its end, printed otherwise.
        exit_code: 0, or 1 where the command did all it should and the outcome is not the one to hope for.
    """

    document: Mapping[str, Any]
    text: str
    exit_code: int = 0
