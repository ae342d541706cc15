"""What a FHIR element says, as a value of the study: numbers in the declared unit, codes and texts by the value map."""

from __future__ import annotations

import re
from bisect import bisect_left
from calendar import monthrange
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Context, Decimal
from functools import lru_cache
from typing import Any, Final

from shared.contract.fhir_resources import concept_codings, text_of
from shared.errors import InputError
from shared.wire.fhir_mapping import MappedAttribute, MappedValue

UCUM: Final = "http://unitsofmeasure.org"
_EXACT: Final = Context(prec=4096)
_MAX_DIGITS: Final = 40
_UNIT: Final = re.compile(r"[!-~]{1,50}")
_UNITLESS: Final = ("", "1")

Value = str | Decimal | bool


@dataclass(frozen=True, slots=True)
class Reading:
    """`value`: the study's, None where there is none, and `note` then says why. `given`: as the resource has it."""

    value: Value | None
    given: str = ""
    note: str = ""


def read_element(attribute: MappedAttribute, kind: str, content: Any) -> Reading:
    """One element of a FHIR type through the mapping of its attribute.

    Raises: InputError: a number in a unit that the mapping neither has nor converts; names the units, not the number.
    """
    if kind in ("Quantity", "Age", "Duration") and isinstance(content, Mapping):
        return _quantity(attribute, content)
    if isinstance(content, bool):
        return _worded(attribute, "true" if content else "false", content)
    if isinstance(content, int | Decimal):
        if attribute.unit not in _UNITLESS:
            raise _unit_fault(attribute, "no unit")
        return _number(attribute, Decimal(content), str(content))
    if kind == "CodeableConcept" and isinstance(content, Mapping):
        return _coded(attribute, concept_codings(content), text_of(content.get("text")))
    if kind == "Coding" and isinstance(content, Mapping):
        return _coded(attribute, concept_codings({"coding": [content]}), "")
    if isinstance(content, str) and kind in ("String", "Code", "Uri", "Date", "DateTime", "Time", "Path"):
        return _worded(attribute, content, content)
    return Reading(None, note=f"its value is a {kind}, which the mapping cannot read")


def kind_of(content: object) -> str:
    """The FHIR type of an element that a path found, by its members."""
    if not isinstance(content, Mapping):
        return "Path"
    if "coding" in content or set(content) == {"text"}:
        return "CodeableConcept"
    return "Quantity" if "value" in content else "Coding"


@lru_cache(maxsize=4096)
def parts_of(token: str) -> tuple[str, str, bool]:
    """System and code of a mapping's token, and whether all codes that begin so are meant."""
    system, _, code = token.rpartition("|")
    return system, code.removesuffix("*"), code.endswith("*")


def is_among(codings: Iterable[tuple[str, str]], wanted: Iterable[str]) -> bool:
    """Whether one of these systems and codes is wanted. A code without its system is nobody's."""
    tokens = [parts_of(one) for one in wanted]
    return any(
        given == system and (found.startswith(code) if below else found == code)
        for given, found in codings
        for system, code, below in tokens
    )


def age_in_years(born: str, on: date) -> int | None:
    """Whole years from a birth date to a day; None where it is no date, lies later, or leaves two ages possible."""
    parts = born.split("-")
    if len(parts) > 3 or not all(part.isdecimal() for part in parts):
        return None
    try:
        year, month, day = (*map(int, parts), *(0,) * (3 - len(parts)))
        first = date(year, month or 1, day or 1)
        last = date(year, month or 12, day or monthrange(year, month or 12)[1])
    except ValueError:
        return None
    age = _age(first, on)
    return age if age >= 0 and age == _age(last, on) else None


def _age(born: date, on: date) -> int:
    return on.year - born.year - ((on.month, on.day) < (born.month, born.day))


def read_number(attribute: MappedAttribute, number: Decimal, given: str) -> Reading:
    """A number without a unit, such as an age."""
    return _number(attribute, number, given)


def read_text(attribute: MappedAttribute, text: str) -> Reading:
    """A text or a code without a system, such as a gender."""
    return _worded(attribute, text, text)


def _quantity(attribute: MappedAttribute, quantity: Mapping[str, Any]) -> Reading:
    content, code = quantity.get("value"), text_of(quantity.get("code"))
    unit = code if quantity.get("system") == UCUM and code else text_of(quantity.get("unit"))
    if isinstance(content, bool) or not isinstance(content, int | Decimal):
        return Reading(None, note="its quantity has no number")
    number, given = Decimal(content), str(content) if unit in _UNITLESS else f"{content} {unit}"
    if quantity.get("comparator"):
        return Reading(None, note="its quantity is a bound (< or >), no number")
    if unit == attribute.unit or {unit, attribute.unit} <= set(_UNITLESS):
        return _number(attribute, number, given)
    conversion = next((one for one in attribute.conversions if one.unit == unit), None)
    if conversion is None:
        raise _unit_fault(attribute, unit)
    if not _is_plain(number):
        return Reading(None, note="its number has too many digits")
    exact = _EXACT.add(_EXACT.multiply(number, Decimal(conversion.factor)), Decimal(conversion.offset))
    return _number(attribute, exact, given)


def _unit_fault(attribute: MappedAttribute, unit: str) -> InputError:
    shown = unit if unit == "no unit" else f"unit {unit}" if _UNIT.fullmatch(unit) else "another unit"
    known = ", ".join([attribute.unit or "no unit", *(one.unit for one in attribute.conversions)])
    return InputError(
        f"a number in {shown}; the mapping knows {known}",
        where=f"attribute {attribute.name!r}",
        remedy="Have the mapping list the conversion, or the source write one of these (UCUM).",
    )


def _is_plain(number: Decimal) -> bool:
    exponent = number.as_tuple().exponent
    return (
        isinstance(exponent, int)
        and abs(exponent) <= _MAX_DIGITS
        and len(number.as_tuple().digits) <= _MAX_DIGITS
    )


def _number(attribute: MappedAttribute, number: Decimal, given: str) -> Reading:
    if not _is_plain(number):
        return Reading(None, note="its number has too many digits")
    if attribute.decimals is not None:
        number = _EXACT.quantize(number, Decimal(1).scaleb(-attribute.decimals))
    if attribute.bins is not None:
        cuts = [Decimal(cut) for cut in attribute.bins.cuts]
        return Reading(attribute.bins.values[bisect_left(cuts, number)], given)
    if attribute.values:
        return _worded(attribute, f"{number:f}", number)
    return Reading(number, given)


def _worded(attribute: MappedAttribute, text: str, plain: Value) -> Reading:
    if not attribute.values:
        return Reading(plain, text)
    found = next((one for one in attribute.values if text in one.texts), _rest(attribute))
    return _mapped(found, text)


def _coded(attribute: MappedAttribute, codings: list[tuple[str, str]], text: str) -> Reading:
    given = ", ".join(code for _, code in codings) or text
    if not attribute.values:
        if len(codings) == 1:
            return Reading(codings[0][1], given)
        return Reading(None, given, "its value has several codes or none, and the mapping has no value map")
    meant = [one for one in attribute.values if is_among(codings, one.codes)]
    if not meant:
        meant = [one for one in attribute.values if text and text in one.texts]
    if len(meant) > 1:
        return Reading(None, given, "its codes stand for two values of the study")
    return _mapped(meant[0] if meant else _rest(attribute), given)


def _rest(attribute: MappedAttribute) -> MappedValue | None:
    return next((one for one in attribute.values if one.other), None)


def _mapped(found: MappedValue | None, given: str) -> Reading:
    if found is None:
        return Reading(None, given, "its value is not in the mapping's value map")
    return Reading(found.value, given)
