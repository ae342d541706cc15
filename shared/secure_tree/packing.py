"""Many counts in one plaintext (protocol sections 6.1 and 6.3): slots of 48 bits, balanced digits.

Bounds: a hospital's count is at most 2^36 and 1024 hospitals sum to at most 2^46, so a sum stays inside its
digit [-2^47, 2^47) with room to spare, and a packed plaintext inside (-n/2, n/2).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shared.errors import InternalError

SLOT_BITS: Final = 48
MAX_COUNT: Final = 2**36
"""Greatest count of one hospital."""
MAX_SUM: Final = 2**46
"""Greatest summed cell."""
MAX_NOISE: Final = 2**36
"""Greatest noise on one hospital's count either way: 2048 deviations of the noisiest sum that there may be."""
_MODULUS_MARGIN_BITS: Final = 2
_SLOT_BYTES: Final = SLOT_BITS // 8
_HALF: Final = 1 << (SLOT_BITS - 1)


def slots_per_plaintext(bits: int) -> int:
    """P = floor((bits(n) - 2) / 48): 42, 63, 85 for keys of 2048, 3072, 4096 bits."""
    return (bits - _MODULUS_MARGIN_BITS) // SLOT_BITS


def roster_plaintext_count(roster_size: int, bits: int) -> int:
    """Plaintexts that hold one slot for each member of the roster."""
    return -(-roster_size // slots_per_plaintext(bits))


def data_plaintext_count(slots: int, bits: int) -> int:
    """Plaintexts that hold the cells of a round."""
    return -(-slots // slots_per_plaintext(bits))


def plaintext_count(slots: int, roster_size: int, bits: int) -> int:
    """J: roster and data plaintexts; a contribution has J + 1 ciphertexts with the tag."""
    return roster_plaintext_count(roster_size, bits) + data_plaintext_count(slots, bits)


def pack(values: Sequence[int], per_plaintext: int) -> list[int]:
    """Cells to plaintexts, slot 0 least significant: x = sum v_t 2^(48 t), negative where the sum is.

    Args: values: each in [-2^47, 2^47).
    Raises: InternalError: a value outside its slot.
    """
    if not all(-_HALF <= value < _HALF for value in values):
        raise InternalError("a count does not fit its slot")
    return [_packed(values[start : start + per_plaintext]) for start in range(0, len(values), per_plaintext)]


def _packed(values: Sequence[int]) -> int:
    # v + 2^47 is a plain 48-bit digit; taking the digits' halves off again leaves the signed sum.
    raw = b"".join((value + _HALF).to_bytes(_SLOT_BYTES, "little") for value in values)
    return int.from_bytes(raw, "little") - _halves(len(values))


def unpack(plaintext: int, slots: int, modulus: int) -> list[int] | None:
    """The balanced digits of a plaintext in [0, n), centred mod n; None when a leftover remains.

    Adding 2^47 to every digit turns balanced digits into plain ones: what fits are exactly the sums of digits
    in [-2^47, 2^47), each in one way.
    """
    centred = plaintext - modulus if plaintext > modulus // 2 else plaintext
    shifted = centred + _halves(slots)
    if shifted >> (SLOT_BITS * slots):  # not 0 for what is negative, either
        return None
    raw = int(shifted).to_bytes(_SLOT_BYTES * slots, "little")
    digits = (raw[start : start + _SLOT_BYTES] for start in range(0, len(raw), _SLOT_BYTES))
    return [int.from_bytes(digit, "little") - _HALF for digit in digits]


def _halves(slots: int) -> int:
    """sum of 2^47 2^(48 t) over `slots` slots."""
    return ((1 << (SLOT_BITS * slots)) - 1) // ((1 << SLOT_BITS) - 1) * _HALF
