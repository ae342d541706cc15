"""The sum of a round of profile hardened: how the cloud forms it, how a hospital checks and opens it.

Protocol sections 6.2 and 6.3. The cloud's half needs no private key, the hospital's half needs no network.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shared.crypto.paillier import (
    CountCipher,
    PublicKey,
    add_plaintext,
    decode_ciphertext,
    encode_ciphertext,
    multiply_columns,
    validate_ciphertexts,
)
from shared.crypto.wrapping import rejected
from shared.errors import JobCode, JobFailure, PeerError
from shared.ids import AgentId
from shared.secure_tree.context import RoundContext
from shared.secure_tree.masks import self_mask_sums
from shared.secure_tree.packing import (
    MAX_SUM,
    pack,
    plaintext_count,
    roster_plaintext_count,
    slots_per_plaintext,
    unpack,
)
from shared.secure_tree.tag import tag


def sum_contributions(
    public: PublicKey,
    context: RoundContext,
    contributions: Mapping[AgentId, Sequence[bytes]],
    seeds: Mapping[AgentId, bytes],
) -> list[bytes]:
    """A_j = prod_i c_(i,j) (1 - n sum_i self_(i,j)) mod n^2; deterministic, so that anyone can recompute it.

    Args: contributions: J+1 ciphertexts of every roster member, validated when they came. seeds: unwrapped.
    Raises: PeerError: `contribution_rejected`: not exactly the roster, or different lengths.
    """
    agents = context.agents
    if set(contributions) != set(agents) or set(seeds) != set(agents):
        raise rejected()
    count = len(contributions[agents[0]])
    if any(len(contributions[agent]) != count for agent in agents):
        raise rejected()
    rows = [[decode_ciphertext(public, raw) for raw in contributions[agent]] for agent in agents]
    return product_of_rows(public, rows, self_mask_sums(context, seeds, count, public.n))


def product_of_rows(
    public: PublicKey, rows: Sequence[Sequence[int]], self_sums: Sequence[int]
) -> list[bytes]:
    """prod_i c_(i,j) (1 - n S_j) mod n^2 for each column j. Args: rows: one of each hospital. self_sums: S_j."""
    products = multiply_columns(public, rows)
    return [
        encode_ciphertext(public, add_plaintext(public, product, -mask))
        for product, mask in zip(products, self_sums, strict=True)
    ]


def open_aggregate(
    cipher: CountCipher,
    context: RoundContext,
    secret: bytes,
    slots: int,
    ciphertexts: Sequence[bytes],
    *,
    noisy: bool = False,
) -> list[int]:
    """The summed cells, after all checks of section 6.3 that need no other message.

    Only the data ciphertexts are decrypted, a sparse last one modulo one prime. What the roster, the tag and
    the sparse one must then encrypt is known, and one batch check compares. When it fails, everything is
    decrypted in the order of section 6.3, which names the fault.

    Args: secret: G. slots: cells of the round, at least 1. ciphertexts: J+1, as the cloud sent them. noisy: the sums
        carry noise; what comes out below 0 counts as 0 (section 6.6).
    Raises: JobFailure: `tag_mismatch` (also for other than J+1 valid ciphertexts), `roster_digits`,
        `range_violation` (also for leftovers).
    """
    public = cipher.public
    members = len(context.roster)
    integers = valid_sums(public, context, slots, ciphertexts)
    roster_end = roster_plaintext_count(members, public.bits)
    data, confirmed = _decrypt_data(cipher, ciphertexts[roster_end:-1], slots)
    plaintexts = pack([1] * members, slots_per_plaintext(public.bits)) + data
    plaintexts.append(tag(context, secret, plaintexts, public.n))
    # Known or decrypted whole: ciphertexts roster_end .. roster_end + confirmed need no comparison.
    compared = [*range(roster_end), *range(roster_end + confirmed, len(integers))]
    differences = [add_plaintext(public, integers[j], -plaintexts[j]) for j in compared]
    if not cipher.all_zero(differences):
        data = _checked_in_full(public, context, secret, slots, cipher.decrypt(ciphertexts))
    return _cells(public, slots, data, noisy=noisy)


def open_plaintexts(
    public: PublicKey,
    context: RoundContext,
    secret: bytes,
    slots: int,
    plaintexts: Sequence[int],
    *,
    noisy: bool = False,
) -> list[int]:
    """The same from plaintexts that several hospitals have decrypted together (section 6.5).

    Args: plaintexts: all J+1, in [0, n). Raises: JobFailure: as `open_aggregate`.
    """
    data = _checked_in_full(public, context, secret, slots, plaintexts)
    return _cells(public, slots, data, noisy=noisy)


def _cells(public: PublicKey, slots: int, data: Sequence[int], *, noisy: bool) -> list[int]:
    cells = _digits(data, slots, public)
    return _in_range([max(0, cell) for cell in cells] if noisy else cells)


def _decrypt_data(cipher: CountCipher, ciphertexts: Sequence[bytes], slots: int) -> tuple[list[int], int]:
    """Data plaintexts mod n, and how many of them (from the first) were decrypted modulo both primes."""
    bits = cipher.public.bits
    whole = len(ciphertexts)
    used = slots - (whole - 1) * slots_per_plaintext(bits)
    if used <= slots_per_plaintext(bits // 2):
        whole -= 1
    small = cipher.decrypt_small(ciphertexts[whole:])
    return cipher.decrypt(ciphertexts[:whole]) + [value % cipher.public.n for value in small], whole


def _checked_in_full(
    public: PublicKey, context: RoundContext, secret: bytes, slots: int, decrypted: Sequence[int]
) -> list[int]:
    """Section 6.3 word by word; the data plaintexts when nothing is wrong."""
    *plaintexts, sent_tag = decrypted
    if sent_tag != tag(context, secret, plaintexts, public.n):
        raise _tag_mismatch(context)
    members = len(context.roster)
    roster_end = roster_plaintext_count(members, public.bits)
    _digits(plaintexts[roster_end:], slots, public)
    if plaintexts[:roster_end] != pack([1] * members, slots_per_plaintext(public.bits)):
        raise JobFailure(
            JobCode.ROSTER_DIGITS, f"round {context.round + 1}: not every hospital was counted exactly once"
        )
    return plaintexts[roster_end:]


def valid_sums(
    public: PublicKey, context: RoundContext, slots: int, ciphertexts: Sequence[bytes]
) -> list[int]:
    """The J+1 ciphertexts of a round of `slots` cells, as integers.

    Raises: JobFailure: `tag_mismatch`: a sum of another size, or with what no encryption gives, is no sum of the
        hospitals' contributions.
    """
    if len(ciphertexts) != plaintext_count(slots, len(context.roster), public.bits) + 1:
        raise _tag_mismatch(context)
    try:
        return validate_ciphertexts(public, ciphertexts)
    except PeerError:
        raise _tag_mismatch(context) from None


def _tag_mismatch(context: RoundContext) -> JobFailure:
    return JobFailure(JobCode.TAG_MISMATCH, f"round {context.round + 1}: the sum does not match its tag")


def _in_range(cells: list[int]) -> list[int]:
    if not all(0 <= cell <= MAX_SUM for cell in cells):
        raise _out_of_range()
    return cells


def _digits(data: Sequence[int], slots: int, public: PublicKey) -> list[int]:
    """Balanced digits of all data plaintexts; leftovers must be 0."""
    per_plaintext = slots_per_plaintext(public.bits)
    cells: list[int] = []
    for plaintext in data:
        digits = unpack(plaintext, min(per_plaintext, slots - len(cells)), public.n)
        if digits is None:
            raise _out_of_range()
        cells.extend(digits)
    return cells


def _out_of_range() -> JobFailure:
    return JobFailure(JobCode.RANGE_VIOLATION, "a summed cell is outside 0..2^46")
