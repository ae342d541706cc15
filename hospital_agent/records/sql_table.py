"""All rows of a database's table as texts: for looking at records and checking them, never for a job.

A job counts where the records are. A profile compares rows with one another, so they come into this machine's memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hospital_agent.records.source import DataSettings
from hospital_agent.records.sql_checks import clean, without_rows
from hospital_agent.records.sql_engine import opened, place
from hospital_agent.records.sql_values import text_of
from hospital_agent.records.table import Column, Table


def read_sql_table(settings: DataSettings) -> Table:
    """The table or query that the settings name. Raises: InputError: no rows. TemporaryError: no database."""
    with opened(settings) as rows:
        names = list(rows.columns)
        texts = rows.select(**{f"c{index}": text_of(rows[name]) for index, name in enumerate(names)})
        found = texts.to_pyarrow()
    if found.num_rows == 0:
        raise without_rows(settings)
    columns = tuple(
        _column(name, index + 1, found[f"c{index}"], settings) for index, name in enumerate(names)
    )
    return Table(place(settings), columns, found.num_rows, True, lambda row: f"row {row + 1} of the answer")


def _column(name: str, position: int, raw: Any, settings: DataSettings) -> Column:
    coded = raw.combine_chunks().dictionary_encode()
    texts = [clean(text, settings) for text in coded.dictionary.to_pylist()]
    values = sorted({*texts, *([""] if coded.null_count else [])})
    place_of = {text: code for code, text in enumerate(values)}
    codes = np.array([place_of[text] for text in texts] + [place_of.get("", 0)], dtype=np.int64)
    indices = coded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False).astype(np.int64)
    return Column(name, position, tuple(values), codes[indices].astype(np.int32))
