"""Derived columns while a contract is drafted: added to the table as if the file had them, then described in the draft.

The derivations are agreed on beforehand, in one file for all hospitals, so their values are public: a draft lists them
all, however rare. Columns that are read for derived ones alone are no attributes and leave the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from hospital_agent.records.composing import composed
from hospital_agent.records.draft_choices import Choices
from hospital_agent.records.source import DataSettings
from hospital_agent.records.table import Column, Table
from shared.contract.derived_checks import values_of
from shared.contract.deriving import SEPARATOR, maker_of
from shared.contract.reading import BrokenRuleError
from shared.contract.schema import check_contract
from shared.errors import InputError
from shared.wire.contract import (
    ContractAttribute,
    ContractClass,
    ContractInput,
    ContractValue,
    DataContract,
    Derivations,
    UnitConversion,
)
from shared.wire.contract_derived import Derivation

_READS: Final = {"combination": "category", "any": "category", "days": "date", "product": "number"}


def with_derived(table: Table, agreed: Derivations, settings: DataSettings, told: Choices) -> Table:
    """The table with a column for each derived value, and without those that are read for these alone.

    Args: told: what the steward says of columns that are attributes and read for derived ones too.
    Raises: InputError: a column that there is not, or fields of which no value can be made, with the first line.
    """
    inputs = _inputs(table, agreed, told)
    by_name = {name: _recoded(column, told) for name, column in _found(table, inputs, told).items()}
    contract = _reading(inputs, agreed)
    made = composed(by_name, replace(settings, contract=contract))
    columns = [
        _made(table, made[one.name], one, contract, settings, len(table.columns) + place)
        for place, one in enumerate(agreed.derived, start=1)
    ]
    spare = {by_name[one.name].position for one in agreed.inputs}
    own = {one.name for one in agreed.derived}
    kept = [
        column
        for column in table.columns
        if column.position not in spare and told.names.get(column.name, column.name) not in own
    ]
    return replace(table, columns=(*kept, *columns))


def described(contract: DataContract, agreed: Derivations, names: Mapping[str, str]) -> DataContract:
    """The draft with its derivations. Args: names: the file's to the study's.

    Raises: InputError: they do not fit what was drafted.
    """
    own = {called: column for column, called in names.items() if called != column}
    inputs = [
        one.model_copy(update={"columns": sorted({*one.columns, own[one.name]})}) if one.name in own else one
        for one in agreed.inputs
    ]
    found = contract.model_copy(update={"inputs": inputs, "derived": list(agreed.derived)})
    check_contract(found)
    return found


def _inputs(table: Table, agreed: Derivations, said: Choices) -> list[ContractInput]:
    """All columns that are read: those agreed on, and the attributes among them as the steward describes these."""
    described = {one.name: one for one in agreed.inputs}
    own = {said.names.get(column.name, column.name): column.name for column in table.columns}
    for derivation in agreed.derived:
        for name in derivation.columns:
            column = own.get(name, name)
            kind = _READS[derivation.kind]
            described.setdefault(
                name,
                ContractInput(
                    name=name,
                    kind="number" if kind == "number" else "category",
                    missing_codes=[*said.missing, *said.missing_in.get(column, ())],
                    unit=said.units.get(column, "") if kind == "number" else "",
                    conversions=[
                        UnitConversion(unit=unit, factor=factor)
                        for unit, factor in said.conversions.get(column, {}).items()
                        if kind == "number"
                    ],
                ),
            )
    return list(described.values())


def _found(table: Table, inputs: Sequence[ContractInput], said: Choices) -> dict[str, Column]:
    """The table's column of each input, by the study's name, by the file's, or by another name in the agreement."""
    by_name = {column.name: column for column in table.columns}
    by_name |= {said.names[column.name]: column for column in table.columns if column.name in said.names}
    found = {}
    for one in inputs:
        name = next((name for name in (one.name, *one.columns) if name in by_name), None)
        if name is None:
            raise InputError(
                f"the records have no column {_either(one)}, of which others are to be derived",
                where=table.where,
                remedy="Name the columns with --names, or list its name here under `columns` of that input.",
            )
        if by_name[name].name in said.drop:
            raise InputError(
                f"the column {by_name[name].name!r} is to be left out, and others are to be derived from it",
                where=table.where,
                remedy="Take it out of drop (or --drop): a column that is read for derived ones alone is no attribute.",
            )
        found[one.name] = by_name[name]
    return found


def _either(one: ContractInput) -> str:
    """All names that it may have."""
    return " or ".join(repr(name) for name in (one.name, *one.columns))


def _recoded(column: Column, said: Choices) -> Column:
    """With the steward's recodings; a text may then stand there twice, which reading does not mind."""
    recode = said.recode.get(column.name, {})
    return (
        replace(column, values=tuple(recode.get(text, text) for text in column.values)) if recode else column
    )


def _reading(inputs: Sequence[ContractInput], agreed: Derivations) -> DataContract:
    """A contract that only says how to derive; its attribute and class are read by nobody."""
    nothing = ContractValue(value="-")
    return DataContract(
        name="deriving",
        attributes=[ContractAttribute(name="-", kind="category", values=[nothing])],
        class_=ContractClass(name="- class", values=[nothing]),
        inputs=list(inputs),
        derived=list(agreed.derived),
    )


def _made(
    table: Table,
    column: Column,
    derivation: Derivation,
    contract: DataContract,
    settings: DataSettings,
    position: int,
) -> Column:
    """The values of a derived column. Raises: InputError: with the first line, and never a value."""
    make = maker_of(contract, derivation, settings.units)
    texts: list[str] = []
    broken: dict[int, BrokenRuleError] = {}
    for index, text in enumerate(column.values):
        try:
            texts.append(make(text.split(SEPARATOR)))
        except BrokenRuleError as error:
            texts.append("")
            broken[index] = error
    if broken:
        first = int(np.flatnonzero(np.isin(column.codes, list(broken)))[0])
        fault = broken[int(column.codes[first])]
        raise InputError(
            str(fault).removeprefix(f"{fault.where}:").removesuffix(fault.remedy).strip(" ."),
            where=f"{table.where}, derived {derivation.name!r}, {table.locate(first)}",
            remedy=fault.remedy,
        )
    values = sorted(set(texts))
    place = {text: code for code, text in enumerate(values)}
    codes = np.array([place[text] for text in texts])[column.codes]
    declared = tuple(values_of(derivation)) or None
    return Column(derivation.name, position, tuple(values), codes, declared)
