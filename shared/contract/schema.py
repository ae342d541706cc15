"""The schema that a data contract stands for: what goes into the study and every manifest, byte for byte as ever."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Final

from shared.contract.derived_checks import check_derivations, texts_of
from shared.contract.spelling import as_code, as_spelled
from shared.errors import InputError
from shared.tree.numbers import FixedPoint
from shared.tree.schema import MISSING_NAMES, Attribute, Missing, Schema
from shared.tree.schema_checks import is_plain_line
from shared.wire.contract import ContractAttribute, ContractClass, ContractInput, DataContract, owners_of

MISSING: Final = MISSING_NAMES[-1]
"""What the value of an empty field is called, where the contract lists none itself."""
_FATE: Final = {"refuse": "refused", "fractional": "no value (fractional)"}


def schema_of_contract(contract: DataContract) -> Schema:
    """The checked schema; attributes and values in the contract's order, a value for missing fields last.

    Raises: InputError: the contract contradicts itself, or breaks a limit of a schema.
    """
    check_contract(contract)
    return Schema.create(
        (_attribute(attribute) for attribute in contract.attributes),
        contract.class_.name,
        [entry.value for entry in contract.class_.values],
    )


def check_contract(contract: DataContract) -> None:
    """Whether every text means one thing, every column one attribute, and all texts are fit to be shown.

    Raises: InputError: naming the column and what is at fault.
    """
    seen: dict[str, str] = {}
    for owner in (*owners_of(contract), *contract.inputs):
        for name in dict.fromkeys((owner.name, *owner.columns)):
            if name in seen:
                raise InputError(
                    f"the column {name!r} is named for {seen[name]!r} and for {owner.name!r}",
                    where="contract",
                    remedy="Let each column hold one attribute.",
                )
            seen[name] = owner.name
        _check_values(owner)
    check_derivations(contract)
    for column in _columns(contract):
        _check_range(column)
    _check_lines(contract)


def _columns(contract: DataContract) -> list[ContractAttribute | ContractInput]:
    """All columns but that of the class."""
    return [*contract.attributes, *contract.inputs]


def _attribute(attribute: ContractAttribute) -> Attribute:
    name, policy = attribute.name, attribute.missing_policy
    if attribute.kind == "number" and attribute.cuts is None:
        low, high, decimals = attribute.minimum, attribute.maximum, attribute.decimals
        if low is None or high is None or decimals is None:
            raise InputError("a number without cuts needs a range and decimals", where=f"attribute {name!r}")
        point = FixedPoint.create(name, low, high, decimals, attribute.missing_as)
        return Attribute(name, (), fixed_point=point)
    if attribute.kind == "number":
        numeric = Attribute.numeric(name, attribute.cuts or (), None if policy == "refuse" else MISSING)
        return replace(numeric, treat_as=attribute.treat_as, missing=_marker(attribute))
    values = [entry.value for entry in attribute.values]
    if policy != "refuse" and not set(values) & set(MISSING_NAMES):
        values.append(MISSING)
    return Attribute(name, tuple(values), treat_as=attribute.treat_as, missing=_marker(attribute))


def _marker(attribute: ContractAttribute) -> Missing | None:
    return "fractional" if attribute.missing_policy == "fractional" else None


def _check_values(owner: ContractAttribute | ContractClass | ContractInput) -> None:
    where = f"contract, column {owner.name!r}"
    if isinstance(owner, ContractAttribute) and owner.missing_policy != "category":
        listed = sorted({entry.value for entry in owner.values} & set(MISSING_NAMES))
        if listed:
            raise InputError(
                f"it lists the value {listed[0]!r} while empty fields are {_FATE[owner.missing_policy]}",
                where=where,
                remedy="Take the value out, or set missing_policy to category.",
            )
    if sum(entry.other for entry in owner.values) > 1:
        raise InputError("two values take all other texts", where=where, remedy="Keep one of them.")
    meant: dict[str, str] = {}
    codes = [] if isinstance(owner, ContractClass) else owner.missing_codes
    empty = {as_spelled(code, owner.spelling) for code in codes}
    for entry in owner.values:
        for text in (entry.value, *entry.texts):
            form = as_spelled(text, owner.spelling)
            if form in empty:
                raise InputError(
                    f"the text {text!r} stands for missing and for {entry.value!r}",
                    where=where,
                    remedy="Take it out of missing_codes, or out of the values.",
                )
            if meant.setdefault(form, entry.value) != entry.value:
                raise InputError(
                    f"the text {text!r} means {meant[form]!r} and {entry.value!r}",
                    where=where,
                    remedy="List each text once, under one value.",
                )
    begun: dict[str, str] = {}
    for entry in owner.values:
        for prefix in entry.prefixes:
            before = begun.setdefault(as_code(prefix, owner.spelling), entry.value)
            if before != entry.value:
                raise InputError(
                    f"what begins with {prefix!r} means {before!r} and {entry.value!r}",
                    where=where,
                    remedy="List each prefix once, under one value.",
                )
    if len({entry.value for entry in owner.values}) != len(owner.values):
        raise InputError("a value is listed twice", where=where, remedy="List each value once.")


def _check_range(attribute: ContractAttribute | ContractInput) -> None:
    low, high = attribute.minimum, attribute.maximum
    if low is not None and high is not None and Decimal(low) > Decimal(high):
        raise InputError(
            f"the minimum {low} is above the maximum {high}",
            where=f"attribute {attribute.name!r}",
            remedy="Exchange them.",
        )


def _check_lines(contract: DataContract) -> None:
    """Of all texts: stewards read them on terminals and pages before they approve."""
    if not all(map(is_plain_line, _texts(contract))):
        raise InputError(
            "each text of a contract is one line without control characters and direction overrides",
            where="contract",
            remedy="Write it anew on one line.",
        )


def _texts(contract: DataContract) -> Iterator[str]:
    yield contract.title
    for excluded in contract.excluded:
        yield from (excluded.column, excluded.reason)
    for column in _columns(contract):
        yield from (column.unit, *column.missing_codes, *(one.unit for one in column.conversions))
    for derivation in contract.derived:
        yield from texts_of(derivation)
    for described in owners_of(contract):
        if (source := described.code_list) is not None:
            yield from (source.url, source.version, *source.systems)
    for owner in (*owners_of(contract), *contract.inputs):
        yield from (owner.name, owner.description, *owner.columns)
        for entry in owner.values:
            yield from (entry.value, entry.meaning, *entry.texts, *entry.prefixes)
