"""One field of a record through the contract: its text to the study's value, or to the rule that it breaks.

The order: empty and missing codes; a listed value; a further text of a value; the longest prefix; the value that takes
all others. Errors name the attribute and the rule, never the field's content.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Context, Decimal
from enum import StrEnum
from typing import Final

from shared.contract.spelling import as_code, as_spelled, number_or_none
from shared.errors import InputError
from shared.tree.numbers import UnknownValueError, decimal_text
from shared.wire.contract import (
    ContractAttribute,
    ContractClass,
    ContractValue,
    DataContract,
    Spelling,
    UnitConversion,
    owners_of,
)

_EXACT: Final = Context(prec=4096)
"""More digits than a number of a record times a factor can have."""
Read = Callable[[str], str]
"""A field's text to a text that the schema has a code for. Raises: BrokenRuleError."""


class Rule(StrEnum):
    """What a field can be at fault with."""

    UNKNOWN = "unknown-value"
    EMPTY = "empty"
    NO_NUMBER = "no-number"
    RANGE = "range"
    DECIMALS = "decimals"
    COLUMN = "missing-column"
    COMBINATION = "unknown-combination"
    NO_DATE = "no-date"
    DIVISION = "division-by-zero"


class BrokenRuleError(UnknownValueError):
    """A field that the contract does not take. `rule` says which of its rules is broken."""

    def __init__(self, rule: Rule, detail: str, *, where: str, remedy: str) -> None:
        """Args: as of `InputError`."""
        super().__init__(detail, where=where, remedy=remedy)
        self.rule = rule


def attribute_reader(attribute: ContractAttribute, unit: str = "") -> Read:
    """How an attribute's texts are read; an empty field gives the empty text, unless it is refused.

    Args: unit: that the numbers are in, if it is another one than the contract's.
    Raises: InputError: the contract cannot convert from that unit.
    """
    where = f"attribute {attribute.name!r}"
    rule: Spelling = "number" if attribute.kind == "number" else attribute.spelling
    empty = {as_spelled(code, rule) for code in attribute.missing_codes} | {""}
    refuses = attribute.missing_policy == "refuse" and attribute.missing_as is None
    if attribute.kind == "number":
        inner = _number_reader(attribute, conversion_of(attribute, unit))
    else:
        inner = _value_reader(attribute, where)

    def read(text: str) -> str:
        if as_spelled(text, rule) not in empty:
            return inner(text)
        if refuses:
            raise BrokenRuleError(
                Rule.EMPTY,
                "an empty field or a code for missing, which the contract refuses",
                where=where,
                remedy="Fill the field, or have the contract give empty fields a value (missing_policy).",
            )
        return ""

    return read


def class_reader(target: ContractClass) -> Read:
    """How the texts of the class column are read."""
    return _value_reader(target, f"class column {target.name!r}")


def other_names(contract: DataContract) -> dict[str, str]:
    """Column at a hospital to name in the study, for every further name that the contract knows."""
    described = (*owners_of(contract), *contract.inputs)
    return {column: one.name for one in described for column in one.columns}


def _value_reader(owner: ContractAttribute | ContractClass, where: str) -> Read:
    known = texts_of(owner.values, owner.spelling)
    begun = {
        as_code(prefix, owner.spelling): entry.value for entry in owner.values for prefix in entry.prefixes
    }
    lengths = sorted({len(prefix) for prefix in begun}, reverse=True)
    rest = next((entry.value for entry in owner.values if entry.other), None)

    def read(text: str) -> str:
        found = known.get(as_spelled(text, owner.spelling))
        if found is None:
            code = as_code(text, owner.spelling)
            starts = (code[:length] for length in lengths)
            found = next((begun[start] for start in starts if start in begun), rest)
        if found is None:
            raise BrokenRuleError(
                Rule.UNKNOWN,
                "a value that the contract does not list",
                where=where,
                remedy="Correct the field, or propose the value for the contract (privet data merge).",
            )
        return found

    return read


def texts_of(values: Iterable[ContractValue], spelling: Spelling) -> dict[str, str]:
    """Every listed text in its one form, and the value that it means."""
    return {
        as_spelled(text, spelling): entry.value for entry in values for text in (entry.value, *entry.texts)
    }


def conversion_of(attribute: ContractAttribute, unit: str) -> UnitConversion | None:
    """How a hospital's unit becomes the attribute's; None where it is the same.

    Raises: InputError: the contract cannot convert from that unit.
    """
    if unit in ("", attribute.unit):
        return None
    found = next((one for one in attribute.conversions if one.unit == unit), None)
    if found is None:
        known = ", ".join(one.unit for one in attribute.conversions) or "no other unit"
        raise InputError(
            f"the contract converts to {attribute.unit or 'its unit'} from {known}, not from {unit}",
            where=f"attribute {attribute.name!r}",
            remedy="Correct units in the data settings, or have the contract list the conversion.",
        )
    return found


def _number_reader(attribute: ContractAttribute, conversion: UnitConversion | None) -> Read:
    where = f"attribute {attribute.name!r}"
    low = None if attribute.minimum is None else Decimal(attribute.minimum)
    high = None if attribute.maximum is None else Decimal(attribute.maximum)
    step = None if attribute.decimals is None else Decimal(1).scaleb(-attribute.decimals)

    def read(text: str) -> str:
        number = number_or_none(text.strip())
        if number is None:
            raise BrokenRuleError(
                Rule.NO_NUMBER,
                "expected a number such as 37.5",
                where=where,
                remedy="Correct the field, or list its text among the contract's missing_codes.",
            )
        if conversion is not None:
            number = _converted(number, conversion, step)
        if (low is not None and number < low) or (high is not None and number > high):
            raise BrokenRuleError(
                Rule.RANGE,
                f"a number outside {attribute.minimum} to {attribute.maximum}",
                where=where,
                remedy=f"Correct the field; look at its unit too{_unit(attribute)}.",
            )
        if step is not None and _EXACT.remainder(number, step) != 0:
            raise BrokenRuleError(
                Rule.DECIMALS,
                f"a number with more than {attribute.decimals} decimals",
                where=where,
                remedy="Round the column, or have the contract allow more decimals.",
            )
        return text.strip() if conversion is None else decimal_text(number)

    return read


def _converted(number: Decimal, conversion: UnitConversion, step: Decimal | None) -> Decimal:
    """Exactly, then to the contract's decimals: what another unit writes roundly need not be round in this one."""
    exact = _EXACT.add(_EXACT.multiply(number, Decimal(conversion.factor)), Decimal(conversion.offset))
    return exact if step is None else _EXACT.quantize(exact, step)


def _unit(attribute: ContractAttribute) -> str:
    return f", which the contract says is {attribute.unit}" if attribute.unit else ""
