"""Which records a job takes: parted by a keyed hash, so that nobody else can tell where a record falls.

A record's place is a hash of its codes and of how many records like it came before, or of its patient, under a key that
this hospital keeps and the job's seed. So the same record falls alike in every job of one seed and one number of parts,
whatever the order of rows, and all records of a patient stay together where the settings name the patient's column.
Two numbers of parts part independently: selections can never differ by less than one part (decision record 32).
By HMAC-SHA-256 engines part their rows themselves (`sql_parting`); by BLAKE2b, in jobs from before release 0.4 and in
those that have a member of that time, they cannot (decision record 45).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hospital_agent.records.matching import CodedRecords
from shared.crypto import parting
from shared.errors import InputError
from shared.wire.tally import SelectionSpec

KEY_BYTES: Final = 32
_LABEL: Final = b"privet-selection"
_DIGEST_BYTES: Final = 8
_KEY_MARK: Final = b"key"
"""The text of no record and of no patient."""
_RUN_ROWS: Final = 1 << 16
"""Rows whose words are held at once, as numbers that take far more room than their codes."""

Patients = tuple[str, ...]
"""Each record's patient, as the table names it."""


@dataclass(frozen=True, slots=True)
class Selector:
    """The selection of one job at this hospital.

    `secret`: of this hospital alone, 32 bytes. `least`: fewest records that either side of the parting must have here.
    """

    spec: SelectionSpec
    secret: bytes = field(repr=False)
    least: int = 1

    def take(self, records: CodedRecords, patients: Patients | None) -> CodedRecords:
        """The records of the job's side. Raises: InputError: one side has too few here; says not how many."""
        places = self.places(records, patients)
        testing = (places >= self.spec.first) & (places < self.spec.last)
        self.check_sides(int(np.count_nonzero(testing)), int(np.count_nonzero(~testing)))
        chosen = testing if self.is_testing else ~testing
        return replace(records, codes=records.codes[:, chosen], numbers=records.numbers[:, chosen])

    @property
    def is_testing(self) -> bool:
        """Whether the job takes the records for testing."""
        return self.spec.use == "test"

    def check_sides(self, *sides: int) -> None:
        """Args: sides: how many records each side has here. Raises: InputError: too few; says not how many."""
        if min(sides) < self.least:
            raise InputError(
                "parting these records for training and testing leaves too few on one side "
                f"(each needs at least {self.least}, min_child of the policy)",
                where="records",
                remedy="Have the job part them otherwise, or take part without a selection.",
            )

    def places(self, records: CodedRecords, patients: Patients | None) -> NDArray[np.int64]:
        """Each record's place, 0 to parts - 1, shape (n,)."""
        place, is_by_hmac = self._place(), self.spec.hash is not None
        if patients is not None:
            message = parting.of_patient if is_by_hmac else _old_patient
            known = {patient: place(message(patient)) for patient in set(patients)}
            return np.array([known[patient] for patient in patients], dtype=np.int64)
        rows, occurrences = _rows_and_occurrences(records)
        contents = _words(records, occurrences) if is_by_hmac else _contents(rows, occurrences)
        return np.array([place(content) for content in contents], dtype=np.int64)

    def engine_key(self) -> bytes:
        """The key by which an engine parts rows as `places` does, for HMAC-SHA-256; good for this seed alone."""
        return parting.parting_key(self.secret, bytes.fromhex(self.spec.seed), self.spec.parts)

    @property
    def key_mark(self) -> str:
        """Tells two keys of `engine_key` apart and nothing of either, 16 hex digits."""
        return f"{parting.place_of(self.engine_key(), _KEY_MARK, 1 << 64):016x}"

    def _place(self) -> Callable[[bytes], int]:
        parts = self.spec.parts
        if self.spec.hash is not None:
            key = self.engine_key()
            return lambda content: parting.place_of(key, content, parts)
        told = bytes.fromhex(self.spec.seed) + parts.to_bytes(4, "big")
        key = hashlib.blake2b(told, key=self.secret, person=_LABEL, digest_size=KEY_BYTES).digest()

        def place(content: bytes) -> int:
            digest = hashlib.blake2b(content, key=key, digest_size=_DIGEST_BYTES).digest()
            return int.from_bytes(digest, "big") * parts >> (8 * _DIGEST_BYTES)

        return place


def _old_patient(patient: str) -> bytes:
    return b"patient\0" + patient.encode()


def _contents(rows: NDArray[np.uint8], occurrences: NDArray[np.int64]) -> Iterator[bytes]:
    """What BLAKE2b takes of each record."""
    width, content = rows.shape[1], rows.tobytes()
    for start, number in zip(range(0, len(content), width), occurrences.tolist(), strict=True):
        yield content[start : start + width] + number.to_bytes(8, "big")


def _words(records: CodedRecords, occurrences: NDArray[np.int64]) -> Iterator[bytes]:
    """What HMAC takes of each record (`shared.crypto.parting`)."""
    size = parting.CODES_A_WORD
    weights = np.int64(256) ** np.arange(size, dtype=np.int64)
    for start in range(0, occurrences.size, _RUN_ROWS):
        some = slice(start, start + _RUN_ROWS)
        lines = records.codes[:, some].astype(np.int64)
        runs = (lines[at : at + size] for at in range(0, len(lines), size))
        words = [weights[: len(run)] @ run for run in runs]
        table = np.stack([*words, *records.numbers[:, some].astype(np.int64), occurrences[some]], axis=1)
        for *row, occurrence in table.tolist():
            yield parting.of_record(row, occurrence)


def _rows_and_occurrences(records: CodedRecords) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Each record's codes as bytes, shape (n, bytes), and how many records alike stand before it, shape (n,)."""
    count = records.codes.shape[1]
    numbers = np.ascontiguousarray(records.numbers.T.astype("<u4", copy=False))
    wide: NDArray[np.uint8] = numbers.view(np.uint8).reshape(count, 4 * records.numbers.shape[0])
    rows = np.ascontiguousarray(np.hstack([records.codes.T, wide]))
    kinds: Any = rows.view(np.dtype((np.void, rows.shape[1]))).reshape(-1)
    _, group = np.unique(kinds, return_inverse=True)
    order = np.argsort(group, kind="stable")
    sorted_groups = group[order]
    first = np.searchsorted(sorted_groups, sorted_groups, side="left")
    occurrences = np.empty(count, dtype=np.int64)
    occurrences[order] = np.arange(count) - first
    return rows, occurrences
