"""The sum of a frequency matrix in profile paper (protocol section 5): cell by cell, one nonce a matrix.

The messages and the sum are the publication's; `phe` adds on the cloud's side. Encryption and decryption are
ours: the same messages for less work.
"""

from __future__ import annotations

from collections.abc import Sequence

from shared.crypto.paillier import (
    CountCipher,
    PublicKey,
    add_plaintext,
    combine,
    decode_ciphertext,
    encode_ciphertext,
    validate_ciphertexts,
)
from shared.crypto.paper import NONCE_BYTES, from_phe, phe_public, to_phe, unwrap_nonce, wrap_nonce
from shared.crypto.wrapping import rejected
from shared.errors import InternalError, JobCode, JobFailure, PeerError
from shared.secure_tree.packing import MAX_COUNT, MAX_SUM, SLOT_BITS, slots_per_plaintext, unpack

__all__ = ["NONCE_BYTES", "build_matrix", "open_matrix", "sum_matrices", "unwrap_nonce", "wrap_nonce"]


def build_matrix(cipher: CountCipher, counts: Sequence[int], nonce: bytes) -> list[bytes]:
    """C = Enc(M + z mod n), one ciphertext a cell. `counts`: row by row, each in [0, 2^36]. `nonce`: z."""
    if not all(0 <= count <= MAX_COUNT for count in counts):
        raise InternalError("a count outside 0..2^36 reached the encryption")
    z = int.from_bytes(nonce, "big")
    return cipher.encrypt([(count + z) % cipher.public.n for count in counts])


def sum_matrices(
    public: PublicKey, matrices: Sequence[Sequence[bytes]], nonces: Sequence[bytes]
) -> list[bytes]:
    """The product over hospitals of C (1 - z n) mod n^2, cell by cell.

    Args: matrices: one for each hospital, validated when they came. nonces: z of each, unwrapped.
    Raises: PeerError: `contribution_rejected`: matrices of different sizes.
    """
    if len({len(matrix) for matrix in matrices}) != 1:
        raise rejected()
    key = phe_public(public)
    rows = [
        [
            to_phe(key, decode_ciphertext(public, raw)) - int.from_bytes(nonce, "big") % public.n
            for raw in matrix
        ]
        for matrix, nonce in zip(matrices, nonces, strict=True)
    ]
    return [from_phe(public, sum(column[1:], column[0])) for column in zip(*rows, strict=True)]


def open_matrix(cipher: CountCipher, ciphertexts: Sequence[bytes]) -> list[int]:
    """The summed cells of one or more matrices, in order, without one decryption for each.

    Cells are combined under encryption into packed plaintexts, these are decrypted, and one batch check compares
    every cell's ciphertext with what came out. Only a cell outside its slot makes that fail.

    Raises: JobFailure: `range_violation`, also for a ciphertext that no encryption gives.
    """
    try:
        integers = validate_ciphertexts(cipher.public, ciphertexts)
    except PeerError:
        raise _out_of_range() from None
    cells = _decrypt_packed(cipher, integers)
    if not all(0 <= cell <= MAX_SUM for cell in cells):
        raise _out_of_range()
    differences = [add_plaintext(cipher.public, c, -x) for c, x in zip(integers, cells, strict=True)]
    if not cipher.all_zero(differences):
        raise _out_of_range()
    return cells


def _decrypt_packed(cipher: CountCipher, ciphertexts: Sequence[int]) -> list[int]:
    public = cipher.public
    width = slots_per_plaintext(public.bits)
    groups = [ciphertexts[start : start + width] for start in range(0, len(ciphertexts), width)]
    packed = [encode_ciphertext(public, combine(public, group, SLOT_BITS)) for group in groups]
    cells: list[int] = []
    for plaintext, group in zip(cipher.decrypt(packed), groups, strict=True):
        digits = unpack(plaintext, len(group), public.n)
        if digits is None:
            raise _out_of_range()
        cells.extend(digits)
    return cells


def _out_of_range() -> JobFailure:
    return JobFailure(JobCode.RANGE_VIOLATION, "a summed cell is outside 0..2^46")
