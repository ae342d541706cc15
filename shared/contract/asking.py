"""A record that a finished tree is asked about, through the contract of the study that grew it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType

from shared.contract.deriving import maker_of, source_of, truth_texts
from shared.contract.reading import BrokenRuleError, Read, Rule, attribute_reader, other_names
from shared.errors import InputError
from shared.wire.contract import DataContract
from shared.wire.contract_derived import Derivation

Value = str | int | float | Decimal | bool | None
Asked = Mapping[str, Value]
Words = Callable[[Asked], dict[str, Value]]


@dataclass(frozen=True, slots=True)
class AskedReader:
    """How a record's names and values become the study's.

    `derive`: of a record that is in the study's words already, such as one that a FHIR mapping made.
    """

    read: Words = field(repr=False)
    derive: Words = field(repr=False)

    def __call__(self, record: Asked) -> dict[str, Value]:
        """The record in the study's words. Raises: as `record_reader` says."""
        return self.read(record)


def record_reader(contract: DataContract, units: Mapping[str, str] = MappingProxyType({})) -> AskedReader:
    """How a record's names and values become the study's. Args: units: of numbers here, by attribute.

    A value that the contract does not take is left as it is: the walk down the tree tells what becomes of it. Truth
    values and what is absent are left as well. An attribute that is made of several columns is made where the record
    names all of them; else it is read under its own name.
    Raises (the reader): InputError: a column that is given twice; columns of which an attribute cannot be made.
    """
    names = other_names(contract)
    reads = {
        attribute.name: attribute_reader(attribute, units.get(attribute.name, ""))
        for attribute in contract.attributes
    }

    derive = asked_maker(contract, units)

    def as_study(record: Asked) -> dict[str, Value]:
        given: dict[str, Value] = {}
        for name, value in record.items():
            own = names.get(name, name)
            if own in given:
                raise InputError(
                    f"it is given twice, also as {name!r}",
                    where=f"attribute {own[:200]!r}",
                    remedy="Give it under one name.",
                )
            given[own] = value
        named = {
            name: read_value(reads[name], value) if name in reads else value for name, value in given.items()
        }
        return named if derive is None else derive(given, named)

    derive_mapped = asked_maker(contract)
    return AskedReader(
        as_study, dict if derive_mapped is None else lambda record: derive_mapped(record, dict(record))
    )


def read_value(read: Read, value: Value) -> Value:
    """One value through its attribute's reader; what the contract does not take is left as it is."""
    if value is None or isinstance(value, bool):
        return value
    try:
        return read(str(value))
    except BrokenRuleError as error:
        return "" if error.rule is Rule.EMPTY else value


def asked_maker(
    contract: DataContract, units: Mapping[str, str] = MappingProxyType({})
) -> Callable[[Asked, dict[str, Value]], dict[str, Value]] | None:
    """How derived attributes join a record that is read; None where the contract derives none.

    The function takes the record as it was given, under the study's names, and as it is read; it gives the latter with
    what is derived and without the columns that are read for that alone.
    """
    attributes = {one.name: one for one in contract.attributes}
    makers = [
        (
            one,
            maker_of(contract, one, units),
            fields_of(contract, one),
            attribute_reader(attributes[one.name]),
        )
        for one in contract.derived
        if one.name in attributes
    ]
    spare = {one.name for one in contract.inputs}
    if not makers and not spare:
        return None

    def derive(given: Asked, named: dict[str, Value]) -> dict[str, Value]:
        found = {name: value for name, value in named.items() if name not in spare}
        for derivation, make, fields, read in makers:
            if all(name in given for name in derivation.columns):
                made = make(fields([given[name] for name in derivation.columns]))
                found[derivation.name] = read_value(read, made)
        return found

    return derive


def fields_of(contract: DataContract, derivation: Derivation) -> Callable[[Sequence[Value]], list[str]]:
    """How values of a program become the fields of a derived value; what is absent is an empty field."""
    sources = [source_of(contract, name, f"derived {derivation.name!r}") for name in derivation.columns]
    truths = [truth_texts(derivation, source) for source in sources]

    def fields(values: Sequence[Value]) -> list[str]:
        return [_field(value, truth) for value, truth in zip(values, truths, strict=True)]

    return fields


def _field(value: Value, truth: tuple[str, str]) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return truth[0] if value else truth[1]
    return f"{value:f}" if isinstance(value, Decimal) else str(value)
