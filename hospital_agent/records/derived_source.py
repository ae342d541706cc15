"""Records that a job takes in part, or that it asks where they end in a tree: read, chosen, walked, kept as codes.

Whatever the source, what is frozen is a file of codes (`snapshot`). Of a database, all records' places in a tree are
counted there (`sql_walking`), and only places and classes are kept. Where a selection is made, the database gives codes
and not texts: the keyed hash is BLAKE2b, which engines lack, and another one would part the records of running studies
anew.
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
from hospital_agent.records.sql_rows import encode_there, read_codes
from hospital_agent.records.sql_walking import count_ends
from hospital_agent.records.table import Table
from hospital_agent.records.walking import Places, places_of
from shared.errors import InputError
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

    def freeze(self, schema: Schema, salt: bytes) -> CodedSnapshot:
        """Read every record, check it against its schema, choose, walk, keep the codes.

        Raises: InputError: as other sources; no such tree here; too few records on one side of a selection.
        """
        if self.asked is None:
            records = chosen_records(self.settings, schema, self.selector)
        else:
            records = _walked(*self.asked(), self.settings, self.selector, schema)
        return CodedSnapshot.write(self.directory, records, schema, salt)

    def reopen(self, schema: Schema, sha256: str) -> CodedSnapshot:
        """The codes kept earlier; neither the source nor the tree is read."""
        return CodedSnapshot.open(self.directory, sha256, schema)


def chosen_records(settings: DataSettings, schema: Schema, selector: Selector | None) -> CodedRecords:
    """The records of a selection, of all of them without one.

    Raises: InputError: as sources do; a selection by patient from a database.
    """
    if settings.path is None:
        if selector is not None and settings.patient_column is not None:
            raise InputError(
                "records of a database cannot be parted by patient",
                where="data settings, patient",
                remedy="Export the table to a file with that column and name it with path, or leave patient out.",
            )
        records, patients = _of_database(settings, schema), None
    else:
        table = read_table(settings)
        records = encode(table, schema, settings)
        patients = None if selector is None else _patients(table, settings)
    return records if selector is None else selector.take(records, patients)


def _of_database(settings: DataSettings, schema: Schema) -> CodedRecords:
    try:
        return encode_there(schema, settings)
    except MustCopyError as reason:
        return _told(read_codes(schema, settings), f"read as texts, which takes longer: {reason}")


def _told(records: CodedRecords, note: str) -> CodedRecords:
    return replace(records, notes=(*records.notes, note))


def _walked(
    tree: Tree, own: Schema, settings: DataSettings, selector: Selector | None, schema: Schema
) -> CodedRecords:
    """The records at their places, as an evaluation's `schema` codes them. Args: own: the tree's schema."""
    note = None
    if settings.path is None and selector is None:
        try:
            return _ends_there(tree, own, settings, schema)
        except MustCopyError as reason:
            note = f"each record was fetched to see where it ends: {reason}"
    read = chosen_records(settings, own, selector)
    found = _at_places(read, places_of(tree, own, rows_of(own, read)), schema)
    return found if note is None else _told(found, note)


def _ends_there(tree: Tree, own: Schema, settings: DataSettings, schema: Schema) -> CodedRecords:
    places, labels, counts, notes = count_ends(tree, own, settings)
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
        raise InputError(
            "a record without its patient cannot be kept together with the patient's others",
            where=f"{table.where}, column {column.name!r}, {table.locate(texts.index(''))}",
            remedy="Fill the field, or leave the setting patient out.",
        )
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
