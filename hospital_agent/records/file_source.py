"""A local file as a record source: read once, checked, kept as dictionary codes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hospital_agent.records.files import read_table
from hospital_agent.records.matching import encode
from hospital_agent.records.snapshot import CodedSnapshot
from hospital_agent.records.source import DataSettings
from shared.tree.schema import Schema


@dataclass(frozen=True, slots=True)
class FileSource:
    """Implements `source.RecordSource`; snapshots are files in `directory`."""

    settings: DataSettings
    directory: Path

    def freeze(self, schema: Schema, salt: bytes) -> CodedSnapshot:
        """Read the file, check every field against the schema, keep the codes."""
        records = encode(read_table(self.settings), schema, self.settings)
        return CodedSnapshot.write(self.directory, records, schema, salt)

    def reopen(self, schema: Schema, sha256: str) -> CodedSnapshot:
        """The codes kept earlier; the file itself is not read."""
        return CodedSnapshot.open(self.directory, sha256, schema)
