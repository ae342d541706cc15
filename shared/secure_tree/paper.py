"""The sum of a frequency matrix in profile paper (protocol section 5): cell by cell, one nonce a matrix.

The messages and the sum are the publication's; `phe` adds on the cloud's side. Encryption and decryption are
ours: the same messages for less work.
"""

from __future__ import annotations

from collections.abc import Sequence

from shared.crypto.paillier import CountCipher, PublicKey, decode_ciphertext, validate_ciphertexts
from shared.crypto.paper import NONCE_BYTES, from_phe, phe_public, to_phe, unwrap_nonce, wrap_nonce
from shared.crypto.wrapping import rejected
from shared.errors import InternalError, JobCode, JobFailure
from shared.secure_tree.packing import MAX_COUNT, MAX_SUM

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
    """The summed cells of one or more matrices, in order.

    Raises: PeerError: `contribution_rejected`: an invalid ciphertext. JobFailure: `range_violation`.
    """
    validate_ciphertexts(cipher.public, ciphertexts)
    cells = cipher.decrypt(ciphertexts)
    if not all(0 <= cell <= MAX_SUM for cell in cells):
        raise JobFailure(JobCode.RANGE_VIOLATION, "a summed cell is outside 0..2^46")
    return cells
