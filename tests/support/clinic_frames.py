"""The clinic's records as a scientist has them: a data frame for each hospital."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.support.clinic import CLASSES, NAMES


def frames_of(rows: Mapping[str, Sequence[tuple[int, ...]]]) -> list[Any]:
    """Codes back to the texts that the schema lists."""
    import pandas as pd

    columns = [*NAMES, "diagnosis"]
    return [
        pd.DataFrame([[*map(str, row[:-1]), CLASSES[row[-1]]] for row in own], columns=columns)
        for own in rows.values()
    ]
