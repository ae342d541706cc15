"""What can be strange about the rows together: repeats, patients who come twice, classes, contradictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hospital_agent.records.profile.facts import ColumnFacts
from hospital_agent.records.profile.finding import Advice, Finding, Weight, finding
from hospital_agent.records.profile.shown import told
from hospital_agent.records.profile.suspects import is_missing_word
from hospital_agent.records.remarks import MANY_VALUES
from shared.tree.schema import MAX_CLASSES

_KEY_BOUND: Final = 1 << 62
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


def repeated_rows(facts: Sequence[ColumnFacts], floor: int) -> list[Finding]:
    """Rows that are the same in every column."""
    keys, rows = row_keys(facts), facts[0].rows
    repeats = rows - len(np.unique(keys))
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


def contradictions(attributes: Sequence[ColumnFacts], target: ColumnFacts, floor: int) -> list[Finding]:
    """Rows that are the same in every attribute, and not in the class."""
    keys = row_keys(attributes)
    _, alike = np.unique(keys, return_inverse=True)
    labels = len(target.values)
    classes = np.bincount(np.unique(alike * labels + target.codes) // labels)
    rows = int((classes[alike] > 1).sum())
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


def repeated_patients(patient: ColumnFacts, floor: int) -> list[Finding]:
    """Patients with more than one row."""
    patients = [
        count for value, count in zip(patient.values, patient.counts, strict=True) if value and count > 1
    ]
    found = []
    if patients:
        rows = sum(patients)
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


def row_keys(facts: Sequence[ColumnFacts]) -> NDArray[np.int64]:
    """A number a row, equal exactly where all columns are.

    Codes are digits of one number; where it would not fit 62 bits, the numbers so far become their ranks, which
    are fewer than rows. Sorting is what costs, so it is done as seldom as can be.
    """
    keys: NDArray[np.int64] = np.zeros(facts[0].rows, dtype=np.int64)
    bound = 1
    for column in facts:
        size = len(column.values)
        if bound * size >= _KEY_BOUND:
            _, keys = np.unique(keys, return_inverse=True)
            bound = facts[0].rows
        keys = keys * size + column.codes
        bound *= size
    return keys
