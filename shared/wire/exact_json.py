"""JSON about patients: numbers with all their digits, and no name twice in one object.

Of a name that stands twice, readers of JSON take the last without a word (RFC 8259, section 4): a patient of two values
would be answered by one of them.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, Final

REPEATED: Final = "a name stands twice in one object of the JSON; give each name once"
"""For who sent it; which name it is, is not said, for messages hold nothing of what was sent."""


class RepeatedNameError(ValueError):
    """An object has two members of one name."""

    def __init__(self) -> None:
        super().__init__(REPEATED)


def read_exact(raw: bytes | str) -> Any:
    """A JSON text; numbers with a point or an exponent as decimals, since a threshold may be one digit away.

    Raises: RepeatedNameError. ValueError: no JSON, as no text with NaN or Infinity is. RecursionError: nested too deep.
    """
    return json.loads(raw, parse_float=Decimal, parse_constant=_refused, object_pairs_hook=_once_each)


def _once_each(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    if len(found) != len(members):
        raise RepeatedNameError
    return found


def _refused(_text: str) -> None:
    raise ValueError
