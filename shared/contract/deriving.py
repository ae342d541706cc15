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
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from shared.contract.reading import BrokenRuleError, Read, Rule, attribute_reader, class_reader
from shared.contract.spelling import as_spelled
from shared.errors import InputError
from shared.tree.numbers import decimal_text
from shared.wire.contract import (
    ContractAttribute,
    ContractClass,
    ContractInput,
    DataContract,
    Spelling,
    owners_of,
)
from shared.wire.contract_derived import AnyOf, Combination, Days, Derivation, Product

SEPARATOR: Final = "\x01"
"""Between the fields of one derived value; not among what Python strips as blank. A field that holds it is refused."""
_MAX_DIGITS: Final = 64
"""Before the point, as of every number of a record."""
_ORDERS: Final[Mapping[str, re.Pattern[str]]] = {
    "YYYY-MM-DD": re.compile(r"(?P<y>\d{4})-(?P<m>\d{2})-(?P<d>\d{2})(?:[T ].*)?"),
    "YYYYMMDD": re.compile(r"(?P<y>\d{4})(?P<m>\d{2})(?P<d>\d{2})"),
    "DD.MM.YYYY": re.compile(r"(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>\d{4})(?: .*)?"),
    "DD/MM/YYYY": re.compile(r"(?P<d>\d{1,2})/(?P<m>\d{1,2})/(?P<y>\d{4})(?: .*)?"),
    "MM/DD/YYYY": re.compile(r"(?P<m>\d{1,2})/(?P<d>\d{1,2})/(?P<y>\d{4})(?: .*)?"),
}
_CORRECT: Final = "Correct the fields, or have the contract say what becomes of them."
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
    spellings: list[Spelling] = ["exact" if one.values else one.spelling for one in sources]
    made = _rule(derivation, spellings, where)

    def make(fields: Sequence[str]) -> str:
        if len(fields) != len(reads):
            raise _broken(Rule.UNKNOWN, "a field holds the control character 01", where)
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
        return attribute_reader(source, unit)
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
            raise _broken(
                Rule.NO_DATE, f"expected a date written {expected}", f"input {source.name!r}", _CORRECT
            )
        return found.isoformat()

    return read


def _read(name: str, read: Read, field: str, where: str) -> str:
    """One field. Raises: BrokenRuleError: that of its column, told of the derived value."""
    try:
        return read(field)
    except BrokenRuleError as error:
        reason = str(error).removeprefix(f"{error.where}:").removesuffix(error.remedy).strip(" .")
        raise _broken(error.rule, f"its column {name!r}: {reason}", where, error.remedy) from None


def _rule(derivation: Derivation, spellings: Sequence[Spelling], where: str) -> Callable[[list[str]], str]:
    """From fields that are read to the derived text."""
    if isinstance(derivation, Combination):
        return _combining(derivation, spellings, where)
    if isinstance(derivation, AnyOf):
        return _any_of(derivation, spellings)
    if isinstance(derivation, Days):
        return _days
    return _product(derivation, where)


def _combining(one: Combination, spellings: Sequence[Spelling], where: str) -> Callable[[list[str]], str]:
    cases = [
        (
            [
                None if text is None else as_spelled(text, rule)
                for text, rule in zip(case.when, spellings, strict=True)
            ],
            case,
        )
        for case in one.cases
    ]

    def made(read: list[str]) -> str:
        for when, case in cases:
            if all(text is None or text == field for text, field in zip(when, read, strict=True)):
                return case.value
        if "" in read:
            return ""
        if one.otherwise is None:
            columns = ", ".join(map(repr, one.columns))
            raise _broken(
                Rule.COMBINATION,
                f"a combination of {columns} that the contract does not list",
                where,
                _CORRECT,
            )
        return one.otherwise

    return made


def _any_of(one: AnyOf, spellings: Sequence[Spelling]) -> Callable[[list[str]], str]:
    wanted = [{as_spelled(text, rule) for text in one.texts} for rule in spellings]

    def made(read: list[str]) -> str:
        if any(field != "" and field in texts for field, texts in zip(read, wanted, strict=True)):
            return one.value
        return "" if "" in read else one.otherwise

    return made


def _days(read: list[str]) -> str:
    if "" in read:
        return ""
    first, second = map(date.fromisoformat, read)
    return str((second - first).days)


def _product(one: Product, where: str) -> Callable[[list[str]], str]:
    times = Fraction(one.times)

    def made(read: list[str]) -> str:
        if "" in read:
            return ""
        product = times
        for text, power in zip(read, one.powers, strict=True):
            number = Fraction(Decimal(text))
            if number == 0 and power < 0:
                raise _broken(Rule.DIVISION, "a division by 0", where, _CORRECT)
            product *= number**power
        if abs(product) >= 10**_MAX_DIGITS:
            raise _broken(Rule.RANGE, f"a number of more than {_MAX_DIGITS} digits", where)
        return _rounded(product, one.decimals, half_up=one.rounding == "half-up")

    return made


def _rounded(number: Fraction, decimals: int, *, half_up: bool) -> str:
    """The decimal of so many places that is nearest. Args: half_up: half way, the one further from 0; else the even."""
    whole, rest = divmod(abs(number) * 10**decimals, 1)
    up = rest > Fraction(1, 2) or (rest == Fraction(1, 2) and (half_up or whole % 2 == 1))
    scaled = (int(whole) + up) * (-1 if number < 0 else 1)
    digits = str(abs(scaled)).rjust(decimals + 1, "0")
    sign = "-" if scaled < 0 else ""
    return decimal_text(
        Decimal(f"{sign}{digits[: len(digits) - decimals]}.{digits[len(digits) - decimals :]}0")
    )


def _broken(rule: Rule, detail: str, where: str, remedy: str = _CORRECT) -> BrokenRuleError:
    return BrokenRuleError(rule, detail, where=where, remedy=remedy)


def derived_names(contract: DataContract) -> list[str]:
    """Names of the attributes and the class that are derived, in the contract's order."""
    made = {one.name for one in contract.derived}
    return [owner.name for owner in owners_of(contract) if owner.name in made]
