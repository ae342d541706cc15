"""A table's derived columns: the fields of several columns of a row as one text, which the contract reads.

A value is derived where all columns that it is made of are there. Where one is not, a column that has the value's own
name is read in its place, as of a hospital that keeps the body mass index and neither weight nor height; where both are
there, it is derived, so that all hospitals' values come about in one way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hospital_agent.records.decimal_marks import reader_of
from hospital_agent.records.source import DataSettings
from hospital_agent.records.table import Column, DecimalMark
from shared.contract.deriving import derivation_of, joined, source_of
from shared.errors import InputError
from shared.wire.contract import DataContract
from shared.wire.contract_derived import Derivation


def composed(by_name: Mapping[str, Column], settings: DataSettings) -> dict[str, Column]:
    """The derived columns, by the study's name, of all whose columns are there. Args: by_name: of the study.

    Raises: InputError: a column of numbers whose decimal mark is unclear.
    """
    contract = settings.contract
    if contract is None:
        return {}
    return {one.name: _column(one, contract, by_name) for one in contract.derived if can_derive(one, by_name)}


def can_derive(derivation: Derivation, names: Mapping[str, object] | Sequence[str]) -> bool:
    """Whether all columns that it is made of are there. Args: names: in the study's words."""
    return all(name in names for name in derivation.columns)


def is_derived(settings: DataSettings, name: str, names: Mapping[str, object] | Sequence[str]) -> bool:
    """Whether an attribute or the class is made of other columns here. Args: names: the columns that there are."""
    derivation = None if settings.contract is None else derivation_of(settings.contract, name)
    return derivation is not None and can_derive(derivation, names)


def input_names(settings: DataSettings) -> set[str]:
    """Columns that the study uses for derived values alone, in its words."""
    return set() if settings.contract is None else {one.name for one in settings.contract.inputs}


def why_absent(settings: DataSettings, name: str, names: Sequence[str]) -> str:
    """Of which columns an attribute would be made here, if they were there; nothing of one that has its own column."""
    derivation = None if settings.contract is None else derivation_of(settings.contract, name)
    if derivation is None:
        return ""
    absent = ", ".join(source for source in derivation.columns if source not in names)
    return f"It is made of several columns, and {absent} is not here. "


def with_open_class(settings: DataSettings) -> DataSettings:
    """For records whose class nobody knows yet: it is not derived, whatever its columns hold."""
    contract = settings.contract
    if contract is None:
        return settings
    kept = [one for one in contract.derived if one.name != contract.class_.name]
    return replace(settings, contract=contract.model_copy(update={"derived": kept}))


def _column(derivation: Derivation, contract: DataContract, by_name: Mapping[str, Column]) -> Column:
    """The joined texts of all combinations that occur, each once."""
    columns = [by_name[name] for name in derivation.columns]
    alike, codes = combined_codes(columns)
    texts = [
        _texts(column, derivation, contract, name)
        for column, name in zip(columns, derivation.columns, strict=True)
    ]
    found = [joined([text[code] for text, code in zip(texts, row, strict=True)]) for row in alike.tolist()]
    values = sorted(set(found))
    place = {text: code for code, text in enumerate(values)}
    table = np.array([place[text] for text in found], dtype=np.min_scalar_type(max(len(values) - 1, 0)))
    return Column(derivation.name, 0, tuple(values), table.take(codes))


def combined_codes(columns: Sequence[Column]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The combinations of codes that occur, shape (combinations, columns), and which of them each row has.

    Column by column, so that a few dozen columns of many values never make a number that does not fit.
    """
    codes = columns[0].codes.astype(np.int64)
    for column in columns[1:]:
        _, codes = np.unique(codes * len(column.values) + column.codes, return_inverse=True)
    _, first, codes = np.unique(codes, return_index=True, return_inverse=True)
    return np.stack([column.codes[first] for column in columns], axis=1), codes


def _texts(column: Column, derivation: Derivation, contract: DataContract, name: str) -> list[str]:
    """The column's texts; of numbers with a decimal point, whatever mark the column has."""
    source = source_of(contract, name, f"derived {derivation.name!r}")
    if source.kind != "number" or column.decimal_mark is DecimalMark.POINT:
        return list(column.values)
    read: list[str] = []

    def note(text: str) -> int:
        read.append(text)
        return 0

    reader = reader_of(column.decimal_mark, note, name)
    for text in column.values:
        try:
            reader(text)
        except InputError as error:
            raise InputError(
                str(error).removeprefix(f"{error.where}:").removesuffix(error.remedy).strip(),
                where=f"column {column.name!r}, of which {derivation.name!r} is derived",
                remedy=error.remedy,
            ) from None
    return read
