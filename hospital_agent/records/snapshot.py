"""A hospital's records frozen for a job: dictionary codes in one memory-mapped file, named by its salted hash.

File: magic, u32 length of the header, header (canonical JSON: rows, schema hash, salt, notes), blanks up to a multiple
of 64 bytes; four bytes (little-endian) a code in fixed point, column after column; one byte a code of the attributes of
listed values, column after column, the classes last. The file is written once, synced, renamed into place, mode 0600.
Its hash is SHA-256 of all its bytes; the salt in them keeps a small hospital's hash from being guessed. After a restart
the file is opened again by that hash; the source is not read a second time. Where the agent's folder is encrypted, so
is the file; its hash is that of the opened bytes, which are then held in memory.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import rfc8785
from numpy.typing import NDArray

from hospital_agent.protection import Protection, is_large
from hospital_agent.records.counting import count_codes
from hospital_agent.records.matching import CodedRecords
from hospital_agent.records.rows import RecordRows
from machine.files import write_pieces
from shared.errors import InputError
from shared.tree.frontier import NodeQuery
from shared.tree.populations import count_apart
from shared.tree.schema import Schema

_MAGIC: Final = b"privet-snapshot-1\n"
_ALIGNMENT: Final = 64
_REMEDY: Final = "The job cannot go on with other records; let it end, and accept a new one."


@dataclass(frozen=True, slots=True)
class CodedSnapshot:
    """Frozen codes, counted by the kernel. Implements `source.Snapshot`.

    `codes`, `numbers`: as in `matching.CodedRecords`.
    """

    sha256: str
    row_count: int = field(repr=False)
    notes: tuple[str, ...]
    schema: Schema = field(repr=False)
    codes: NDArray[np.uint8] = field(repr=False)
    numbers: NDArray[np.uint32] = field(repr=False)

    @classmethod
    def write(cls, directory: Path, records: CodedRecords, schema: Schema, salt: bytes) -> Self:
        """Keep records on disk and hand back the frozen snapshot."""
        header = {
            "notes": list(records.notes),
            "rows": records.codes.shape[1],
            "salt": salt.hex(),
            "schema": schema_sha256(schema),
        }
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        numbers = records.numbers.astype("<u4", copy=False)
        return cls.open(directory, _store(directory, _preamble(header), numbers, records.codes), schema)

    @classmethod
    def open(cls, directory: Path, sha256: str, schema: Schema) -> Self:
        """Map a snapshot written earlier, its bytes checked against the hash.

        Raises: InputError: it is missing, altered, or of another schema.
        """
        path = directory / f"{sha256}.codes"
        if not path.is_file():
            raise InputError("the frozen records are gone.", where=path.name, remedy=_REMEDY)
        raw = _mapped_or_opened(path)
        if hashlib.sha256(raw.data).hexdigest() != sha256:
            raise InputError("the frozen records were altered.", where=path.name, remedy=_REMEDY)
        header, start = _read_header(raw)
        if header["schema"] != schema_sha256(schema):
            raise InputError("the frozen records are of another study.", where=path.name, remedy=_REMEDY)
        rows = int(header["rows"])
        measured = sum(attribute.fixed_point is not None for attribute in schema.attributes)
        body = raw[start:]
        codes = body[4 * measured * rows :].reshape(len(schema.attributes) - measured + 1, rows)
        numbers = body[: 4 * measured * rows].view("<u4").reshape(measured, rows)
        return cls(sha256, rows, tuple(header["notes"]), schema, codes, numbers)

    def count(self, queries: Sequence[NodeQuery]) -> list[int]:
        """All asked cells, in the order query, attribute, value, class. Only where all attributes list their values."""
        sizes = [len(attribute.values) for attribute in self.schema.attributes]
        classes = self.schema.class_count
        return count_apart(
            queries,
            lambda some: count_codes(self.codes, sizes, classes, some),
            lambda query: query.cell_count(self.schema),
        )

    def rows(self) -> RecordRows:
        """The records in the order of their source."""
        return RecordRows.of(self.schema, self.codes, self.numbers)


def schema_sha256(schema: Schema) -> str:
    """SHA-256 of the schema's canonical JSON."""
    return hashlib.sha256(rfc8785.dumps(schema.to_json())).hexdigest()


def _store(directory: Path, preamble: bytes, *arrays: NDArray[Any]) -> str:
    pieces: list[bytes | memoryview] = [preamble, *map(_bytes_of, arrays)]
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    path = directory / f"{digest.hexdigest()}.codes"
    protection = Protection.of(directory.parent)
    if protection.is_on:
        pieces = [protection.seal_large(b"".join(pieces), path.name)]
    write_pieces(path, pieces)
    return digest.hexdigest()


def _mapped_or_opened(path: Path) -> NDArray[np.uint8]:
    """The bytes of a snapshot: of a plain file without reading it whole, of an encrypted one in memory."""
    with path.open("rb") as stream:
        if not is_large(stream.read(_ALIGNMENT)):
            return np.asarray(np.memmap(path, dtype=np.uint8, mode="r"))
    content = Protection.of(path.parent.parent).open_large(path.read_bytes(), path.name)
    return np.frombuffer(content, dtype=np.uint8)


def _bytes_of(array: NDArray[Any]) -> memoryview:
    # Flat before it is taken for bytes: a view of no elements cannot be cast.
    flat: Any = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return memoryview(flat)


def _preamble(header: dict[str, Any]) -> bytes:
    text = rfc8785.dumps(header)
    raw = _MAGIC + struct.pack(">I", len(text)) + text
    return raw + b" " * (-len(raw) % _ALIGNMENT)


def _read_header(raw: NDArray[np.uint8]) -> tuple[dict[str, Any], int]:
    """The header of a file whose hash was right, and where its codes begin."""
    start = len(_MAGIC) + 4
    (length,) = struct.unpack(">I", raw[len(_MAGIC) : start].tobytes())
    header = json.loads(raw[start : start + length].tobytes())
    end = start + length
    return header, end + -end % _ALIGNMENT
