"""The Acute Inflammations records that the demo trains on when it is given no file.

Source: J. Czerniak and H. Zarzycki (2003), UCI Machine Learning Repository, licence CC BY 4.0. The 120 records
have nine different symptom patterns; the temperature is left out, as in the publication of the protocol.
"""

from __future__ import annotations

from typing import Final

from shared.tree.schema import Attribute, Schema

TITLE: Final = "Acute Inflammations (Czerniak and Zarzycki 2003, UCI, CC BY 4.0)"
NOTE: Final = "0 = no, 1 = yes"
CLASS_COLUMN: Final = "diagnosis"
SYMPTOMS: Final = ("nausea", "lumbar pain", "urine pushing", "micturition pains", "burning of urethra")
CLASSES: Final = ("none", "nephritis", "inflammation of the bladder", "both")

PATTERNS: Final = (
    ("00000", 0, 10),
    ("00100", 2, 10),
    ("00110", 2, 10),
    ("00111", 2, 20),
    ("01000", 0, 20),
    ("01101", 1, 21),
    ("11010", 1, 10),
    ("11110", 3, 10),
    ("11111", 3, 9),
)
"""Symptoms (one digit each, in the order of `SYMPTOMS`), class index, number of records."""


def schema() -> Schema:
    """The columns as published; the classes in the publication's order, not sorted."""
    return Schema.create((Attribute(name, ("0", "1")) for name in SYMPTOMS), CLASS_COLUMN, CLASSES)


def csv_text() -> str:
    """The records as CSV with a header, pattern after pattern."""
    lines = [",".join((*SYMPTOMS, CLASS_COLUMN))]
    for symptoms, label, count in PATTERNS:
        lines += [",".join((*symptoms, CLASSES[label]))] * count
    return "\n".join(lines) + "\n"
