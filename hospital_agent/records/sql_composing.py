"""Derived columns in an engine: the fields of a row joined to one text there, as `composing` joins them here.

The engine only joins and compares texts; what a combination means is found out once a distinct one, by the same code as
of files (`sql_checks`). So there is one way to derive a value, wherever the records are. A column of numbers that has
the engine's numeric type is joined as the engine prints it, which is exact for whole numbers and decimals.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import add
from typing import Any

from hospital_agent.records.composing import can_derive
from hospital_agent.records.source import DataSettings
from hospital_agent.records.sql_engine import ibis
from shared.contract.deriving import SEPARATOR


def composed_there(rows: Any, actual: Mapping[str, str], settings: DataSettings) -> dict[str, Any]:
    """The derived columns of all whose columns are there. Args: actual: name in the study to column of the engine."""
    contract = settings.contract
    return {
        one.name: _joined([rows[actual[name]] for name in one.columns]).name(one.name)
        for one in (() if contract is None else contract.derived)
        if can_derive(one, actual)
    }


def _joined(columns: list[Any]) -> Any:
    """NULL as the empty field; blanks and codes for missing are dealt with once a distinct text, as everywhere."""
    texts = [ibis().coalesce(column.cast("string"), "") for column in columns]
    separator = ibis().literal(SEPARATOR)
    return reduce(add, [texts[0], *(piece for text in texts[1:] for piece in (separator, text))])
