"""A record that a finished tree is asked about, through the contract of the study that grew it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from types import MappingProxyType

from shared.contract.reading import BrokenRuleError, Read, Rule, attribute_reader, other_names
from shared.errors import InputError
from shared.wire.contract import DataContract

Value = str | int | float | Decimal | bool | None
Asked = Mapping[str, Value]
AskedReader = Callable[[Asked], dict[str, Value]]


def record_reader(contract: DataContract, units: Mapping[str, str] = MappingProxyType({})) -> AskedReader:
    """How a record's names and values become the study's. Args: units: of numbers here, by attribute.

    A value that the contract does not take is left as it is: the walk down the tree tells what becomes of it. Truth
    values and what is absent are left as well.
    """
    names = other_names(contract)
    reads = {
        attribute.name: attribute_reader(attribute, units.get(attribute.name, ""))
        for attribute in contract.attributes
    }

    def as_study(record: Asked) -> dict[str, Value]:
        named: dict[str, Value] = {}
        for name, value in record.items():
            own = names.get(name, name)
            if own in named:
                raise InputError(
                    f"it is given twice, also as {name!r}",
                    where=f"attribute {own[:200]!r}",
                    remedy="Give it under one name.",
                )
            named[own] = read_value(reads[own], value) if own in reads else value
        return named

    return as_study


def read_value(read: Read, value: Value) -> Value:
    """One value through its attribute's reader; what the contract does not take is left as it is."""
    if value is None or isinstance(value, bool):
        return value
    try:
        return read(str(value))
    except BrokenRuleError as error:
        return "" if error.rule is Rule.EMPTY else value
