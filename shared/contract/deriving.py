"""A derived value: the fields of several columns of one record, each read as the contract reads it, to one text.

What comes out is then read as the field of an ordinary column is: by the attribute's values, range and rule for
missing. Numbers are exact fractions until the one rounding at the end. Errors name columns and rules, never a field.

Between a table and the reader the fields travel as one text (`joined`), so that whatever looks texts up once a distinct
text does the same for derived columns, in files and in databases.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from types import MappingProxyType
from typing import Final

from shared.contract.derivation_rules import CORRECT, broken, rule_of
from shared.contract.reading import BrokenRuleError, Read, Rule, attribute_reader, class_reader
from shared.contract.spelling import as_spelled
from shared.errors import InputError
from shared.tree.prediction import FALSE_NAMES, TRUE_NAMES
from shared.wire.contract import (
    ContractAttribute,
    ContractClass,
    ContractInput,
    DataContract,
    Spelling,
)
from shared.wire.contract_derived import AnyOf, Combination, Derivation

SEPARATOR: Final = "\x01"
"""Between the fields of one derived value; not among what Python strips as blank. A field that holds it is refused."""
_ORDERS: Final[Mapping[str, re.Pattern[str]]] = {
    "YYYY-MM-DD": re.compile(r"(?P<y>[0-9]{4})-(?P<m>[0-9]{2})-(?P<d>[0-9]{2})(?:[T ].*)?"),
    "YYYYMMDD": re.compile(r"(?P<y>[0-9]{4})(?P<m>[0-9]{2})(?P<d>[0-9]{2})"),
    "DD.MM.YYYY": re.compile(r"(?P<d>[0-9]{1,2})\.(?P<m>[0-9]{1,2})\.(?P<y>[0-9]{4})(?: .*)?"),
    "DD/MM/YYYY": re.compile(r"(?P<d>[0-9]{1,2})/(?P<m>[0-9]{1,2})/(?P<y>[0-9]{4})(?: .*)?"),
    "MM/DD/YYYY": re.compile(r"(?P<m>[0-9]{1,2})/(?P<d>[0-9]{1,2})/(?P<y>[0-9]{4})(?: .*)?"),
}
Make = Callable[[Sequence[str]], str]
"""The fields of a record, in the derivation's order, to the derived text; empty where there is no value.

Raises: BrokenRuleError.
"""


def derivation_of(contract: DataContract, name: str) -> Derivation | None:
    """How an attribute or the class is made; None where it has a column of its own."""
    return next((one for one in contract.derived if one.name == name), None)


def joined(fields: Sequence[str]) -> str:
    """The fields of a derived value as one text."""
    return SEPARATOR.join(fields)


def maker_of(
    contract: DataContract, derivation: Derivation, units: Mapping[str, str] = MappingProxyType({})
) -> Make:
    """How the fields of a record become a derived text.

    Args: units: of numbers here, by column, where they are not the contract's.
    Raises: InputError: a column that the contract does not describe, or a unit that it cannot convert from.
    """
    where = f"derived {derivation.name!r}"
    sources = [source_of(contract, name, where) for name in derivation.columns]
    reads = [_source_reader(source, units.get(source.name, "")) for source in sources]
    made = rule_of(derivation, spellings_of(sources), where)

    def make(fields: Sequence[str]) -> str:
        if len(fields) != len(reads):
            raise broken(Rule.UNKNOWN, "a field holds the control character 01", where)
        read = [
            _read(source.name, reader, field, where)
            for source, reader, field in zip(sources, reads, fields, strict=True)
        ]
        return made(read)

    return make


def derived_reader(
    contract: DataContract,
    owner: ContractAttribute | ContractClass,
    derivation: Derivation,
    units: Mapping[str, str] = MappingProxyType({}),
) -> Read:
    """How a derived attribute's texts are read, fields joined to one text and the texts of a column of its own alike.

    Raises: InputError: as `maker_of`.
    """
    make = maker_of(contract, derivation, units)
    plain = _owner_reader(owner, units.get(owner.name, ""))
    of_made = _owner_reader(owner, "")

    def read(text: str) -> str:
        return of_made(make(text.split(SEPARATOR))) if SEPARATOR in text else plain(text)

    return read


def source_of(contract: DataContract, name: str, where: str) -> ContractInput | ContractAttribute:
    """The input or attribute that a derivation reads. Raises: InputError: there is none of that name."""
    described: list[ContractInput | ContractAttribute] = [*contract.inputs, *contract.attributes]
    for one in described:
        if one.name == name:
            return one
    raise InputError(
        f"it reads {name!r}, which the contract does not describe",
        where=where,
        remedy="Describe that column among the contract's inputs.",
    )


def spellings_of(sources: Sequence[ContractInput | ContractAttribute]) -> list[Spelling]:
    """By which rule fields that are read compare with a derivation's texts: listed values are as they are listed."""
    return ["exact" if one.values else one.spelling for one in sources]


def truth_texts(derivation: Derivation, source: ContractInput | ContractAttribute) -> tuple[str, str]:
    """What a program's true and false are for a column: as it lists them, or as the derivation looks for them.

    Where neither knows any they are `true` and `false`.
    """
    known = {text for entry in source.values for text in (entry.value, *entry.texts)}
    place = derivation.columns.index(source.name)
    if not known and isinstance(derivation, Combination):
        known = {text for case in derivation.cases if (text := case.when[place]) is not None}
    elif not known and isinstance(derivation, AnyOf):
        known = set(derivation.texts)
    true, false = (
        next((name for name in names if name in known), names[0]) for names in (TRUE_NAMES, FALSE_NAMES)
    )
    return true, false


def date_patterns(formats: Sequence[str]) -> list[str]:
    """Regular expressions of dates, with groups y, m and d."""
    return [_ORDERS[name].pattern for name in formats]


def date_in(text: str, formats: Sequence[str]) -> date | None:
    """The date that a text is in one of the formats; None where it is none."""
    for name in formats:
        found = _ORDERS[name].fullmatch(text.strip())
        if found is not None:
            try:
                return date(int(found["y"]), int(found["m"]), int(found["d"]))
            except ValueError:
                return None
    return None


def _owner_reader(owner: ContractAttribute | ContractClass, unit: str) -> Read:
    return class_reader(owner) if isinstance(owner, ContractClass) else attribute_reader(owner, unit)


def _source_reader(source: ContractInput | ContractAttribute, unit: str) -> Read:
    """The field as the contract reads it: a value, a number, a date as YYYY-MM-DD; empty where it is missing."""
    if isinstance(source, ContractAttribute):
        # What becomes of an empty field is the attribute's business; nothing is made of it, and it is no fault here.
        return attribute_reader(source.model_copy(update={"missing_policy": "category"}), unit)
    empty = {as_spelled(code, source.spelling) for code in source.missing_codes} | {""}
    inner = _date_reader(source) if source.kind == "date" else None
    if source.kind == "category" and not source.values:
        inner = lambda text: as_spelled(text, source.spelling)  # noqa: E731 - the whole rule of such a column
    if inner is None:
        return attribute_reader(_as_attribute(source), unit)
    read = inner
    return lambda text: "" if as_spelled(text, source.spelling) in empty else read(text)


def _as_attribute(source: ContractInput) -> ContractAttribute:
    """The same column as an attribute whose empty fields have no value; only to be read."""
    return ContractAttribute(
        name=source.name,
        unit=source.unit,
        conversions=source.conversions,
        kind="number" if source.kind == "number" else "category",
        values=source.values,
        spelling=source.spelling,
        cuts=[] if source.kind == "number" else None,
        minimum=source.minimum,
        maximum=source.maximum,
        missing_codes=source.missing_codes,
        missing_policy="category",
    )


def _date_reader(source: ContractInput) -> Read:
    def read(text: str) -> str:
        found = date_in(text, source.formats)
        if found is None:
            expected = " or ".join(source.formats)
            raise broken(
                Rule.NO_DATE, f"expected a date written {expected}", f"input {source.name!r}", CORRECT
            )
        return found.isoformat()

    return read


def _read(name: str, read: Read, field: str, where: str) -> str:
    """One field. Raises: BrokenRuleError: that of its column, told of the derived value."""
    try:
        return read(field)
    except BrokenRuleError as error:
        reason = str(error).removeprefix(f"{error.where}:").removesuffix(error.remedy).strip(" .")
        raise broken(error.rule, f"its column {name!r}: {reason}", where, error.remedy) from None
