"""What a study makes of several columns, in data frames of pandas and polars."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

import numpy as np

from shared.contract.asking import Value, fields_of
from shared.contract.deriving import Make, maker_of
from shared.errors import InputError
from shared.wire.contract import DataContract

_MISSING: Final = frozenset({"NAType", "NaTType"})


def with_derived(frame: Any, contract: DataContract) -> Any:
    """A frame in the study's names with what is made of its columns, in the schema's order and nothing else.

    A frame without all columns of a derived attribute keeps its own column of that attribute.
    Raises: ValueError: fields of which nothing can be made; names columns and never a value.
    """
    attributes = [one.name for one in contract.attributes]
    wanted = [
        one for one in contract.derived if one.name in attributes and {*one.columns} <= {*frame.columns}
    ]
    spare = {one.name for one in contract.inputs} & {*frame.columns}
    if not wanted and not spare:
        return frame
    for derivation in wanted:
        fields = fields_of(contract, derivation)
        columns = [_values(frame[name]) for name in derivation.columns]
        rows = [tuple(fields(row)) for row in zip(*columns, strict=True)]
        frame = _with_column(frame, derivation.name, _made(maker_of(contract, derivation), rows))
    order = [name for name in attributes if name in {*frame.columns}]
    return frame[[*order, *(name for name in frame.columns if name not in {*order, *spare})]]


def _made(make: Make, rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Each different combination once."""
    known: dict[tuple[str, ...], str] = {}
    for fields in set(rows):
        try:
            known[fields] = make(fields)
        except InputError as error:
            raise ValueError(str(error)) from None
    return [known[fields] for fields in rows]


def _values(column: Any) -> list[Value]:
    """A column's values, None where missing. A float is its shortest decimal, as everywhere."""
    return [_value(value) for value in (column.to_numpy() if hasattr(column, "to_numpy") else column)]


def _value(value: Any) -> Value:
    if value is None or type(value).__name__ in _MISSING or value != value:
        return None
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    return value if isinstance(value, Decimal) else str(value)


def _with_column(frame: Any, name: str, values: list[str]) -> Any:
    if hasattr(frame, "assign"):
        return frame.assign(**{name: np.array(values, object)})
    return frame.with_columns(type(frame[frame.columns[0]])(name, values))
