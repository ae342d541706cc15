"""What a hospital says about its records, and the two interfaces through which the agent counts or shares them.

A `RecordSource` is a file or an SQL table. Freezing it against the study's signed schema gives a `Snapshot`, whose
hash the agent signs on acceptance (protocol rule A1) and whose counts never change afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from hospital_agent.records.rows import RecordRows
from shared.tree.frontier import NodeQuery
from shared.tree.schema import Schema
from shared.wire.contract import DataContract

ColumnReference = str | int
"""A column by name or by 1-based position; text of digits is a position where no column has that name."""


@dataclass(frozen=True, slots=True)
class DataSettings:
    """The agent's own words about its data: where it is and how its columns meet the study's attributes.

    Exactly one of `path` and `url` is given; with `url` (an Ibis connection URL, which may hold a password) also
    exactly one of `table` and `query`. Everything left at None is found out from the data.
    """

    path: Path | None = None
    url: str | None = field(default=None, repr=False)
    table: str | None = None
    query: str | None = field(default=None, repr=False)
    class_column: ColumnReference | None = None
    """None: the column named like the study's class."""
    has_header: bool | None = None
    drop: tuple[ColumnReference, ...] = ()
    delimiter: str | None = None
    """One character; `" "` stands for any run of blanks."""
    quote: str | None = None
    """The character around fields that hold delimiters or line ends; empty for none."""
    comment: str | None = None
    """Lines that begin with it are left out; empty for none."""
    sheet: str | int | None = None
    """Of a workbook, by name or by 1-based position; None: the first one that is not empty."""
    encoding: str | None = None
    rename: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Column of the data to name in the study."""
    missing_codes: tuple[str, ...] = ()
    """Texts that stand for an empty field, such as `?` or `NA`."""
    decimal_comma: bool | None = None
    """Numbers of numeric attributes are written 37,5; None: found out for each column (`decimal_marks`)."""

    units: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Attribute of the study to the unit of its numbers here, where the contract's is another."""
    contract: DataContract | None = field(default=None, repr=False)
    """How the study reads columns and texts; after `rename` and `missing_codes`."""
    patient_column: ColumnReference | None = None
    """Of the patient: records of one patient stay together where a job holds records out."""


class Snapshot(Protocol):
    """Records frozen for a job. Notes are for the hospital's own eyes and name columns only."""

    @property
    def sha256(self) -> str:
        """Salted hash, 64 lower-case hex digits."""
        ...

    @property
    def row_count(self) -> int:
        """Number of records; stays at the hospital."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """Things worth knowing that are no errors: ignored columns, a single class."""
        ...

    def count(self, queries: Sequence[NodeQuery]) -> list[int]:
        """All asked cells, in the order query, attribute, value, class.

        Raises: InputError: the records are no longer those that were frozen.
        """
        ...

    def rows(self) -> RecordRows:
        """The records themselves as codes, in an order that stays the same; they leave the hospital only as shares.

        Raises: InputError: the records are no longer those that were frozen. TemporaryError: no database.
        """
        ...


class RecordSource(Protocol):
    """A hospital's records before they are frozen."""

    def freeze(self, schema: Schema, salt: bytes) -> Snapshot:
        """Check every record against the schema and freeze them. Args: salt: at least 16 random bytes.

        Raises: InputError: naming file, line or column, and the remedy; never a value.
        """
        ...

    def reopen(self, schema: Schema, sha256: str) -> Snapshot:
        """The snapshot frozen earlier, after a restart. Raises: InputError: it is gone or was altered."""
        ...
