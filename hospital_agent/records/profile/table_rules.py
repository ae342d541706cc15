"""What can be strange about the rows together: repeats, patients who come twice, classes, contradictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hospital_agent.records.profile.crossing import Crossing
from hospital_agent.records.profile.facts import ColumnFacts
from hospital_agent.records.profile.finding import Advice, Finding, Weight, finding
from hospital_agent.records.profile.shown import told
from hospital_agent.records.profile.suspects import is_missing_word
from hospital_agent.records.remarks import MANY_VALUES
from shared.tree.schema import MAX_CLASSES

_RARE_CLASS: Final = 20
"""A class of fewer than one row in so many is rare."""


def class_findings(target: ColumnFacts, floor: int) -> list[Finding]:
    """What is wrong with the class column."""
    found = []
    unknown = sum(
        count
        for text, count in zip(target.values, target.counts, strict=True)
        if not text or is_missing_word(text)
    )
    if unknown:
        found.append(
            finding(
                "class-missing",
                Weight.STOP,
                (target.name,),
                rows=told(unknown, floor),
            )
        )
    if target.different < 2:
        found.append(
            finding(
                "single-class",
                Weight.LOOK,
                (target.name,),
            )
        )
    if target.different > MANY_VALUES and target.is_number:
        found.append(
            finding(
                "class-of-numbers",
                Weight.STOP if target.different > MAX_CLASSES else Weight.LOOK,
                (target.name,),
                n=target.different,
            )
        )
    counts = [count for value, count in zip(target.values, target.counts, strict=True) if value]
    if len(counts) > 1 and min(counts) * _RARE_CLASS < sum(counts):
        found.append(
            finding(
                "unbalanced",
                Weight.NOTE,
                (target.name,),
                rows=told(min(counts), floor),
                all=target.rows,
            )
        )
    return found


def repeated_rows(facts: Sequence[ColumnFacts], floor: int, crossing: Crossing) -> list[Finding]:
    """Rows that are the same in every column."""
    rows, repeats = facts[0].rows, crossing.repeats(facts)
    if not repeats:
        return []
    many = 4 * repeats >= rows
    return [
        finding(
            "duplicate-rows",
            Weight.LOOK if many else Weight.NOTE,
            (),
            rows=told(repeats, floor),
        )
    ]


def contradictions(
    attributes: Sequence[ColumnFacts], target: ColumnFacts, floor: int, crossing: Crossing
) -> list[Finding]:
    """Rows that are the same in every attribute, and not in the class."""
    rows = crossing.contradicting(attributes, target)
    if not rows:
        return []
    return [
        finding(
            "contradictory-rows",
            Weight.NOTE,
            (),
            rows=told(rows, floor),
        )
    ]


def repeated_patients(patient: ColumnFacts, floor: int, crossing: Crossing) -> list[Finding]:
    """Patients with more than one row."""
    found, rows = [], crossing.repeated(patient)
    if rows:
        found.append(
            finding(
                "repeated-patients",
                Weight.LOOK,
                (patient.name,),
                advice=(Advice("--drop", patient.name),),
                rows=told(rows, floor),
            )
        )
    if patient.missing:
        found.append(
            finding(
                "patient-missing",
                Weight.LOOK,
                (patient.name,),
                rows=told(patient.missing, floor),
            )
        )
    return found
