"""A hospital's work in key mode threshold (protocol section 6.5): encrypt without the factors, decrypt its part.

Only key holders import this module. Encryption is the textbook's r^n mod n^2, about thirty times the price of one that
knows p and q; a table of powers of a fixed base would give another distribution (docs/adr/0021). The caller may spread
the powers over its threads: they do not hold the interpreter lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, Self, TypeVar

from shared.crypto.integers import big, from_bytes, powmod, powmod_many
from shared.crypto.paillier import PublicKey, add_plaintext, encode_ciphertext
from shared.crypto.threshold import Partial, ThresholdKey, challenge, claim
from shared.errors import InputError
from shared.rng import RandomBelow, random_below

Item = TypeVar("Item")
Result = TypeVar("Result")


class Map(Protocol):
    """`concurrent.futures.Executor.map`, or anything with its order and meaning."""

    def __call__(self, function: Callable[[Item], Result], items: Iterable[Item], /) -> Iterator[Result]:
        """Apply `function` to every item; results in the order of the items."""


@dataclass(slots=True)
class ShareHolder:
    """One holder's share of the key. Production code builds one by `create`, which checks the share.

    index: 1 to H. share: s_i. map: a thread pool's map, or None to work in this thread. workers: its threads.
    """

    threshold_key: ThresholdKey
    index: int
    share: int = field(repr=False)
    map: Map | None = field(default=None, repr=False)
    workers: int = 1
    below: RandomBelow = field(default=random_below, repr=False)

    @classmethod
    def create(cls, key: ThresholdKey, index: int, share: int) -> Self:
        """Raises: InputError: not the share behind v_i."""
        known = 1 <= index <= key.holders and share > 0
        if not known or powmod(key.base, key.delta * share, key.public.n_squared) != key.values[index - 1]:
            raise InputError(
                "the share of the key is not the one that the federation document vouches for",
                remedy="Ask the trusted authority for a new bundle.",
            )
        return cls(key, index, share)

    @property
    def public(self) -> PublicKey:
        """The key under which it works."""
        return self.threshold_key.public

    def encrypt(self, plaintexts: Sequence[int]) -> list[bytes]:
        """Fresh ciphertexts of plaintexts (reduced mod n), same order."""
        public = self.public
        # Uniform in Z*_n but for multiples of p or q, which nobody will ever draw.
        nonces = [1 + self.below(public.n - 1) for _ in plaintexts]
        obfuscators = self._powers(nonces, public.n)
        joined = (add_plaintext(public, s, m) for s, m in zip(obfuscators, plaintexts, strict=True))
        return [encode_ciphertext(public, ciphertext) for ciphertext in joined]

    def partial(self, ciphertexts: Sequence[int], ctx: bytes) -> Partial:
        """c_j = A_j^(2 D s_i) of valid ciphertexts, with the proof, bound to the round's context."""
        key = self.threshold_key
        secret = big(key.delta * self.share)
        powers = self._powers(ciphertexts, 2 * secret)
        about = claim(key, self.index, ciphertexts, powers, ctx)
        nonce = self.below(key.nonce_bound)
        n_squared = key.public.n_squared
        commitments = powmod(about.base, nonce, n_squared), powmod(key.base, nonce, n_squared)
        proof = challenge(key, about, commitments)
        return Partial(self.index, tuple(powers), proof, nonce + secret * from_bytes(proof))

    def _powers(self, bases: Sequence[int], exponent: int) -> list[int]:
        modulus = self.public.n_squared
        if self.map is None or len(bases) < 2:
            return powmod_many(bases, exponent, modulus)
        size = -(-len(bases) // self.workers)
        chunks = [bases[start : start + size] for start in range(0, len(bases), size)]
        results = self.map(lambda chunk: powmod_many(chunk, exponent, modulus), chunks)
        return [power for chunk in results for power in chunk]
