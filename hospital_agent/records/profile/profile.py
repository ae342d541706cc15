"""A table looked at as a whole: the facts of its columns and everything that was found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from hospital_agent.records.profile.column_rules import column_findings, spelling_finding
from hospital_agent.records.profile.crossing import Crossing, InMemory
from hospital_agent.records.profile.facts import ColumnFacts, facts_of
from hospital_agent.records.profile.finding import Finding, Weight, joined
from hospital_agent.records.profile.leaks import leaking, twins
from hospital_agent.records.profile.table_rules import (
    class_findings,
    contradictions,
    repeated_patients,
    repeated_rows,
)
from hospital_agent.records.source import ColumnReference
from hospital_agent.records.table import Table
from shared.texts import text

_ORDER: Final = list(Weight)
_LEFT_OUT: Final = frozenset({"identifier", "constant", "empty-column", "free-text", "date", "personal"})
"""Columns with such a finding are no attributes, so they are compared with nothing."""


Tell = Callable[[str], None]
"""Told what is being done, for people who wait."""


def silent(_step: str) -> None:
    """Tells nobody."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a steward asks: the floor, the class, columns that are not looked at, the column that names patients."""

    floor: int
    class_column: ColumnReference | None = None
    drop: tuple[ColumnReference, ...] = ()
    patient: ColumnReference | None = None


@dataclass(frozen=True, slots=True)
class Profile:
    """What was found. `facts`: all columns. `target`: the class, if one was named. `floor`: fewest rows told of."""

    table: Table = field(repr=False)
    facts: tuple[ColumnFacts, ...] = field(repr=False)
    target: ColumnFacts | None = field(repr=False)
    findings: tuple[Finding, ...]
    floor: int

    def is_whole_but(self, drop: Iterable[str]) -> bool:
        """Whether all texts of all columns are known, those named left aside."""
        left_out = set(drop)
        return all(facts.is_whole or facts.name in left_out for facts in self.facts)


def profile_of(
    table: Table,
    floor: int,
    class_column: ColumnReference | None = None,
    drop: Iterable[ColumnReference] = (),
    patient: ColumnReference | None = None,
    tell: Tell = silent,
) -> Profile:
    """Look at a table. Args: drop: columns that are not looked at. patient: the column that names patients.

    Raises: InputError: a column that there is not.
    """
    asked = Asked(floor, class_column, tuple(drop), patient)
    facts = []
    for number, column in enumerate(table.columns, start=1):
        tell(text("profile.step.column", n=number, of=len(table.columns)))
        facts.append(facts_of(column))
    return looked_at(table, facts, asked, InMemory(), tell)


def looked_at(
    table: Table, facts: Sequence[ColumnFacts], asked: Asked, rows: Crossing, tell: Tell = silent
) -> Profile:
    """The profile of columns whose facts are known. Args: table: names its columns; rows are asked of `rows` alone.

    Raises: InputError: a column that there is not.
    """
    floor = asked.floor
    by_position = {column.column.position: column for column in facts}

    def named(reference: ColumnReference | None, option: str) -> ColumnFacts | None:
        return None if reference is None else by_position[table.find(reference, option).position]

    target, person = named(asked.class_column, "--class"), named(asked.patient, "--patient")
    dropped = {table.find(reference, "--drop").position for reference in asked.drop}
    kept_in = [column for column in facts if column.column.position not in dropped]
    attributes = [column for column in kept_in if column not in (target, person)]
    findings = [finding for column in attributes for finding in column_findings(column, floor)]
    kept = _kept(attributes, findings)
    tell(text("profile.step.pairs"))
    findings += twins(kept, rows)
    tell(text("profile.step.rows"))
    if person is not None:
        findings += repeated_patients(person, floor, rows)
    findings += repeated_rows(kept_in, floor, rows)
    if target is not None:
        findings += class_findings(target, floor)
        spelled = spelling_finding(target, floor)
        findings += [] if spelled is None else [spelled]
        findings += leaking(kept, target, rows)
        findings += contradictions(kept, target, floor, rows) if kept else []
    findings.sort(key=lambda finding: _ORDER.index(finding.weight))
    return Profile(table, tuple(facts), target, tuple(joined(findings)), floor)


def _kept(attributes: list[ColumnFacts], findings: list[Finding]) -> list[ColumnFacts]:
    out = {column for finding in findings if finding.code in _LEFT_OUT for column in finding.columns}
    return [column for column in attributes if column.name not in out]
