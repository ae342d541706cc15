"""Records that a shared tree is asked about: a file like that of the study's records, whose class nobody knows yet.

A class column that is there all the same is not looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hospital_agent.records.composing import with_open_class
from hospital_agent.records.contracted import study_names
from hospital_agent.records.files import read_table
from hospital_agent.records.matching import encode
from hospital_agent.records.snapshot import CodedSnapshot
from hospital_agent.records.source import DataSettings
from hospital_agent.records.table import Column, Table
from shared.tree.schema import Schema


@dataclass(frozen=True, slots=True)
class AskedSource:
    """Implements `source.RecordSource`; snapshots are files in `directory`."""

    settings: DataSettings
    directory: Path

    def freeze(self, schema: Schema, salt: bytes) -> CodedSnapshot:
        """Read the file, check every field but the class against the schema, keep the codes."""
        settings = with_open_class(replace(self.settings, class_column=None))
        table = _with_open_class(read_table(settings), schema, settings)
        return CodedSnapshot.write(self.directory, encode(table, schema, settings), schema, salt)

    def reopen(self, schema: Schema, sha256: str) -> CodedSnapshot:
        """The codes kept earlier; the file itself is not read."""
        return CodedSnapshot.open(self.directory, sha256, schema)


def _with_open_class(table: Table, schema: Schema, settings: DataSettings) -> Table:
    """The table with the schema's first class in every row, which no program ever reads."""
    names = study_names([column.name for column in table.columns], settings)
    kept = [column for column, name in zip(table.columns, names, strict=True) if name != schema.class_name]
    unknown = Column(
        schema.class_name, len(table.columns) + 1, (schema.classes[0],), np.zeros(table.row_count, np.uint8)
    )
    return replace(table, columns=(*kept, unknown))


@dataclass(frozen=True, slots=True)
class QuestionSource:
    """Records of one request, in the study's words; implements `source.RecordSource`. They touch no disk but sealed.

    `rows`: values of `columns`, one text a field.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    directory: Path

    def freeze(self, schema: Schema, salt: bytes) -> CodedSnapshot:
        """Check every field but the class against the schema, keep the codes."""
        columns = tuple(
            _column(name, place, texts)
            for place, (name, texts) in enumerate(
                zip(self.columns, zip(*self.rows, strict=True), strict=True), start=1
            )
        )
        asked = Table("the question", columns, len(self.rows), True, lambda row: f"record {row + 1}")
        settings = DataSettings()
        table = _with_open_class(asked, schema, settings)
        return CodedSnapshot.write(self.directory, encode(table, schema, settings), schema, salt)

    def reopen(self, schema: Schema, sha256: str) -> CodedSnapshot:
        """The codes kept earlier."""
        return CodedSnapshot.open(self.directory, sha256, schema)


def _column(name: str, position: int, texts: Sequence[str]) -> Column:
    values, codes = np.unique(np.array(texts, dtype=object), return_inverse=True)
    return Column(name, position, tuple(values), codes.astype(np.uint32))
