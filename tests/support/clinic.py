"""The acute inflammations of the publication (UCI, Czerniak, CC BY 4.0) as small test data."""

from __future__ import annotations

from typing import Any

_PATTERNS = (
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
NAMES = ("nausea", "lumbar pain", "urine pushing", "micturition pains", "burning of urethra")
CLASSES = ("none", "nephritis", "inflammation of the bladder", "both")
ROWS = [(*map(int, answers), label) for answers, label, count in _PATTERNS for _ in range(count)]
SCHEMA: dict[str, Any] = {
    "attributes": [{"name": name, "values": ["0", "1"]} for name in NAMES],
    "class": {"name": "diagnosis", "labels": list(CLASSES)},
}


def dealt(*hospitals: str) -> dict[str, list[tuple[int, ...]]]:
    """The records dealt round robin."""
    return {name: ROWS[start :: len(hospitals)] for start, name in enumerate(hospitals)}
