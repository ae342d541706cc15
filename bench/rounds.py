"""One round of the hardened profile at any size: one hospital does all of its work, the others only what it needs.

The others' ciphertexts have no obfuscators, which makes them cheap to build and exactly as dear to add and to open;
such a cipher must never leave a benchmark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter, process_time
from typing import Final, TypeVar

import psutil

from shared.crypto import agreement
from shared.crypto.paillier import (
    CountCipher,
    CountEncipher,
    PublicKey,
    add_plaintext,
    encode_ciphertext,
    validate_ciphertexts,
)
from shared.ids import AgentId
from shared.rng import random_below, random_bytes
from shared.secure_tree.aggregate import open_aggregate, sum_contributions
from shared.secure_tree.context import RoundContext
from shared.secure_tree.contribution import build_contribution

Result = TypeVar("Result")
SECRET: Final = bytes(32)
GREATEST_COUNT: Final = 1000


def children_cpu_seconds() -> float:
    """CPU seconds of this process's living children; a look at the process table, itself some milliseconds."""
    children = (child.cpu_times() for child in psutil.Process().children(recursive=True))
    return sum(times.user + times.system for times in children)


@dataclass(frozen=True, slots=True)
class Spent:
    """What a step took. Seconds."""

    cpu: float
    wall: float

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.cpu + other.cpu, self.wall + other.wall)


def timed(work: Callable[[], Result]) -> tuple[Result, Spent]:
    """The result, and what it took in all processes."""
    before = children_cpu_seconds()
    cpu, wall = process_time(), perf_counter()
    result = work()
    cpu, wall = process_time() - cpu, perf_counter() - wall
    return result, Spent(cpu + children_cpu_seconds() - before, wall)


@dataclass(frozen=True, slots=True)
class Unobscured:
    """The part of a `CountCipher` that builds contributions, without obfuscators: g^m alone."""

    public: PublicKey

    def encrypt(self, plaintexts: Sequence[int]) -> list[bytes]:
        """1 + m n mod n^2."""
        return [encode_ciphertext(self.public, add_plaintext(self.public, 1, m)) for m in plaintexts]

    def decrypt(self, ciphertexts: Sequence[bytes]) -> list[int]:
        """Not for this cipher."""
        raise NotImplementedError

    def decrypt_small(self, ciphertexts: Sequence[bytes]) -> list[int]:
        """Not for this cipher."""
        raise NotImplementedError

    def all_zero(self, ciphertexts: Sequence[int]) -> bool:
        """Not for this cipher."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Round:
    """The parties of one round, with fresh keys and seeds."""

    context: RoundContext
    privates: Mapping[AgentId, bytes] = field(repr=False)
    seeds: Mapping[AgentId, bytes] = field(repr=False)

    @classmethod
    def among(cls, hospitals: int) -> Round:
        """A first round of so many hospitals."""
        names = sorted(AgentId(f"h{number}") for number in range(1, hospitals + 1))
        roster = tuple((name, bytes(32)) for name in names)
        context = RoundContext(mh=bytes(32), round=0, attempt=0, roster=roster, state=bytes(32))
        return cls(
            context,
            {name: agreement.generate_private() for name in names},
            {name: random_bytes(32) for name in names},
        )

    def contribution(self, cipher: CountEncipher, own: AgentId, counts: Sequence[int]) -> list[bytes]:
        """What `own` sends."""
        peers = {name: agreement.public_of(private) for name, private in self.privates.items() if name != own}
        return build_contribution(
            cipher, self.context, own, SECRET, counts, self.privates[own], peers, self.seeds[own]
        )

    def sum_of(self, public: PublicKey, contributions: Mapping[AgentId, Sequence[bytes]]) -> list[bytes]:
        """What the cloud does, the check of every ciphertext included."""
        for raws in contributions.values():
            validate_ciphertexts(public, raws)
        return sum_contributions(public, self.context, contributions, self.seeds)


@dataclass(frozen=True, slots=True)
class RoundCosts:
    """One round. `hide`, `open`: at one hospital. `add`: at the cloud, for all hospitals."""

    hospitals: int
    slots: int
    ciphertexts: int
    hide: Spent
    add: Spent
    open: Spent

    @property
    def hospital(self) -> Spent:
        """All that one hospital does."""
        return self.hide + self.open

    @property
    def per_count_microseconds(self) -> float:
        """CPU microseconds of one hospital for one count."""
        return self.hospital.cpu / self.slots * 1e6


def run_round(cipher: CountCipher, hospitals: int, slots: int) -> tuple[RoundCosts, list[bytes]]:
    """Play a round and check its sums; also the ciphertexts of the sum, for whoever measures messages."""
    played = Round.among(hospitals)
    own, *others = played.context.agents
    counts = {name: [random_below(GREATEST_COUNT) for _ in range(slots)] for name in played.context.agents}
    built, hiding = timed(lambda: played.contribution(cipher, own, counts[own]))
    stand_in = Unobscured(cipher.public)
    contributions = {name: played.contribution(stand_in, name, counts[name]) for name in others}
    contributions[own] = built
    sums, adding = timed(lambda: played.sum_of(cipher.public, contributions))
    opened, opening = timed(lambda: open_aggregate(cipher, played.context, SECRET, slots, sums))
    if opened != [sum(cells) for cells in zip(*counts.values(), strict=True)]:
        raise RuntimeError("the sums are wrong")
    return RoundCosts(hospitals, slots, len(built), hiding, adding, opening), sums
