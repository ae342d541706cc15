"""Invariants 3 and 5: no ciphertext ever comes twice, and one contribution without the others is uniform.

Toy keys: the check opens what only hospitals could open, and takes away the mask that the cloud could take away.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable

import pytest

from shared.crypto import agreement
from shared.crypto.integers import from_bytes
from shared.crypto.key_holder import KeyHolder
from shared.crypto.paillier_private import PrivateKey
from shared.ids import AgentId
from shared.secure_tree.context import RoundContext
from shared.secure_tree.contribution import build_contribution
from shared.secure_tree.masks import self_mask_sums
from shared.wire.envelope import MessageType
from tests.protocol.test_simulation import NAMES, PATTERNS, SCHEMA
from tests.support.world import MAX_BYTES, SECRET, TOY_KEY, World, unseal

OWN, OTHERS = AgentId("h1"), (AgentId("h2"), AgentId("h3"))
pytestmark = pytest.mark.long

BINS = 16
ROUNDS = 300
FAR_TOO_UNEVEN = 62.0
"""Of a chi-square with 15 degrees of freedom: a sound mask passes it once in ten million runs."""


def opened_contributions(
    counts: list[int], own: Callable[[list[bytes]], list[bytes]] = lambda c: c
) -> list[float]:
    """Plaintexts of many single contributions less their self masks, as fractions of n.

    Args: own: changes the ciphertexts before they are opened.
    """
    private: PrivateKey = TOY_KEY
    n = private.public.n
    keys = {name: agreement.generate_private() for name in (OWN, *OTHERS)}
    publics = {name: agreement.public_of(keys[name]) for name in OTHERS}
    found: list[float] = []
    for number in range(ROUNDS):
        mh = hashlib.sha256(str(number).encode()).digest()
        roster = tuple((name, hashlib.sha256(name.encode()).digest()) for name in (OWN, *OTHERS))
        context = RoundContext(mh=mh, round=0, attempt=0, roster=roster, state=bytes(32))
        seed = hashlib.sha256(mh).digest()
        ciphertexts = build_contribution(
            KeyHolder(private), context, OWN, SECRET, counts, keys[OWN], publics, seed
        )
        masks = self_mask_sums(context, {OWN: seed}, len(ciphertexts), n)
        plain = private.decrypt_many([from_bytes(c) for c in own(ciphertexts)])
        found += [(int(x) - int(m)) % n / n for x, m in zip(plain, masks, strict=True)]
    return found


def unevenness(values: list[float]) -> float:
    """Chi-square against the uniform distribution over equal bins."""
    tally = Counter(int(value * BINS) for value in values)
    expected = len(values) / BINS
    return sum((tally[bin_] - expected) ** 2 / expected for bin_ in range(BINS))


@pytest.mark.parametrize(
    "counts", [[0] * 8, [1, 0, 0, 0, 0, 0, 0, 0], [10**6] * 8], ids=["none", "one", "many"]
)
def test_a_single_contribution_is_uniform(counts: list[int]) -> None:
    values = opened_contributions(counts)
    assert unevenness(values) < FAR_TOO_UNEVEN
    assert len(set(values)) == len(values)


def test_without_the_masks_between_hospitals_it_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    from shared.secure_tree import masks

    monkeypatch.setattr(masks, "pair_key", lambda *_rest: bytes(32))
    monkeypatch.setattr(masks, "expand_blocks", _only_own(masks.expand_blocks))
    assert unevenness(opened_contributions([5] * 8)) > 10 * FAR_TOO_UNEVEN


def _only_own(real: Callable[[bytes, int, int], list[int]]) -> Callable[[bytes, int, int], list[int]]:
    return lambda key, count, bits: [0] * count if key == bytes(32) else real(key, count, bits)


def ciphertexts_of(world: World) -> list[str]:
    """Every ciphertext that any hospital of this world has ever sent."""
    found: list[str] = []
    for raw in {raw for hospital in world.hospitals.values() for raw in hospital.sent}:
        envelope = unseal(raw, max_bytes=MAX_BYTES).envelope
        if envelope.type is MessageType.CONTRIBUTION:
            found += envelope.body["ciphertexts"]
    return found


def watched_world(seed: int) -> World:
    world = World(seed, {name: PATTERNS * 2**k for k, name in enumerate(NAMES)}, SCHEMA)
    for hospital in world.hospitals.values():
        hospital.sent = []
        hospital.outbox = _Noting(hospital.sent)
    return world


class _Noting(list[bytes]):
    """An outbox that notes what was ever put into it."""

    def __init__(self, sent: list[bytes]) -> None:
        super().__init__()
        self.sent = sent

    def append(self, raw: bytes) -> None:
        self.sent.append(raw)
        super().append(raw)


def test_no_ciphertext_comes_twice_over_rounds_restarts_attempts_and_jobs() -> None:
    found: list[str] = []
    for seed in range(3):
        world = watched_world(seed)
        world.run(60, faults=0.3)
        if world.cloud.job.state == "COLLECTING":
            world.silent.add("h2")
            world.run(150)
            world.wait(101)  # round 0 begins anew without it
            world.silent.clear()
        world.run(4000)
        found += ciphertexts_of(world)
    assert len(found) > 60
    assert len(set(found)) == len(found)


def test_the_same_obfuscator_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Encryption that draws nothing and masks nothing repeats itself, and the check above sees it."""
    from shared.secure_tree import contribution

    def bare(_cipher: KeyHolder, plaintexts: list[int]) -> list[bytes]:
        return [(1 + x * TOY_KEY.public.n).to_bytes(128, "big") for x in plaintexts]

    cipher = KeyHolder(TOY_KEY)
    monkeypatch.setattr(KeyHolder, "encrypt", bare)
    monkeypatch.setattr(contribution, "mask_vector", lambda *rest: [0] * rest[5])
    roster = tuple((name, hashlib.sha256(name.encode()).digest()) for name in (OWN, *OTHERS))
    context = RoundContext(mh=bytes(32), round=0, attempt=0, roster=roster, state=bytes(32))
    keys = {name: agreement.public_of(agreement.generate_private()) for name in OTHERS}
    sent = [
        build_contribution(
            cipher, context, OWN, SECRET, [1] * 8, agreement.generate_private(), keys, bytes(32)
        )
        for _ in range(2)
    ]
    assert len(set(sent[0] + sent[1])) < len(sent[0] + sent[1])


def transcript(rows: dict[str, list[tuple[int, ...]]]) -> list[tuple[str, str, int]]:
    """Who sent what kind of message of how many bytes, in the order of a network without faults."""
    world = World(1, rows, SCHEMA)
    sent: list[tuple[str, str, int]] = []
    for hospital in world.hospitals.values():
        hospital.outbox = _Noting([])
    while not world.finished():
        for name, hospital in world.hospitals.items():
            world.fetch(name, hospital, 0)
            while hospital.outbox:
                raw = hospital.outbox[0]
                sent.append((name, unseal(raw, max_bytes=MAX_BYTES).envelope.type, len(raw)))
                reply = world.cloud.post(raw, world.now)
                hospital.take_receipt(raw, reply)
                sent.append((name, "receipt", len(reply)))
                hospital.outbox.pop(0)
        while world.cloud.pending is not None:
            world.cloud.work(world.now)
    sent += [("cloud", unseal(raw, max_bytes=MAX_BYTES).envelope.type, len(raw)) for raw in world.cloud.inbox]
    return sent


def test_sizes_and_order_of_messages_do_not_depend_on_the_records() -> None:
    """Invariant 9, profile hardened: other records and other numbers of them, and a tree of the same open nodes."""
    few = {name: PATTERNS * 2**k for k, name in enumerate(NAMES)}
    many = {
        name: [(1 - a, b, c, label) for a, b, c, label in PATTERNS * (50 + 7 * k)]
        for k, name in enumerate(NAMES)
    }
    assert transcript(few) == transcript(many)


def test_another_number_of_open_nodes_would_show() -> None:
    """The one thing that the protocol does tell (section 6.4), and the control of the check above."""
    few = {name: PATTERNS * 2**k for k, name in enumerate(NAMES)}
    pure = {name: [row for row in rows if row[-1] == 0] + [(1, 1, 1, 1)] for name, rows in few.items()}
    assert transcript(few) != transcript(pure)
