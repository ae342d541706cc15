"""Records that a job takes in part, or that it asks where they end in a tree: read, chosen, walked, kept as codes.

Of a file what is frozen is a file of codes (`snapshot`). A database counts the records of a selection where they are
(`sql_source`), and where records end in a tree (`sql_walking`), of which only places and classes are kept. What it
cannot be told, such as a selection by BLAKE2b, is worked out from a copy of its records' codes; the notes say why.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from hospital_agent.records.files import read_table
from hospital_agent.records.matching import CodedRecords, encode
from hospital_agent.records.rows import RecordRows
from hospital_agent.records.selecting import Patients, Selector
from hospital_agent.records.snapshot import CodedSnapshot
from hospital_agent.records.source import DataSettings
from hospital_agent.records.sql_numbers import MustCopyError
from hospital_agent.records.sql_parting import without_patient
from hospital_agent.records.sql_rows import encode_with_patients, read_with_patients
from hospital_agent.records.sql_source import SqlSnapshot, SqlSource
from hospital_agent.records.sql_walking import count_ends
from hospital_agent.records.sql_ways import copied_note
from hospital_agent.records.table import Table
from hospital_agent.records.walking import Places, places_of
from shared.tree.model import Tree
from shared.tree.schema import Schema

AskedTree = tuple[Tree, Schema]
"""A tree, and the schema that records are coded by to walk it."""


@dataclass(frozen=True, slots=True)
class DerivedSource:
    """Implements `source.RecordSource`; snapshots are files in `directory`.

    `selector`: None for all records. `asked`: gives the tree of an evaluation, or refuses; None where the records
    themselves are counted.
    """

    settings: DataSettings
    directory: Path
    selector: Selector | None = None
    asked: Callable[[], AskedTree] | None = field(default=None, repr=False)

    def freeze(self, schema: Schema, salt: bytes) -> SqlSnapshot | CodedSnapshot:
        """Read every record, check it against its schema, choose, walk, keep the codes.

        Raises: InputError: as other sources; no such tree here; too few records on one side of a selection.
        """
        if self.asked is not None:
            records = _walked(*self.asked(), self.settings, self.selector, schema)
        elif self.settings.path is not None:
            records = chosen_records(self.settings, schema, self.selector)
        else:
            try:
                return self._in_database.freeze_there(schema, salt)
            except MustCopyError as reason:
                records = _told(chosen_records(self.settings, schema, self.selector), copied_note(reason))
        return CodedSnapshot.write(self.directory, records, schema, salt)

    def reopen(self, schema: Schema, sha256: str) -> SqlSnapshot | CodedSnapshot:
        """What was kept earlier; neither a file nor the tree is read."""
        if self.asked is None and self.settings.path is None:
            return self._in_database.reopen(schema, sha256)
        return CodedSnapshot.open(self.directory, sha256, schema)

    @property
    def _in_database(self) -> SqlSource:
        return SqlSource(self.settings, self.directory, self.selector)


def chosen_records(settings: DataSettings, schema: Schema, selector: Selector | None) -> CodedRecords:
    """The records of a selection, of all of them without one.

    Raises: InputError: as sources do.
    """
    if settings.path is None:
        records, patients = _of_database(
            settings if selector is not None else replace(settings, patient_column=None), schema
        )
    else:
        table = read_table(settings)
        records = encode(table, schema, settings)
        patients = None if selector is None else _patients(table, settings)
    return records if selector is None else selector.take(records, patients)


def _of_database(settings: DataSettings, schema: Schema) -> tuple[CodedRecords, Patients | None]:
    try:
        return encode_with_patients(schema, settings)
    except MustCopyError as reason:
        records, patients = read_with_patients(schema, settings)
        return _told(records, f"read as texts, which takes longer: {reason}"), patients


def _told(records: CodedRecords, note: str) -> CodedRecords:
    return replace(records, notes=(*records.notes, note))


def _walked(
    tree: Tree, own: Schema, settings: DataSettings, selector: Selector | None, schema: Schema
) -> CodedRecords:
    """The records at their places, as an evaluation's `schema` codes them. Args: own: the tree's schema."""
    note = None
    if settings.path is None:
        try:
            return _ends_there(tree, own, settings, selector, schema)
        except MustCopyError as reason:
            note = f"each record was fetched to see where it ends: {reason}"
    read = chosen_records(settings, own, selector)
    found = _at_places(read, places_of(tree, own, rows_of(own, read)), schema)
    return found if note is None else _told(found, note)


def _ends_there(
    tree: Tree, own: Schema, settings: DataSettings, selector: Selector | None, schema: Schema
) -> CodedRecords:
    places, labels, counts, notes = count_ends(tree, own, settings, selector)
    kinds = _at_places(
        CodedRecords(labels[None, :], np.empty((0, labels.size), np.uint32), notes), places, schema
    )
    codes = np.repeat(kinds.codes, counts, axis=1)
    return CodedRecords(codes, np.empty((0, codes.shape[1]), dtype=np.uint32), notes)


def rows_of(schema: Schema, records: CodedRecords) -> RecordRows:
    """The same records attribute by attribute."""
    return RecordRows.of(schema, records.codes, records.numbers)


def _patients(table: Table, settings: DataSettings) -> Patients | None:
    if settings.patient_column is None:
        return None
    column = table.find(settings.patient_column, "patient")
    texts = column.texts()
    if "" in column.values:
        raise without_patient(f"{table.where}, column {column.name!r}, {table.locate(texts.index(''))}")
    return tuple(texts)


def _at_places(records: CodedRecords, places: Places, schema: Schema) -> CodedRecords:
    """The records as an evaluation's schema codes them (`shared.protocol.tallies`). Args: places: one a record."""
    sizes = [len(attribute.values) for attribute in schema.attributes]
    codes = np.empty((len(sizes) + 1, places.size), dtype=np.uint8)
    start, spare = 0, int(len(sizes) > 1)
    for line, size in zip(codes, sizes, strict=False):
        inside = (places >= start) & (places < start + size - spare)
        line[:] = np.where(inside, places - start, size - 1)
        start += size - spare
    codes[-1] = records.codes[-1]
    return replace(records, codes=codes, numbers=np.empty((0, places.size), dtype=np.uint32))
