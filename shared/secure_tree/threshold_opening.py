"""Opening the sum of a round together, in key mode threshold (protocol section 6.5).

Before: the sum is the one that everybody's contributions make, so that a partial decryption is given of that and of
nothing else. After: t partial decryptions make the plaintexts, which pass the checks of section 6.3. When those fail,
proofs tell whose partial decryption is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shared.crypto.paillier import PublicKey, validate_ciphertexts
from shared.crypto.threshold import Partial, ThresholdKey, combine, is_proven
from shared.errors import JobCode, JobFailure, PeerError
from shared.ids import AgentId
from shared.secure_tree.aggregate import open_plaintexts, product_of_rows
from shared.secure_tree.context import RoundContext


def check_sums(
    public: PublicKey,
    context: RoundContext,
    contributions: Sequence[Sequence[bytes]],
    self_sums: Sequence[int],
    sums: Sequence[bytes],
) -> None:
    """A_j = prod_i c_(i,j) (1 - n S_j) mod n^2 for every j, recomputed.

    S_j is the cloud's word: another one shifts a plaintext by what the cloud itself knows, and fails the tag.

    Args: contributions: ciphertexts of each roster member. self_sums: S_j. sums: A_j as the cloud sent them.
    Raises: JobFailure: `tag_mismatch`.
    """
    fits = len(self_sums) == len(sums) and all(len(row) == len(sums) for row in contributions)
    try:
        rows = [validate_ciphertexts(public, row) for row in contributions] if fits else []
    except PeerError:
        rows = []
    if not rows or product_of_rows(public, rows, self_sums) != list(sums):
        raise JobFailure(
            JobCode.TAG_MISMATCH,
            f"round {context.round + 1}: the sum is not that of the contributions that came with it",
        )


def open_partials(
    key: ThresholdKey,
    context: RoundContext,
    secret: bytes,
    slots: int,
    ciphertexts: Sequence[int],
    partials: Mapping[AgentId, Partial],
    *,
    noisy: bool = False,
) -> list[int]:
    """The summed cells, after the checks of section 6.3 from the tag on.

    Args: secret: G. ciphertexts: the sums, valid. partials: of them, by hospital. noisy: see `open_aggregate`.
    Raises: JobFailure: `share_inconsistent` naming the hospitals whose partial decryption does not hold; with too few
        of them to open it; otherwise as `open_aggregate`.
    """
    if len(partials) < key.threshold:
        raise _too_few(key, context, len(partials))
    try:
        return _opened(key, context, secret, slots, partials, noisy=noisy)
    except JobFailure:
        wrong = sorted(a for a, p in partials.items() if not is_proven(key, p, ciphertexts, context.ctx))
        if not wrong:
            raise
    proven = {agent: partial for agent, partial in partials.items() if agent not in wrong}
    if len(proven) < key.threshold:
        raise culprits(context, wrong)
    return _opened(key, context, secret, slots, proven, noisy=noisy)


def culprits(context: RoundContext, agents: Sequence[str]) -> JobFailure:
    """The failure that names whose partial decryption does not hold."""
    return JobFailure(
        JobCode.SHARE_INCONSISTENT,
        f"round {context.round + 1}: the partial decryption of {', '.join(agents)} was not made of this sum with the "
        "share that the trusted authority dealt; the signed message is kept as evidence",
    )


def _opened(
    key: ThresholdKey,
    context: RoundContext,
    secret: bytes,
    slots: int,
    partials: Mapping[AgentId, Partial],
    *,
    noisy: bool,
) -> list[int]:
    chosen = [partials[agent] for agent in sorted(partials)[: key.threshold]]
    plaintexts = combine(key, chosen)
    if plaintexts is None:
        raise JobFailure(
            JobCode.TAG_MISMATCH, f"round {context.round + 1}: the partial decryptions do not fit together"
        )
    return open_plaintexts(key.public, context, secret, slots, plaintexts, noisy=noisy)


def _too_few(key: ThresholdKey, context: RoundContext, came: int) -> JobFailure:
    return JobFailure(
        JobCode.SHARE_INCONSISTENT,
        f"round {context.round + 1}: {key.threshold} partial decryptions open a sum, {came} usable ones came",
    )
