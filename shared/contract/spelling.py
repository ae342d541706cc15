"""When two texts are the same to a contract."""

from __future__ import annotations

import unicodedata
from decimal import Decimal

from shared.tree.numbers import UnknownValueError, decimal_text, parse_number
from shared.wire.contract import Spelling


def as_spelled(text: str, spelling: Spelling) -> str:
    """The one form that all texts have which are the same under a rule of spelling; of `exact`, the text itself."""
    text = text.strip()
    if spelling == "number":
        number = number_or_none(text)
        return text if number is None else decimal_text(number)
    return folded(text) if spelling == "folded" else text


def as_code(text: str, spelling: Spelling) -> str:
    """The form in which a text and the prefixes of codes are compared: of `number` a code stays as it is written."""
    return as_spelled(text, "exact" if spelling == "number" else spelling)


def folded(text: str) -> str:
    """Without case, accents and repeated blanks."""
    apart = unicodedata.normalize("NFKD", text)
    plain = "".join(character for character in apart if not unicodedata.combining(character))
    return " ".join(plain.casefold().split())


def number_or_none(text: str) -> Decimal | None:
    """The number that a text is, if it is one."""
    try:
        return parse_number("", text)
    except UnknownValueError:
        return None
