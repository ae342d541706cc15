"""Which records a job takes: parted by a keyed hash, so that nobody else can tell where a record falls.

A record's place is a hash of its codes and of how many records like it came before, or of its patient, under a key that
this hospital keeps and the job's seed. So the same record falls alike in every job of one seed and one number of parts,
whatever the order of rows, and all records of a patient stay together where the settings name the patient's column.
Two numbers of parts part independently: selections can never differ by less than one part (decision record 32).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hospital_agent.records.matching import CodedRecords
from shared.errors import InputError
from shared.wire.tally import SelectionSpec

KEY_BYTES: Final = 32
_LABEL: Final = b"privet-selection"
_DIGEST_BYTES: Final = 8

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
        if min(np.count_nonzero(testing), np.count_nonzero(~testing)) < self.least:
            raise InputError(
                "parting these records for training and testing leaves too few on one side "
                f"(each needs at least {self.least}, min_child of the policy)",
                where="records",
                remedy="Have the job part them otherwise, or take part without a selection.",
            )
        chosen = testing if self.spec.use == "test" else ~testing
        return replace(records, codes=records.codes[:, chosen], numbers=records.numbers[:, chosen])

    def places(self, records: CodedRecords, patients: Patients | None) -> NDArray[np.int64]:
        """Each record's place, 0 to parts - 1, shape (n,)."""
        key = self._key()
        if patients is not None:
            known = {patient: self._place(key, b"patient\0" + patient.encode()) for patient in set(patients)}
            return np.array([known[patient] for patient in patients], dtype=np.int64)
        rows, occurrences = _rows_and_occurrences(records)
        width = rows.shape[1]
        content = rows.tobytes()
        return np.array(
            [
                self._place(key, content[start : start + width] + number.to_bytes(8, "big"))
                for start, number in zip(range(0, len(content), width), occurrences.tolist(), strict=True)
            ],
            dtype=np.int64,
        )

    def _key(self) -> bytes:
        told = bytes.fromhex(self.spec.seed) + self.spec.parts.to_bytes(4, "big")
        return hashlib.blake2b(told, key=self.secret, person=_LABEL, digest_size=KEY_BYTES).digest()

    def _place(self, key: bytes, content: bytes) -> int:
        digest = hashlib.blake2b(content, key=key, digest_size=_DIGEST_BYTES).digest()
        return int.from_bytes(digest, "big") * self.spec.parts >> (8 * _DIGEST_BYTES)


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
