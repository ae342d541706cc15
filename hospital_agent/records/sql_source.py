"""Records in a database: checked and fingerprinted when frozen, counted where they are, watched for changes.

A database cannot be frozen from outside. What is kept is a *fingerprint*: the number of rows, and for each run of
columns a sum over the rows of a cubic polynomial, modulo 2^31 - 1, of secret weights given to the row's values. It
does not depend on the order of rows. After every count it is computed again; a difference means that the sums may be
of other records, and the round is refused.

What it cannot see: a change of columns that the study does not use, of a number within its interval, one undone in
between, or (with more than 800 values in all) rows exchanged between runs of columns; and, once in about two
thousand million, anything. It finds accidents; it is no proof against the hospital itself.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import rfc8785

from hospital_agent.protection import Protection
from hospital_agent.records.rows import RecordRows
from hospital_agent.records.selecting import Selector
from hospital_agent.records.snapshot import CodedSnapshot, schema_sha256
from hospital_agent.records.source import DataSettings
from hospital_agent.records.sql_checks import notes_of, read_spellings
from hospital_agent.records.sql_counting import chunks, count_sql
from hospital_agent.records.sql_engine import ibis, place
from hospital_agent.records.sql_numbers import MustCopyError
from hospital_agent.records.sql_parting import check_engine, check_parting, opened_for, taken, watched
from hospital_agent.records.sql_rows import fetch_codes, read_codes
from hospital_agent.records.sql_values import Spellings, SqlRecords, match
from hospital_agent.records.sql_ways import copied_note, refuse_measured
from machine.files import write_file
from shared.errors import InputError
from shared.tree.frontier import NodeQuery
from shared.tree.populations import count_apart
from shared.tree.schema import Schema

_PRIME: Final = 2**31 - 1
_REMEDY: Final = (
    "The job cannot go on with other records; let it end, freeze a copy of the table, and join anew."
)


@dataclass(frozen=True, slots=True)
class SqlSnapshot:
    """Records that stay in their database. Implements `source.Snapshot`."""

    sha256: str
    row_count: int = field(repr=False)
    notes: tuple[str, ...]
    schema: Schema = field(repr=False)
    settings: DataSettings = field(repr=False)
    salt: bytes = field(repr=False)
    fingerprint: tuple[int, ...] = field(repr=False)
    spellings: tuple[Spellings, ...] = field(repr=False)
    selector: Selector | None = None

    def count(self, queries: Sequence[NodeQuery]) -> list[int]:
        """All asked cells, in the order query, attribute, value, class.

        Raises: InputError: the records are no longer those that were frozen. TemporaryError: no database.
        """
        with self._checked() as records:
            return count_apart(
                queries,
                lambda some: count_sql(records, some),
                lambda query: query.cell_count(self.schema),
            )

    def rows(self) -> RecordRows:
        """The records as codes, sorted by them, since a database gives its rows in any order.

        Raises: as `count`.
        """
        with self._checked() as records:
            return fetch_codes(records)

    @contextmanager
    def _checked(self) -> Iterator[SqlRecords]:
        """The records for one piece of work, after which they must still be those that were frozen."""
        with opened_for(self.settings, self.selector) as rows:
            told = match(rows, self.schema, self.settings), self.schema, self.settings, self.spellings
            yield taken(*told, self.selector)
            if fingerprint(watched(*told, self.selector), self.salt) != self.fingerprint:
                raise InputError(
                    "the records changed since they were frozen.", where=place(self.settings), remedy=_REMEDY
                )


@dataclass(frozen=True, slots=True)
class SqlSource:
    """Implements `source.RecordSource`; what was frozen is noted in `directory`: no rows, no counts but one.

    Numbers in fixed point are many, and a fingerprint of conditions cannot watch them: records that have some are
    copied as codes into `directory` instead, as those of a file are. So are records that a data contract reads in a way
    that the engine cannot be told (`sql_numbers`); the snapshot's notes say why.
    """

    settings: DataSettings
    directory: Path
    selector: Selector | None = None
    """Of a job that takes a part of the records, which it can only where they stay (`freeze_there`)."""

    def freeze(self, schema: Schema, salt: bytes) -> SqlSnapshot | CodedSnapshot:
        """Check every record in the engine, and fingerprint them."""
        try:
            return self.freeze_there(schema, salt)
        except MustCopyError as reason:
            records = read_codes(schema, self.settings)
            notes = (*records.notes, copied_note(reason))
        return CodedSnapshot.write(self.directory, replace(records, notes=notes), schema, salt)

    def freeze_there(self, schema: Schema, salt: bytes) -> SqlSnapshot:
        """Raises: MustCopyError: the engine cannot be told how to read them, or to part them."""
        refuse_measured(schema)
        if self.selector is not None:
            check_engine(self.settings, self.selector)
        with opened_for(self.settings, self.selector) as rows:
            columns = match(rows, schema, self.settings)
            spellings = read_spellings(columns, schema, self.settings)
            told = columns, schema, self.settings, spellings
            selected = (
                {} if self.selector is None else _selected(self.selector, check_parting(*told, self.selector))
            )
            marks = fingerprint(watched(*told, self.selector), salt)
        document = rfc8785.dumps(
            {
                "fingerprint": list(marks),
                "notes": list(notes_of(columns, spellings[-1])),
                "salt": salt.hex(),
                "schema": schema_sha256(schema),
                "spellings": [[list(texts) for texts in column] for column in spellings],
                "source": [self.settings.table, self.settings.query],
                **selected,
            }
        )
        sha256 = hashlib.sha256(document).hexdigest()
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._path(sha256)
        write_file(path, Protection.of(self.directory.parent).seal(document, path.name))
        return self._noted(schema, sha256)

    def reopen(self, schema: Schema, sha256: str) -> SqlSnapshot | CodedSnapshot:
        """What was noted when freezing; the next count checks it against the database."""
        may_be_copied = (
            _is_measured(schema) or self.settings.contract is not None or self.selector is not None
        )
        if may_be_copied and not self._path(sha256).is_file():
            return CodedSnapshot.open(self.directory, sha256, schema)
        return self._noted(schema, sha256)

    def _noted(self, schema: Schema, sha256: str) -> SqlSnapshot:
        path = self._path(sha256)
        kept = path.read_bytes() if path.is_file() else b""
        document = Protection.of(self.directory.parent).open(kept, path.name)
        if hashlib.sha256(document).hexdigest() != sha256:
            raise InputError(
                "the note of the frozen records is gone or altered.", where=path.name, remedy=_REMEDY
            )
        noted: dict[str, Any] = json.loads(document)
        if not _is_of(self.selector, noted):
            raise InputError(
                "the frozen records are another part of this hospital's, or parted by another key.",
                where=path.name,
                remedy=_REMEDY,
            )
        if noted["schema"] != schema_sha256(schema):
            raise InputError("the frozen records are of another study.", where=path.name, remedy=_REMEDY)
        marks = tuple(noted["fingerprint"])
        return SqlSnapshot(
            sha256=sha256,
            row_count=noted.get("rows", marks[0]),
            notes=tuple(noted["notes"]),
            schema=schema,
            settings=self.settings,
            salt=bytes.fromhex(noted["salt"]),
            fingerprint=marks,
            spellings=tuple(noted["spellings"]),
            selector=self.selector,
        )

    def _path(self, sha256: str) -> Path:
        return self.directory / f"{sha256}.sql.json"


def _selected(selector: Selector, rows: int) -> dict[str, Any]:
    """What is noted of the part that was taken, in which there are so many rows."""
    return _division(selector) | {"rows": rows}


def _division(selector: Selector) -> dict[str, Any]:
    return {"selection": selector.spec.model_dump(mode="json"), "key": selector.key_mark}


def _is_of(selector: Selector | None, noted: dict[str, Any]) -> bool:
    """Whether what was noted is of this part, under this hospital's key, or of all records."""
    if selector is None:
        return "selection" not in noted
    return _division(selector).items() <= noted.items()


def _is_measured(schema: Schema) -> bool:
    return any(attribute.fixed_point for attribute in schema.attributes)


def fingerprint(records: SqlRecords, salt: bytes) -> tuple[int, ...]:
    """Number of rows, then for each run of columns its sum modulo 2^31 - 1.

    No overflow: 1025 weights of 30 bits fit 41 bits, products of two residues 62, a sum of 2^32 residues 63.
    """
    marks: list[int] = []
    for attributes in chunks(records, range(len(records.values))):
        terms = [_weighted(records.values[a], salt, a) for a in attributes]
        mixed = sum(terms, start=_weighted(records.labels, salt, len(records.values))) % _PRIME
        # Grouping first makes the engine work out the weights once a row, not once for each factor of the cube.
        alike = records.rows.group_by(mixed=mixed).aggregate(rows=records.rows.count())
        cube = (alike.mixed * alike.mixed % _PRIME) * alike.mixed % _PRIME
        mark = (cube * (alike.rows % _PRIME) % _PRIME).sum()
        (row,) = alike.aggregate(rows=alike.rows.sum(), mark=mark).to_pyarrow().to_pylist()
        marks = marks or [int(row["rows"] or 0)]  # a sum over no rows is NULL
        marks.append(int(row["mark"] or 0) % _PRIME)
    return tuple(marks)


def _weighted(conditions: Sequence[Any], salt: bytes, attribute: int) -> Any:
    """The secret weight, of 30 bits, of the row's value of one attribute; 0 for a field without a code."""
    weights = [
        ibis().literal(_weight(salt, attribute, code), type="int32") for code in range(len(conditions))
    ]
    weight = ibis().cases(*zip(conditions, weights, strict=True), else_=ibis().literal(0, type="int32"))
    # Engines take a bare literal for 32 bits whatever Ibis thinks of it; a cast from 32 to 64 is really written.
    return weight.cast("int64")


def _weight(salt: bytes, attribute: int, code: int) -> int:
    digest = hashlib.sha256(
        salt + b"weight" + attribute.to_bytes(4, "big") + code.to_bytes(4, "big")
    ).digest()
    return int.from_bytes(digest[:4], "big") >> 2
