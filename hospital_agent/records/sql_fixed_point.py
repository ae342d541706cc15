"""A number's code in fixed point, worked out by the engine: what parting records by themselves takes of it.

Freezing has seen that every number has no more decimals than the study declares. So it is a whole number k of steps,
and the column's nearest double times the steps in 1 is off by less than k / 2^51: rounded it is k, as long as k is
below 2^50.
"""

from __future__ import annotations

from typing import Any, Final

from hospital_agent.records.source import DataSettings
from hospital_agent.records.sql_engine import ibis
from hospital_agent.records.sql_numbers import MustCopyError, NumberColumn, NumberReading
from shared.errors import InternalError
from shared.tree.schema import Attribute

_MOST_STEPS: Final = 1 << 50


def number_code(column: Any, attribute: Attribute, settings: DataSettings) -> Any:
    """The code of each row's number. Args: attribute: in fixed point, with the cuts that a tree asks for.

    Raises: MustCopyError: the engine cannot tell it exactly.
    """
    point, where = attribute.fixed_point, f"column {column.get_name()!r}"
    if point is None:
        raise InternalError("a code in fixed point of an attribute of listed values")
    kind, steps = column.type(), 10**point.decimals
    if kind.is_floating() and kind.nbytes != 8:
        raise MustCopyError(f"{where} holds floating numbers of 32 bits, which the job parts records by")
    if attribute.name in settings.units:
        raise MustCopyError(f"{where} is in another unit, and the job parts records by its numbers")
    if max(abs(point.minimum), abs(point.maximum)) * steps >= _MOST_STEPS:
        raise MustCopyError(f"{where} has numbers of too many digits, and the job parts records by them")
    told = NumberColumn(column, NumberReading.of(attribute, settings))
    number = (column.cast("float64") * float(steps)).round().cast("int64") - int(point.minimum * steps)
    if point.missing is None:
        return number
    return told.missing().ifelse(
        ibis().literal(point.code_of(attribute.name, point.missing), type="int64"), number
    )
