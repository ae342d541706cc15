"""A hospital's records as the study's data contract reads them: its columns, its values, empty where missing.

For programs that know a tree and not the contract. Rows stay in their order; columns that the study does not use are
left out. Where there is no class column, as of records that a tree is to be asked about, none is written.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from hospital_agent.records.composing import is_derived
from hospital_agent.records.contracted import owner_reader, study_names
from hospital_agent.records.decimal_marks import reader_of
from hospital_agent.records.matching import match_columns
from hospital_agent.records.source import DataSettings
from hospital_agent.records.table import Column, Table
from shared.contract.schema import schema_of_contract
from shared.wire.contract import ContractAttribute, ContractClass, DataContract, owners_of


def with_class(table: Table, contract: DataContract, settings: DataSettings) -> tuple[Table, bool]:
    """The table, with the contract's first class in every row where no column is the class; and whether one was."""
    target = contract.class_
    names = study_names([column.name for column in table.columns], settings)
    if settings.class_column is not None or target.name in names or is_derived(settings, target.name, names):
        return table, True
    asked = Column(
        target.name, len(table.columns) + 1, (target.values[0].value,), np.zeros(table.row_count, np.uint8)
    )
    return replace(table, columns=(*table.columns, asked)), False


def recoded(table: Table, contract: DataContract, settings: DataSettings, *, classes: bool) -> bytes:
    """A table that fits the contract, as CSV in UTF-8. Args: classes: whether the class column is written.

    Raises: InputError: a field does not fit; `contract_check.check_table` tells all that do not.
    """
    owners = owners_of(contract) if classes else list(contract.attributes)
    matched = match_columns(table, schema_of_contract(contract), settings).columns[: len(owners)]
    columns = [_texts(column, owner, settings) for owner, column in zip(owners, matched, strict=True)]
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([owner.name for owner in owners])
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue().encode()


def _texts(column: Column, owner: ContractAttribute | ContractClass, settings: DataSettings) -> Iterator[str]:
    """The column's texts by row, each distinct one read once."""
    read = owner_reader(owner, settings)
    found: list[str] = []

    def note(text: str) -> int:
        found.append(read(text))
        return 0

    is_number = isinstance(owner, ContractAttribute) and owner.kind == "number"
    reader = reader_of(column.decimal_mark, note, owner.name) if is_number else note
    for text in column.values:
        reader(text)
    return map(found.__getitem__, column.codes.tolist())
