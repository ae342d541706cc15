"""A hospital's records against a data contract: everything that does not fit, not only the first fault.

For the hospital's own steward: columns, rules, how many different texts break them and the first line; never a value,
never a number of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from hospital_agent.records.composing import is_derived
from hospital_agent.records.contracted import owner_reader, study_names
from hospital_agent.records.decimal_marks import reader_of
from hospital_agent.records.matching import match_columns
from hospital_agent.records.source import DataSettings
from hospital_agent.records.table import Column, Table
from shared.contract.deriving import derivation_of
from shared.contract.reading import BrokenRuleError, Rule
from shared.contract.schema import schema_of_contract
from shared.errors import InputError
from shared.texts import text
from shared.tree.numbers import UnknownValueError
from shared.wire.contract import ContractAttribute, ContractClass, DataContract, owners_of

_ABSENT_TOLD: Final = 20


@dataclass(frozen=True, slots=True)
class Fault:
    """One rule that a column breaks. `texts`: how many different texts do. `first`: the first of their places."""

    column: str
    rule: Rule
    says: str
    remedy: str
    texts: int = 0
    first: str = ""

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "column": self.column,
            "rule": self.rule.value,
            "says": self.says,
            "remedy": self.remedy,
            "different_texts": self.texts,
            "first": self.first,
        }

    @property
    def text(self) -> str:
        """For people."""
        told = f"{self.column}: {self.rule.value}: {self.says}"
        if self.texts:
            name = "data_check.one_text" if self.texts == 1 else "data_check.texts"
            told = text(name, told=told, n=self.texts, first=self.first)
        return f"{told}. {self.remedy}"


@dataclass(frozen=True, slots=True)
class Check:
    """What came of it. `notes`: no faults, but worth knowing."""

    faults: tuple[Fault, ...]
    notes: tuple[str, ...]


def check_table(table: Table, contract: DataContract, settings: DataSettings) -> Check:
    """Hold every field of a table against a contract. Args: settings: those of the table, the contract among them.

    Raises: InputError: the contract contradicts itself; a class column that there is not.
    """
    schema = schema_of_contract(contract)
    lost = _lost_columns(table, contract, settings)
    if lost:
        return Check(tuple(lost), ())
    matched = match_columns(table, schema, settings)
    faults: list[Fault] = []
    notes = [text("data_check.ignored", names=", ".join(matched.ignored))] if matched.ignored else []
    for owner, column in zip(owners_of(contract), matched.columns, strict=True):
        found, seen = _read_all(table, column, owner, settings)
        faults += found
        notes += _absent(owner, seen)
    return Check(tuple(faults), tuple(notes))


def _lost_columns(table: Table, contract: DataContract, settings: DataSettings) -> list[Fault]:
    """Attributes without a column; of a table without header only where its columns are not matched by position."""
    names = study_names([column.name for column in table.columns], settings)
    wanted = {attribute.name for attribute in contract.attributes}
    spare = 1 + len({table.find(reference, "drop").position for reference in settings.drop})
    if not table.has_header and not wanted & set(names) and len(names) - spare == len(wanted):
        return []
    lost = [
        attribute.name
        for attribute in contract.attributes
        if attribute.name not in names and not is_derived(settings, attribute.name, names)
    ]
    target = contract.class_.name
    if settings.class_column is None and target not in names and not is_derived(settings, target, names):
        lost.append(target)
    remedy = text("data_check.map")
    return [Fault(name, Rule.COLUMN, _why_lost(name, contract, names), remedy) for name in lost]


def _why_lost(name: str, contract: DataContract, names: Sequence[str]) -> str:
    derivation = derivation_of(contract, name)
    if derivation is None:
        return text("data_check.no_column")
    absent = ", ".join(source for source in derivation.columns if source not in names)
    return text("data_check.made_of_several", names=absent)


def _read_all(
    table: Table, column: Column, owner: ContractAttribute | ContractClass, settings: DataSettings
) -> tuple[list[Fault], set[str]]:
    """The faults of a column, one a rule, and the values that occur."""
    read = owner_reader(owner, settings)
    seen: set[str] = set()

    def note(given: str) -> int:
        seen.add(read(given))
        return 0

    reader: Callable[[str], int] = note
    if isinstance(owner, ContractAttribute) and owner.kind == "number":
        reader = reader_of(column.decimal_mark, note, owner.name)
    broken: dict[Rule, list[int]] = {}
    reasons: dict[Rule, UnknownValueError] = {}
    for index, given in enumerate(column.values):
        try:
            reader(given)
        except UnknownValueError as error:
            rule = error.rule if isinstance(error, BrokenRuleError) else Rule.NO_NUMBER
            broken.setdefault(rule, []).append(index)
            reasons.setdefault(rule, error)
    return [
        _fault(table, column, owner.name, rule, indices, reasons[rule]) for rule, indices in broken.items()
    ], seen


def _fault(
    table: Table, column: Column, name: str, rule: Rule, texts: list[int], reason: InputError
) -> Fault:
    first = int(np.flatnonzero(np.isin(column.codes, texts))[0])
    says = str(reason).removeprefix(f"{reason.where}:").removesuffix(reason.remedy).strip(" .")
    return Fault(name, rule, says, reason.remedy, len(texts), table.locate(first))


def _absent(owner: ContractAttribute | ContractClass, seen: set[str]) -> Iterator[str]:
    """Values that do not occur here: they become counts of zero."""
    lost = [entry.value for entry in owner.values if entry.value not in seen]
    if lost:
        named = ", ".join(lost[:_ABSENT_TOLD]) + (", ..." if len(lost) > _ABSENT_TOLD else "")
        yield text("data_check.absent", name=owner.name, values=named)
