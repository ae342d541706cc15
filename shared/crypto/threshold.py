"""Threshold decryption, the public side (protocol section 6.5): partial decryptions, their proofs, how they combine.

Source: I. Damgard, M. Jurik, "A generalisation, a simplification and some applications of Paillier's probabilistic
public-key system", PKC 2001, section 4.1, for s = 1; the proof is V. Shoup's, "Practical threshold signatures",
EUROCRYPT 2000. Holder i of H has a share s_i, everyone knows v and v_i = v^(D s_i) mod n^2 with D = H!.
A partial decryption of A is c_i = A^(2 D s_i); t of them give A^(4 D^2 d), and d is 0 mod m and 1 mod n.

Deviation: one proof covers all partials of a round. With weights w_0 = 1 and w_j of 128 bits, drawn by hash from all of
them, it proves log_(B^4)(C^2) = log_v(v_i) for B = prod A_j^w_j and C = prod c_j^w_j. All squares mod n^2 form a group
whose order n p' q' has great prime factors only, so a wrong partial passes with probability below 2^-127 a hash. Of a
single ciphertext it is the specification's proof.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, Self, runtime_checkable

from shared.crypto.derivation import expand_blocks, lp
from shared.crypto.integers import big, from_bytes, gcd, invert, powmod, to_bytes
from shared.crypto.paillier import CountEncipher, PublicKey, validate_ciphertexts
from shared.crypto.powers import product_of_powers
from shared.errors import ErrorCode, InputError, PeerError

MIN_HOLDERS: Final = 3
MAX_HOLDERS: Final = 256
CHALLENGE_BYTES: Final = 32
WEIGHT_BITS: Final = 128
_SLACK_BITS: Final = 128
"""The proof's random exponent is so much longer than what it hides: its distance from independent is below 2^-127."""
_WEIGHTS: Final = b"ppsdt/1/partial weights\n"
_PROOF: Final = b"ppsdt/1/partial proof\n"


def least_threshold(holders: int) -> int:
    """The smallest t that is taken: more than half of the holders.

    With t of H, two sums of one round can only both be opened if 2 t - H holders serve both. Up to half, two halves
    that share nobody honest could each open another sum.
    """
    return holders // 2 + 1


@dataclass(frozen=True, slots=True)
class ThresholdKey:
    """What everyone knows of a dealt key: n, t, v and v_1 .. v_H. `create` checks; the plain constructor is for toys.

    delta: H!. values[i - 1]: v_i of the holder with index i.
    """

    public: PublicKey
    threshold: int
    base: int = field(repr=False)
    values: tuple[int, ...] = field(repr=False)
    delta: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", math.factorial(len(self.values)))

    @classmethod
    def create(cls, public: PublicKey, threshold: int, base: int, values: Sequence[int]) -> Self:
        """Raises: InputError: too few or many holders, a threshold that keeps no promise, or no units mod n^2."""
        holders = len(values)
        if not MIN_HOLDERS <= holders <= MAX_HOLDERS:
            raise InputError(f"key mode threshold has {MIN_HOLDERS} to {MAX_HOLDERS} holders, not {holders}")
        if not least_threshold(holders) <= threshold <= holders:
            raise InputError(
                f"the threshold of {holders} holders is {least_threshold(holders)} to {holders}, not {threshold}",
                remedy="With half of the holders or fewer, two different sums of one round could both be opened.",
            )
        if not all(0 < value < public.n_squared and gcd(value, public.n) == 1 for value in (base, *values)):
            raise InputError("a verification value of the threshold key is not a unit mod n^2")
        return cls(public, threshold, base, tuple(values))

    @property
    def holders(self) -> int:
        """H."""
        return len(self.values)

    @property
    def response_bytes(self) -> int:
        """Length of a proof's response: s_i D times the challenge, and the slack."""
        exponent = 2 * self.public.bits + self.delta.bit_length()
        return -(-(exponent + 8 * CHALLENGE_BYTES + _SLACK_BITS + 1) // 8)

    @property
    def nonce_bound(self) -> int:
        """The proof's random exponent is below this."""
        return 1 << (8 * self.response_bytes - 1)

    def partial_bytes(self, count: int) -> int:
        """Length of the encoded partial decryption of `count` ciphertexts."""
        return count * self.public.ciphertext_bytes + CHALLENGE_BYTES + self.response_bytes


@dataclass(frozen=True, slots=True)
class Partial:
    """One holder's partial decryptions of a round's sums, in order, with the proof that its share made them.

    index: the holder's, 1 to H.
    """

    index: int
    powers: tuple[int, ...] = field(repr=False)
    challenge: bytes = field(repr=False)
    response: int = field(repr=False)


@runtime_checkable
class ShareCipher(CountEncipher, Protocol):
    """What the holder of a share does for the rooms above: encrypt packed counts, and decrypt its part of sums."""

    @property
    def threshold_key(self) -> ThresholdKey:
        """The key that it holds a share of."""

    def partial(self, ciphertexts: Sequence[int], ctx: bytes) -> Partial:
        """Its partial decryptions of valid ciphertexts, with their proof for this round's context."""


def encode_partial(key: ThresholdKey, partial: Partial) -> bytes:
    """Powers, challenge and response, each of fixed length; who gave it, the envelope says."""
    powers = (to_bytes(power, key.public.ciphertext_bytes) for power in partial.powers)
    return b"".join(powers) + partial.challenge + to_bytes(partial.response, key.response_bytes)


def decode_partial(key: ThresholdKey, index: int, count: int, raw: bytes) -> Partial:
    """Bytes to a partial decryption of `count` ciphertexts by the holder `index`, its proof not yet checked.

    Raises: PeerError: `malformed`: another length, or no units mod n^2.
    """
    if len(raw) != key.partial_bytes(count):
        raise PeerError(ErrorCode.MALFORMED, "partial decryption: not as long as the round's sums make it")
    width = key.public.ciphertext_bytes
    parts = [raw[start : start + width] for start in range(0, count * width, width)]
    try:
        powers = validate_ciphertexts(key.public, parts)
    except PeerError:
        raise PeerError(ErrorCode.MALFORMED, "partial decryption: not a unit mod n^2") from None
    proof = raw[count * width :]
    return Partial(index, tuple(powers), proof[:CHALLENGE_BYTES], from_bytes(proof[CHALLENGE_BYTES:]))


def combine(key: ThresholdKey, partials: Sequence[Partial]) -> list[int] | None:
    """Plaintexts in [0, n) from exactly t partial decryptions; None where they do not fit together.

    prod c_i^(2 l_i) = A^(4 D^2 d) = 1 + 4 D^2 M n mod n^2, l_i = D prod over k != i of k / (k - i), an integer.
    """
    indices = [partial.index for partial in partials]
    if len(set(indices)) != key.threshold or len(partials) != key.threshold:
        raise InputError(f"exactly {key.threshold} different partial decryptions combine")
    exponents = [2 * coefficient(key.delta, index, indices) for index in indices]
    scale = invert(4 * key.delta**2 % key.public.n, big(key.public.n))
    plaintexts = []
    for powers in zip(*(partial.powers for partial in partials), strict=True):
        product = big(1)
        for power, exponent in zip(powers, exponents, strict=True):
            product = product * powmod(power, exponent, key.public.n_squared) % key.public.n_squared
        quotient, rest = divmod(product - 1, key.public.n)
        if rest:
            return None
        plaintexts.append(int(quotient * scale % key.public.n))
    return plaintexts


def coefficient(delta: int, index: int, indices: Sequence[int]) -> int:
    """l_i = delta prod over the other indices k of k / (k - i); delta = H! makes it an integer."""
    others = [other for other in indices if other != index]
    return delta * math.prod(others) // math.prod(other - index for other in others)


@dataclass(frozen=True, slots=True)
class Claim:
    """What a proof is about: that log_(base^4) image^2 is holder `index`'s D s_i. `digest`: hash of all of it."""

    index: int
    base: int = field(repr=False)
    image: int = field(repr=False)
    digest: bytes = field(repr=False)


def claim(
    key: ThresholdKey, index: int, ciphertexts: Sequence[int], powers: Sequence[int], ctx: bytes
) -> Claim:
    """Many equations as one, under weights that nobody can foresee before all of them are fixed."""
    n_squared = key.public.n_squared
    digest = hashlib.sha256(_WEIGHTS + lp(str(index)) + len(ctx).to_bytes(4, "big") + ctx)
    for value in (key.public.n_squared, key.base, key.values[index - 1], *ciphertexts, *powers):
        digest.update(to_bytes(value, key.public.ciphertext_bytes))
    weights = [1, *expand_blocks(digest.digest(), len(ciphertexts) - 1, 0)]
    base = product_of_powers(ciphertexts, weights, WEIGHT_BITS, n_squared)
    image = product_of_powers(powers, weights, WEIGHT_BITS, n_squared)
    return Claim(index, powmod(base, 4, n_squared), powmod(image, 2, n_squared), digest.digest())


def challenge(key: ThresholdKey, about: Claim, commitments: tuple[int, int]) -> bytes:
    """Fiat and Shamir's: SHA-256 over the claim and the prover's two commitments."""
    digest = hashlib.sha256(_PROOF + about.digest)
    for value in (about.base, about.image, *commitments):
        digest.update(to_bytes(value, key.public.ciphertext_bytes))
    return digest.digest()


def is_proven(key: ThresholdKey, partial: Partial, ciphertexts: Sequence[int], ctx: bytes) -> bool:
    """Whether the proof shows that these powers were made of these ciphertexts by the share behind v_i."""
    n_squared = key.public.n_squared
    about = claim(key, partial.index, ciphertexts, partial.powers, ctx)
    minus = -from_bytes(partial.challenge)
    commitments = (
        powmod(about.base, partial.response, n_squared) * powmod(about.image, minus, n_squared) % n_squared,
        powmod(key.base, partial.response, n_squared)
        * powmod(key.values[partial.index - 1], minus, n_squared)
        % n_squared,
    )
    return challenge(key, about, commitments) == partial.challenge
