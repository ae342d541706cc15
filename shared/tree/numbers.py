"""Numbers of records, exactly: decimal text to a number, and a number to the fixed-point code that mode G works on.

A code is `(x - minimum) * 10^decimals`, an integer of at most 32 bits. No float is ever made on the way. The range and
the decimals are public: they stand in the study's schema, and errors may name them. A record's number may not be named.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any, Final

from shared.errors import InputError
from shared.tree.schema_checks import members, parse_cut, text_of

MAX_DECIMALS: Final = 17
MAX_CODE_BITS: Final = 32
MAX_WHOLE_DIGITS: Final = 64
"""Before the point, of a record's number; as many behind it."""

_NUMBER: Final = re.compile(r"[+-]?([0-9]{1,64}(\.[0-9]{0,64})?|\.[0-9]{1,64})([eE][+-]?[0-9]{1,3})?")
_EXACT: Final = Context(prec=4096)
"""More digits than a difference of two numbers of records can have: 128 digits, shifted by up to 999 places."""


class UnknownValueError(InputError):
    """A field that the schema has no code for. The text names the attribute, never the field's content."""


def parse_number(name: str, text: str) -> Decimal:
    """A finite number from a record's text. Args: name: of the attribute. Raises: UnknownValueError: it is none."""
    if _NUMBER.fullmatch(text) is None:
        raise UnknownValueError(
            "expected a finite decimal number such as 37.5",
            where=f"attribute {name!r}",
            remedy="Correct the field; NaN, infinity, units and thousands separators are refused.",
        )
    return Decimal(text)


def decimal_text(number: Decimal) -> str:
    """The one spelling of a number in a tree: no exponent, no zeros at the end, no sign of plus, `0` for zero."""
    text = format(number, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


@dataclass(frozen=True, slots=True)
class FixedPoint:
    """The public range and precision of a numeric attribute. Build it with `create`.

    `missing`: the number that an empty field counts as, None where an empty field is refused.
    """

    minimum: Decimal
    maximum: Decimal
    decimals: int
    missing: Decimal | None = None

    @classmethod
    def create(
        cls, name: str, minimum: str, maximum: str, decimals: int, missing: str | None = None
    ) -> FixedPoint:
        """From the texts of the manifest. Args: name: of the attribute.

        Raises: InputError: not plain decimals, more decimals than declared, an empty range, or codes of more than 32
            bits.
        """
        where = f"attribute {name!r}"
        if not 0 <= decimals <= MAX_DECIMALS:
            raise InputError(f"expected 0 to {MAX_DECIMALS} decimals, got {decimals}", where=where)
        low, high = parse_cut(name, minimum), parse_cut(name, maximum)
        found = cls(low, high, decimals, None if missing is None else parse_cut(name, missing))
        if low > high:
            raise InputError(
                f"the minimum {low} is above the maximum {high}", where=where, remedy="Exchange them."
            )
        for bound in (low, high, found.missing):
            if bound is not None and not found._is_fine(bound):
                raise InputError(
                    f"{bound} is outside {low} to {high}, or has more than {decimals} decimals",
                    where=where,
                    remedy="Give minimum, maximum and the number for missing within the declared range and decimals.",
                )
        if found.width_bits > MAX_CODE_BITS:
            raise InputError(
                f"{low} to {high} with {decimals} decimals needs {found.width_bits} bits; {MAX_CODE_BITS} are allowed",
                where=where,
                remedy="Declare a narrower range or fewer decimals.",
            )
        return found

    @property
    def greatest_code(self) -> int:
        """The code of the maximum."""
        return self._scaled(self.maximum)

    @property
    def width_bits(self) -> int:
        """Bits of the greatest code, at least 1."""
        return max(1, self.greatest_code.bit_length())

    def code_of(self, name: str, number: Decimal) -> int:
        """The code of a record's number. Args: name: of the attribute.

        Raises: UnknownValueError: outside the range, or with more decimals than declared.
        """
        if not self.minimum <= number <= self.maximum:
            raise UnknownValueError(
                f"a number outside the study's range, {self.minimum} to {self.maximum}",
                where=f"attribute {name!r}",
                remedy="Correct the field (is the unit the study's?), or have the study declare a wider range.",
            )
        if not self._is_fine(number):
            raise UnknownValueError(
                f"a number with more decimals than the study declares, {self.decimals}",
                where=f"attribute {name!r}",
                remedy="Round the column, or have the study declare more decimals.",
            )
        return self._scaled(number)

    def number_of(self, code: int) -> Decimal:
        """The number that a code stands for."""
        return _EXACT.add(self.minimum, _EXACT.scaleb(Decimal(code), -self.decimals))

    def to_json(self) -> dict[str, Any]:
        """The plain form that the manifest carries."""
        form = {
            "minimum": format(self.minimum, "f"),
            "maximum": format(self.maximum, "f"),
            "decimals": self.decimals,
        }
        return form if self.missing is None else form | {"missing": format(self.missing, "f")}

    @classmethod
    def from_json(cls, name: str, data: Any) -> FixedPoint:
        """The inverse of `to_json`, with every check of `create`. Raises: InputError: another form."""
        where = f"numeric attribute {name!r}"
        entry = members(data, {"minimum", "maximum", "decimals", "missing"}, where, optional={"missing"})
        if type(entry["decimals"]) is not int:
            raise InputError("expected an integer for decimals", where=where)
        low, high = (text_of(entry[end], where) for end in ("minimum", "maximum"))
        missing = entry.get("missing")
        return cls.create(
            name, low, high, entry["decimals"], None if missing is None else text_of(missing, where)
        )

    def _is_fine(self, number: Decimal) -> bool:
        """In range and without a digit behind the declared decimals."""
        if not self.minimum <= number <= self.maximum:
            return False
        shifted = _EXACT.scaleb(number, self.decimals)
        return shifted == shifted.to_integral_value(context=_EXACT)

    def _scaled(self, number: Decimal) -> int:
        return int(_EXACT.scaleb(_EXACT.subtract(number, self.minimum), self.decimals))
