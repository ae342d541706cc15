"""Checks on the plain parts of a schema: names, lists of values, cut points, and the JSON around them.

Each names the place, what was expected, and the remedy (protocol section 13 gives the limits).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

from shared.errors import InputError

MAX_TEXT: Final = 200

_CUT: Final = re.compile(r"-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,17})?")
_UNSAFE_CATEGORIES: Final = frozenset({"Cc", "Cs", "Zl", "Zp"})
_UNSEEN: Final = re.compile(
    r"[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""What turns the direction of words or shows nothing, so that two names look alike. The joiners U+200C and U+200D are
not among them: Persian and the scripts of India are written with them."""


def parse_cut(name: str, text: str) -> Decimal:
    """A cut point from the text the manifest allows. Raises: InputError: another spelling."""
    if _CUT.fullmatch(text) is None:
        raise InputError(
            "a cut point is a plain decimal with at most 18 digits before and 17 after the point",
            where=f"attribute {name!r}",
            remedy='Write it like "37.5", without exponent, sign of plus or spaces.',
        )
    return Decimal(text)


def check_list(texts: Sequence[str], what: str, limit: int, where: str) -> None:
    """Size, text and distinctness of a list of values or labels. Raises: InputError."""
    check_size(texts, what, limit, where)
    for text in texts:
        check_text(text, where)
    check_distinct(texts, what, where)


def check_size(items: Sequence[object], what: str, limit: int, where: str) -> None:
    """Between one and `limit` items. Raises: InputError."""
    if not 1 <= len(items) <= limit:
        raise InputError(
            f"expected 1 to {limit} {what}, got {len(items)}",
            where=where,
            remedy=f"Give 1 to {limit} {what}; an identifier column does not belong here.",
        )


def check_name(name: str, where: str) -> None:
    """A name that is not blank and is safe to show. Raises: InputError."""
    if not name.strip():
        raise InputError("a name is empty", where=where, remedy="Give every column a name.")
    check_text(name, where)


def is_plain_line(text: str) -> bool:
    """Whether a text is one line without control characters, which terminals and pages obey, and invisible ones."""
    return not any(map(_is_obeyed, text))


def plain_line(text: str) -> str:
    """The text with such characters as escapes (`\\n`, `\\x1b`): for showing what a file of others holds."""
    return "".join(c.encode("unicode_escape").decode() if _is_obeyed(c) else c for c in text)


def _is_obeyed(character: str) -> bool:
    return unicodedata.category(character) in _UNSAFE_CATEGORIES or _UNSEEN.match(character) is not None


def check_text(text: str, where: str) -> None:
    """Short, on one line, without characters that a terminal obeys. Raises: InputError."""
    if not is_plain_line(text) or len(text) > MAX_TEXT:
        raise InputError(
            f"a name or value has a control character, an invisible one, or more than {MAX_TEXT} characters",
            where=where,
            remedy="Shorten it and keep it to one line of plain text.",
        )


def check_distinct(texts: Sequence[str], what: str, where: str) -> None:
    """No text twice. Raises: InputError."""
    if len(set(texts)) != len(texts):
        raise InputError(f"the {what} repeat", where=where, remedy="Make them distinct.")


def members(
    data: Any, names: set[str], where: str, optional: frozenset[str] | set[str] = frozenset()
) -> dict[str, Any]:
    """An object with these members, the `optional` ones perhaps missing. Raises: InputError."""
    if not isinstance(data, dict) or not names - optional <= set(data) <= names:
        raise InputError(f"expected an object with the members {', '.join(sorted(names))}", where=where)
    return data


def listed(data: Any, where: str) -> list[Any]:
    """A JSON list. Raises: InputError."""
    if not isinstance(data, list):
        raise InputError("expected a list", where=where)
    return data


def text_of(data: Any, where: str) -> str:
    """A JSON text. Raises: InputError."""
    if not isinstance(data, str):
        raise InputError("expected text", where=where)
    return data
