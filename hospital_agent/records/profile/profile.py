"""A table looked at as a whole: the facts of its columns and everything that was found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from hospital_agent.records.profile.column_rules import column_findings, spelling_finding
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

_ORDER: Final = list(Weight)
_LEFT_OUT: Final = frozenset({"identifier", "constant", "empty-column", "free-text", "date", "personal"})
"""Columns with such a finding are no attributes, so they are compared with nothing."""


@dataclass(frozen=True, slots=True)
class Profile:
    """What was found. `facts`: all columns. `target`: the class, if one was named. `floor`: fewest rows told of."""

    table: Table = field(repr=False)
    facts: tuple[ColumnFacts, ...] = field(repr=False)
    target: ColumnFacts | None = field(repr=False)
    findings: tuple[Finding, ...]
    floor: int


def profile_of(
    table: Table,
    floor: int,
    class_column: ColumnReference | None = None,
    drop: Iterable[ColumnReference] = (),
    patient: ColumnReference | None = None,
) -> Profile:
    """Look at a table. Args: drop: columns that are not looked at. patient: the column that names patients.

    Raises: InputError: a column that there is not.
    """
    facts = tuple(facts_of(column) for column in table.columns)
    by_position = {column.column.position: column for column in facts}
    target = None if class_column is None else by_position[table.find(class_column, "--class").position]
    dropped = {table.find(reference, "--drop").position for reference in drop}
    person = None if patient is None else by_position[table.find(patient, "--patient").position]
    looked_at = [column for column in facts if column.column.position not in dropped]
    attributes = [column for column in looked_at if column not in (target, person)]
    findings = [finding for column in attributes for finding in column_findings(column, floor)]
    kept = _kept(attributes, findings)
    findings += twins(kept)
    if person is not None:
        findings += repeated_patients(person, floor)
    findings += repeated_rows(looked_at, floor)
    if target is not None:
        findings += class_findings(target, floor)
        spelled = spelling_finding(target, floor)
        findings += [] if spelled is None else [spelled]
        findings += leaking(kept, target)
        findings += contradictions(kept, target, floor) if kept else []
    findings.sort(key=lambda finding: _ORDER.index(finding.weight))
    return Profile(table, facts, target, tuple(joined(findings)), floor)


def _kept(attributes: list[ColumnFacts], findings: list[Finding]) -> list[ColumnFacts]:
    out = {column for finding in findings if finding.code in _LEFT_OUT for column in finding.columns}
    return [column for column in attributes if column.name not in out]
