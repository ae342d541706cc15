"""The demo's records: read once, put before each hospital as a file of its own, and kept pooled for the comparison.

Only a demo may see all records at once. Each agent reads its own file again and knows nothing of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from hospital_agent.records.draft import draft_schema
from hospital_agent.records.files import read_table, write_table
from hospital_agent.records.matching import encode
from hospital_agent.records.rows import RecordRows
from hospital_agent.records.source import DataSettings
from hospital_agent.records.table import Table
from privet.demo import acute_inflammations, breast_cancer
from privet.demo.options import DemoOptions
from shared.errors import InputError
from shared.ids import AgentId
from shared.tree.counting import Row
from shared.tree.schema import Schema


@dataclass(frozen=True, slots=True)
class HospitalData:
    """One hospital's file, and how its agent is told to read it."""

    id: AgentId
    settings: DataSettings


@dataclass(frozen=True, slots=True)
class DemoRecords:
    """What the demo trains on. `title`, `note`: for people. `rows`: the codes of all records, by hospital."""

    title: str
    note: str
    schema: Schema
    hospitals: tuple[HospitalData, ...]
    rows: tuple[Row, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Reading:
    """Tables before they are dealt, and how they were read."""

    title: str
    note: str
    schema: Schema
    tables: tuple[Table, ...]
    settings: tuple[DataSettings, ...]


def prepare(
    options: DemoOptions, folder: Path, tell: Callable[[str], None] = lambda _line: None
) -> DemoRecords:
    """Read, check and deal the records; files that the demo itself writes go into `folder`, which exists.

    Args: tell: takes a sentence on what was found out about each file's header, before anything is refused.
    Raises: InputError: naming file, line or column, and the remedy.
    """
    reading = _read(options, tell) if options.files else _built_in(options, folder)
    if len(reading.tables) == 1:
        reading = _deal(reading, options.hospitals, folder)
    hospitals = tuple(
        HospitalData(AgentId(f"h{number}"), settings)
        for number, settings in enumerate(reading.settings, start=1)
    )
    rows = tuple(
        row
        for table, settings in zip(reading.tables, reading.settings, strict=True)
        for row in _codes(table, reading.schema, settings)
    )
    return DemoRecords(reading.title, reading.note, reading.schema, hospitals, rows)


def _codes(table: Table, schema: Schema, settings: DataSettings) -> Iterator[Row]:
    """Every record's codes, the class last."""
    coded = encode(table, schema, settings)
    rows = RecordRows.of(schema, coded.codes, coded.numbers)
    return zip(*(line.tolist() for line in (*rows.attributes, rows.classes)), strict=True)


def _read(options: DemoOptions, tell: Callable[[str], None]) -> _Reading:
    settings = tuple(_settings(path, options) for path in options.files)
    tables = tuple(read_table(each) for each in settings)
    if options.has_header is None:
        for found in filter(None, map(_header_found, tables)):
            tell(found)
    target = (
        tables[0].find(options.class_column, "--class") if options.class_column else tables[0].columns[-1]
    )
    cuts = _cuts_by_name(options, tables[0])
    schema = draft_schema(tables, target.name, options.drop, cuts, numbers=options.mode == "gain-ratio")
    title = ", ".join(path.name for path in options.files)
    return _Reading(title, "", schema, tables, settings)


def _header_found(table: Table) -> str | None:
    """What was taken for a header, why, and the option that says otherwise; None where the format leaves no doubt."""
    findings = () if table.reading is None else table.reading.findings
    why = next((finding.why for finding in findings if finding.subject == "header"), None)
    if why is None:
        return None
    if table.has_header:
        return f"{table.where}: the first line names the columns: {why}. If it is a record: --no-header"
    return f"{table.where}: the first line is a record: {why}. If it names the columns: --header"


def _settings(path: Path, options: DemoOptions) -> DataSettings:
    return DataSettings(
        path=path.absolute(),
        class_column=options.class_column,
        has_header=options.has_header,
        drop=options.drop,
    )


def _cuts_by_name(options: DemoOptions, table: Table) -> dict[str, tuple[Decimal, ...]]:
    """The cut points by the columns' names, also of columns that were meant by position."""
    cuts: dict[str, tuple[Decimal, ...]] = {}
    for reference, points in options.cuts.items():
        name = table.find(reference, "--cut").name
        if name in cuts:
            raise InputError(
                f"column {name!r} is cut twice.",
                where=f"--cut {reference}",
                remedy="Give all its points in one --cut.",
            )
        cuts[name] = points
    return cuts


def _built_in(options: DemoOptions, folder: Path) -> _Reading:
    """Measurements for the mode gain-ratio, symptoms for the others."""
    if options.mode == "gain-ratio":
        table, settings = _written(folder / "breast-cancer.csv", breast_cancer.csv_text())
        schema = draft_schema([table], breast_cancer.CLASS_COLUMN, numbers=True)
        return _Reading(breast_cancer.TITLE, breast_cancer.NOTE, schema, (table,), (settings,))
    table, settings = _written(folder / "acute-inflammations.csv", acute_inflammations.csv_text())
    schema = acute_inflammations.schema()
    return _Reading(acute_inflammations.TITLE, acute_inflammations.NOTE, schema, (table,), (settings,))


def _written(path: Path, text: str) -> tuple[Table, DataSettings]:
    path.write_text(text, encoding="utf-8")
    settings = DataSettings(path=path, has_header=True)
    return read_table(settings), settings


def _deal(reading: _Reading, hospitals: int, folder: Path) -> _Reading:
    """One table to several hospitals, round robin; each gets its part as CSV with a header."""
    table, was_read = reading.tables[0], reading.settings[0]
    if table.row_count < hospitals:
        raise InputError(
            f"fewer rows than the {hospitals} hospitals they are dealt to.",
            where=table.where,
            remedy="Give a file with more records.",
        )
    parts = tuple(table.deal(hospitals))
    settings = tuple(
        _write_part(part, folder / f"h{k}.csv", was_read) for k, part in enumerate(parts, start=1)
    )
    return _Reading(reading.title, reading.note, reading.schema, parts, settings)


def _write_part(part: Table, path: Path, was_read: DataSettings) -> DataSettings:
    write_table(part, path)
    return DataSettings(path=path, class_column=was_read.class_column, has_header=True, drop=was_read.drop)
