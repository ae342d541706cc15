"""A profile of a database by queries there: a column's texts with how often each occurs, and how columns go together.

No row leaves the engine. Of a column of very many texts only the most frequent ones come here, so that memory does not
grow with the rows; how many there are beside is known. Blanks and codes for missing are dealt with here, once a
distinct text, and where whole rows are compared, in the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from importlib.util import find_spec
from operator import add
from pathlib import Path
from typing import Any, Final

import duckdb
import numpy as np
from numpy.typing import NDArray

from hospital_agent.records.decimal_marks import mark_findings, with_marks
from hospital_agent.records.dictionary import literal, sealed_engine
from hospital_agent.records.foreign import Kind, kind_of
from hospital_agent.records.parquet import refuse_nested
from hospital_agent.records.profile.crossing import Codes
from hospital_agent.records.profile.facts import ColumnFacts, facts_by
from hospital_agent.records.profile.profile import Asked, Profile, Tell, looked_at, silent
from hospital_agent.records.reading import ReadingReport
from hospital_agent.records.source import DataSettings
from hospital_agent.records.sql_checks import clean, without_rows
from hospital_agent.records.sql_engine import ibis, opened, place
from hospital_agent.records.sql_values import text_of
from hospital_agent.records.table import Column, Table
from hospital_agent.records.text_file import has_pattern
from shared.errors import InputError
from shared.texts import text

MAX_TEXTS: Final = 100_000
"""Of a column, so many different texts come out of the engine at most."""
_NO_CODES: Final = np.empty(0, dtype=np.uint8)
_ANY_FILE: Final = "duckdb://"
_PART: Final = "\x01"


def profile_there(settings: DataSettings, asked: Asked, tell: Tell = silent) -> Profile:
    """The profile of a database's table or query, or of a Parquet file, which DuckDB reads where it lies.

    Raises: InputError: no rows, or a column that there is not. TemporaryError: no database.
    """
    source = settings if settings.path is None else _parquet(settings.path, settings)
    with opened(source) as rows:
        _keep_off_disk(rows, source)
        names, total = list(rows.columns), int(rows.count().to_pyarrow().as_py())
        if not total:
            raise without_rows(source)
        found: list[_Texts] = []
        for number, name in enumerate(names, start=1):
            tell(text("profile.step.column", n=number, of=len(names)))
            found.append(_texts_of(rows, name, source))
        columns = [
            Column(name, number, tuple(sorted(one.counts)), _NO_CODES)
            for number, (name, one) in enumerate(zip(names, found, strict=True), start=1)
        ]
        table = Table(place(source), tuple(columns), total, True, lambda row: f"row {row + 1} of the answer")
        if settings.path is not None:
            table = _of_file(table, rows, settings, settings.path.name)
        facts = [_facts(column, one, total) for column, one in zip(table.columns, found, strict=True)]
        return looked_at(table, facts, asked, InEngine(rows, source), tell)


def columns_there(settings: DataSettings) -> Table:
    """The names of the columns, and no row. Raises: as `profile_there`."""
    source = settings if settings.path is None else _parquet(settings.path, settings)
    with opened(source) as rows:
        columns = tuple(
            Column(name, number, (), _NO_CODES) for number, name in enumerate(rows.columns, start=1)
        )
    where = place(source) if settings.path is None else settings.path.name
    return Table(where, columns, 0, True, lambda row: f"row {row + 1}")


def is_asked_there(settings: DataSettings) -> bool:
    """Whether an engine can answer for these records: a database, or a Parquet file where Ibis is installed."""
    path = settings.path
    if path is None:
        return settings.url is not None
    if find_spec("ibis") is None or not path.is_file() or has_pattern(path):
        return False
    return kind_of(path, path.name) is Kind.PARQUET


def _parquet(path: Path, settings: DataSettings) -> DataSettings:
    """Raises: InputError: a column of more than single values, or a damaged file."""
    file = literal(str(path))
    with sealed_engine(path.name) as engine:
        try:
            kinds = engine.execute(f"DESCRIBE SELECT * FROM read_parquet({file})").fetchall()  # noqa: S608
        except duckdb.Error:
            raise InputError(
                "the Parquet file is damaged.", where=path.name, remedy="Export it again."
            ) from None
    refuse_nested({str(row[0]): str(row[1]) for row in kinds}, path.name)
    return replace(settings, path=None, url=_ANY_FILE, query=f"SELECT * FROM read_parquet({file})")  # noqa: S608


def _of_file(table: Table, rows: Any, settings: DataSettings, where: str) -> Table:
    """With decimal marks, which a file of texts may have, and the report that a file has."""
    kinds = rows.schema()
    typed = [column.position for column in table.columns if not kinds[column.name].is_string()]
    columns = with_marks(table.columns, settings.decimal_comma, typed)
    report = ReadingReport(
        where, "Parquet", table.row_count, len(columns), tuple(mark_findings(columns, settings.decimal_comma))
    )
    return replace(table, where=where, columns=columns, reading=report)


class InEngine:
    """Implements `crossing.Crossing` on the engine's rows."""

    def __init__(self, rows: Any, settings: DataSettings) -> None:
        self._rows, self._settings = rows, settings

    def table(self, a: ColumnFacts, b: ColumnFacts) -> Codes:
        """As `Crossing`."""
        found = self._pairs(a, b)
        cells: Codes = np.zeros((len(a.values), len(b.values)), dtype=np.int64)
        firsts, seconds = self._codes(a, found["a"]), self._codes(b, found["b"])
        np.add.at(cells, (firsts, seconds), found["n"].to_numpy().astype(np.int64))
        return cells

    def rise_together(self, a: ColumnFacts, b: ColumnFacts) -> bool:
        """As `Crossing`: no number of one comes with two of the other, and their order is kept or turned."""
        found = self._pairs(a, b)
        firsts = a.ranks()[self._codes(a, found["a"])]
        seconds = b.ranks()[self._codes(b, found["b"])]
        same, turned = firsts == seconds, firsts == seconds.max(initial=0) - seconds
        return bool(same.all() or turned.all())

    def repeats(self, columns: Sequence[ColumnFacts]) -> int:
        """As `Crossing`."""
        different = self._rows.select(key=self._key(columns)).distinct().count()
        return columns[0].rows - int(different.to_pyarrow().as_py())

    def contradicting(self, attributes: Sequence[ColumnFacts], target: ColumnFacts) -> int:
        """As `Crossing`."""
        label = self._text(target)
        alike = self._rows.select(key=self._key(attributes), label=label).group_by("key")
        sizes = alike.aggregate(
            n=lambda t: t.count(), low=lambda t: t.label.min(), high=lambda t: t.label.max()
        )
        mixed = sizes.filter(sizes.low != sizes.high)
        return int(mixed.aggregate(n=mixed.n.sum()).to_pyarrow()["n"][0].as_py() or 0)

    def repeated(self, column: ColumnFacts) -> int:
        """As `Crossing`."""
        if column.is_whole:
            pairs = zip(column.values, column.counts, strict=True)
            return sum(count for value, count in pairs if value and count > 1)
        rows = self._rows.select(text=self._text(column))
        sizes = rows.filter(rows.text != "").group_by("text").aggregate(n=lambda t: t.count())
        several = sizes.filter(sizes.n > 1)
        return int(several.aggregate(n=several.n.sum()).to_pyarrow()["n"][0].as_py() or 0)

    def _pairs(self, a: ColumnFacts, b: ColumnFacts) -> Any:
        both = self._rows.select(a=text_of(self._rows[a.name]), b=text_of(self._rows[b.name]))
        return both.group_by(["a", "b"]).aggregate(n=lambda t: t.count()).to_pyarrow()

    def _codes(self, column: ColumnFacts, texts: Any) -> NDArray[np.int64]:
        code_of = {value: code for code, value in enumerate(column.values)}
        return np.array([code_of[clean(one, self._settings)] for one in texts.to_pylist()], dtype=np.int64)

    def _text(self, column: ColumnFacts) -> Any:
        return _cleaned(text_of(self._rows[column.name]), self._settings)

    def _key(self, columns: Sequence[ColumnFacts]) -> Any:
        """A text, or in DuckDB its 64-bit hash, equal where all columns are.

        DuckDB works in this machine's memory, where the texts of ten million rows would not fit; two different rows of
        as many have one hash in one of several hundred thousand tables.
        """
        parts = [self._text(column) for column in columns]
        joined = reduce(add, [parts[0], *(piece for part in parts[1:] for piece in (_PART, part))])
        return joined.hash() if (self._settings.url or "").startswith("duckdb:") else joined


@dataclass(frozen=True, slots=True)
class _Texts:
    """The most frequent texts of a column with their rows, and how many different ones there are beside."""

    counts: dict[str, int] = field(repr=False)
    more: int


def _texts_of(rows: Any, name: str, settings: DataSettings) -> _Texts:
    texts = rows.select(text=text_of(rows[name]))
    groups = texts.group_by("text").aggregate(n=lambda t: t.count())
    found = groups.order_by([groups.n.desc(), groups.text]).limit(MAX_TEXTS + 1).to_pyarrow()
    counts: dict[str, int] = {}
    for raw, count in zip(found["text"].to_pylist(), found["n"].to_pylist(), strict=True):
        cleaned = clean(raw, settings)
        counts[cleaned] = counts.get(cleaned, 0) + count
    if found.num_rows <= MAX_TEXTS:
        return _Texts(counts, 0)
    more = int(groups.count().to_pyarrow().as_py()) - found.num_rows
    gaps = int(texts.filter(_cleaned(texts.text, settings) == "").count().to_pyarrow().as_py())
    return _Texts(counts | ({"": gaps} if gaps else {}), more)


def _facts(column: Column, texts: _Texts, total: int) -> ColumnFacts:
    seen = tuple(texts.counts[value] for value in column.values)
    return facts_by(column, seen, texts.more, total - sum(seen))


def _cleaned(texts: Any, settings: DataSettings) -> Any:
    """Fields without blanks around them, empty where they are missing."""
    found = ibis().coalesce(texts, "").strip()
    codes = settings.missing_codes
    return ibis().cases((found.isin(codes), ""), else_=found) if codes else found


def _keep_off_disk(rows: Any, settings: DataSettings) -> None:
    """DuckDB would write what does not fit into memory to a disk; records go to none but the database's."""
    if (settings.url or "").startswith("duckdb:"):
        rows.get_backend().raw_sql("SET temp_directory = ''")
