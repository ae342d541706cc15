"""Columns as dictionary codes by DuckDB: the distinct texts of a column, and a code for each row, in the file's order.

DuckDB works in memory alone: its spill directory is switched off, so that no record reaches a disk. Its own messages
quote records and are therefore never passed on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import pairwise
from typing import Any, Final

import duckdb
import numpy as np
from numpy.typing import NDArray

from hospital_agent.records.table import Column
from shared.errors import InputError

_SEALED: Final[dict[str, str | bool | int | float | list[str]]] = {
    "temp_directory": "",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
"""Nothing is spilled to a disk, and nothing fetched over the network."""


@contextmanager
def sealed_engine(where: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """An engine for one file. Raises: InputError: its records do not fit into memory."""
    with closing(duckdb.connect(":memory:", config=_SEALED)) as engine:
        try:
            yield engine
        except duckdb.OutOfMemoryException:
            raise InputError(
                "the records do not fit into memory.",
                where=where,
                remedy="Give the machine more memory, or load them into a database and name its URL.",
            ) from None


def encode_raw(
    engine: duckdb.DuckDBPyConnection, names: Sequence[str], missing: tuple[str, ...]
) -> tuple[tuple[Column, ...], int]:
    """Each column of the view `raw` (columns c0, c1, ... of texts, `place` their order) as a `Column`; and the rows."""
    row = engine.execute("SELECT count(*) FROM raw").fetchone()
    encoded = (_encode_column(engine, index, missing) for index in range(len(names)))
    columns = tuple(
        Column(name, position, values, codes)
        for position, (name, (values, codes)) in enumerate(zip(names, encoded, strict=True), start=1)
    )
    return columns, int(row[0]) if row else 0


def column_of_texts(
    name: str,
    position: int,
    texts: Sequence[str],
    missing: tuple[str, ...],
    declared: tuple[str, ...] | None = None,
) -> Column:
    """A column of texts that are in memory already."""
    places: dict[str, int] = {}
    raw = np.fromiter(
        (places.setdefault(text, len(places)) for text in texts), dtype=np.int64, count=len(texts)
    )
    values, table = _cleaned(list(places), missing)
    return Column(name, position, values, table.take(raw), declared)


def literal(text: str) -> str:
    """A text in SQL. Not a parameter: for the first of those DuckDB imports pandas, where it is installed."""
    return "'" + text.replace("'", "''") + "'"


def quoted(name: str) -> str:
    """A column's name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def _encode_column(
    engine: duckdb.DuckDBPyConnection, index: int, missing: tuple[str, ...]
) -> tuple[tuple[str, ...], NDArray[Any]]:
    """An enumeration type of the column's raw texts gives DuckDB's dictionary codes.

    Blanks and missing codes are dealt with once a distinct text, not once a row: four times faster.
    """
    raw = f"coalesce(c{index}, '')"
    engine.execute(f"CREATE OR REPLACE TYPE texts AS ENUM (SELECT DISTINCT {raw} AS v FROM raw ORDER BY v)")  # noqa: S608
    # An array, not rows of one text each: where nearly every row has its own text, those took as much room again.
    found = engine.execute("SELECT unnest(enum_range(NULL::texts)) AS text").fetchnumpy()["text"].tolist()
    coded = engine.execute(f"SELECT enum_code({raw}::texts) AS code FROM raw ORDER BY place").fetchnumpy()  # noqa: S608
    if _is_clean(found, missing):
        return tuple(found), coded["code"].astype(_code_type(len(found)), copy=False)
    values, table = _cleaned(found, missing)
    return values, table.take(coded["code"])


def _is_clean(texts: Sequence[str], missing: tuple[str, ...]) -> bool:
    """Whether cleaning would leave the texts as they are, in their order."""
    codes = set(missing) - {""}
    return all(text == text.strip() and text not in codes for text in texts) and all(
        one < next_one for one, next_one in pairwise(texts)
    )


def _code_type(values: int) -> np.dtype[Any]:
    return np.min_scalar_type(max(values - 1, 0))


def _cleaned(raw: Sequence[str], missing: tuple[str, ...]) -> tuple[tuple[str, ...], NDArray[Any]]:
    """Sorted distinct values without blanks around them, missing codes as empty fields; the code of each raw text."""
    texts = [_clean(text, missing) for text in raw]
    values = sorted(set(texts))
    place = {text: code for code, text in enumerate(values)}
    table = np.array([place[text] for text in texts], dtype=_code_type(len(values)))
    return tuple(values), table


def _clean(text: str, missing: tuple[str, ...]) -> str:
    text = text.strip()
    return "" if text in missing else text
