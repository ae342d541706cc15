"""Derived columns in an engine: days between two dates there, and else the fields of a row joined to one text there.

Of joined fields the engine only joins and compares; what a combination means is found out once a distinct one, by the
same code as of files (`sql_checks`). A column of numbers that has the engine's numeric type is joined as the engine
prints it, which is exact for whole numbers and decimals. Days of columns with the engine's own types of dates are
subtracted there, and are texts as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import reduce
from operator import add, or_
from typing import Any

from hospital_agent.records.composing import can_derive
from hospital_agent.records.source import DataSettings
from hospital_agent.records.sql_engine import ibis
from shared.contract.deriving import SEPARATOR, source_of
from shared.wire.contract import ContractInput, DataContract
from shared.wire.contract_derived import Days, Derivation


@dataclass(frozen=True, slots=True)
class Composed:
    """Columns by the study's name: `texts` are joined fields, `numbers` are made by the engine."""

    texts: dict[str, Any] = field(default_factory=dict, repr=False)
    numbers: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def all(self) -> dict[str, Any]:
        """Both."""
        return self.texts | self.numbers


def composed_there(rows: Any, actual: Mapping[str, str], settings: DataSettings) -> Composed:
    """The derived columns of all whose columns are there. Args: actual: name in the study to column of the engine."""
    made, contract = Composed(), settings.contract
    for one in () if contract is None else contract.derived:
        if contract is None or not can_derive(one, actual):
            continue
        columns = [rows[actual[name]] for name in one.columns]
        if _has_dates(one, contract, columns, settings):
            made.numbers[one.name] = _days(columns).name(one.name)
        else:
            made.texts[one.name] = _joined(columns).name(one.name)
    return made


def _has_dates(one: Derivation, contract: DataContract, columns: list[Any], settings: DataSettings) -> bool:
    """Whether the engine can subtract the dates and means by it what reading their texts would."""
    if not isinstance(one, Days) or settings.missing_codes:
        return False
    sources = [source_of(contract, name, f"derived {one.name!r}") for name in one.columns]
    plain = all(
        isinstance(source, ContractInput) and not source.missing_codes and "YYYY-MM-DD" in source.formats
        for source in sources
    )
    kinds = [column.type() for column in columns]
    return plain and all(kind.is_date() or (kind.is_timestamp() and kind.timezone is None) for kind in kinds)


def _days(columns: list[Any]) -> Any:
    """The days as a text; of dates that reading knows no text of, the joined fields, which reading then refuses.

    Engines have years beyond 9999 and infinity, and would count them or take them for empty.
    """
    first, second = map(_date, columns)
    least, most = (ibis().date(one.isoformat()) for one in (date.min, date.max))
    is_outside = reduce(or_, [test for one in (first, second) for test in (one < least, one > most)])
    return ibis().cases(
        (is_outside, _joined([first, second])), else_=second.delta(first, unit="day").cast("string")
    )


def _date(column: Any) -> Any:
    return column.date() if column.type().is_timestamp() else column


def _joined(columns: list[Any]) -> Any:
    """NULL as the empty field; blanks and codes for missing are dealt with once a distinct text, as everywhere."""
    texts = [ibis().coalesce(column.cast("string"), "") for column in columns]
    separator = ibis().literal(SEPARATOR)
    return reduce(add, [texts[0], *(piece for text in texts[1:] for piece in (separator, text))])
