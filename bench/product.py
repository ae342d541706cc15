"""A whole job of Privet in this process, metered: the product's own steps, tied by the tests' world, no faults.

What the world itself does (journals as JSON, a random schedule) is not measured; every party's work is.
"""

from __future__ import annotations

import gzip
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from bench.meter import Meter, Probe, metered
from bench.records import Dealt
from shared.crypto import certificates, identity
from shared.crypto.fixed_base import FixedBase
from shared.crypto.identity import IdentityKey
from shared.crypto.key_holder import KeyHolder
from shared.crypto.obfuscators import Encryptor
from shared.crypto.paillier_private import PrivateKey
from shared.protocol import joining, participant
from shared.protocol.envelopes import unseal
from shared.tree.growing import Growth
from shared.wire.envelope import MessageType
from tests.support import world
from tests.support.world import CloudHost, HospitalHost, World

Profile = Literal["paper", "hardened"]

CRYPTOGRAPHY: Final = ("encrypt", "add", "decrypt", "signatures")
"""Parts that are cryptography; `tables` is too, but is paid once for a key and told apart."""
PARTS: Final = ("count", *CRYPTOGRAPHY, "choose", "messages", "tables")
GZIP_FROM_BYTES: Final = 512
"""The agent compresses longer bodies; what is counted here is what would travel."""
MOVES: Final = 100_000
_VERIFY: Final = certificates.verify


@dataclass(frozen=True, slots=True)
class Run:
    """What one job cost, all parties together. `seconds`: CPU. `bytes`: of message bodies, as they would travel.

    `encryptions`: ciphertexts made. `decryptions`: whole ones; `half_decryptions`: modulo one prime only;
    `checks`: batched zero checks, each about one decryption. `tree_sha256`: of the tree that every hospital holds.
    """

    tree_sha256: str
    rounds: int
    hospitals: int
    seconds: dict[str, float]
    encryptions: int
    decryptions: int
    half_decryptions: int
    checks: int
    summed: int
    bytes: int
    bytes_by_type: dict[str, int] = field(repr=False)

    @property
    def cryptography_seconds(self) -> float:
        """CPU seconds of all cryptography but the tables."""
        return sum(self.seconds[part] for part in CRYPTOGRAPHY)

    def ciphertext_bytes(self, key_bits: int) -> int:
        """Raw bytes of all ciphertexts: each once to the cloud, and each sum to every hospital."""
        return (self.encryptions + self.summed * self.hospitals) * 2 * ((key_bits + 7) // 8)


def run_product(records: Dealt, key: PrivateKey, profile: Profile) -> Run:
    """Train under `key` by the rules of the publication: split until the attributes are used up."""
    rows = {f"h{number}": list(own) for number, own in enumerate(records.hospitals, start=1)}
    meter = Meter()
    with metered(meter, _probes()):
        joined = World(1, rows, records.schema, key=key, profile=profile, split_on_zero_gain=True)
        joined.run(MOVES, faults=0.0)
    trees = {host.tree for host in joined.hospitals.values()}
    if len(trees) != 1 or None in trees:
        raise RuntimeError("the hospitals did not end with one tree")
    return _run(str(trees.pop()), joined, meter)


def _run(tree: str, joined: World, meter: Meter) -> Run:
    bytes_by_type = {
        name.removeprefix("bytes "): size for name, size in meter.counts.items() if name.startswith("bytes ")
    }
    return Run(
        tree_sha256=tree,
        rounds=len(joined.cloud.aggregates),
        hospitals=len(joined.hospitals),
        seconds={part: meter.seconds[part] for part in PARTS},
        encryptions=meter.counts["encryptions"],
        decryptions=meter.counts["decryptions"],
        half_decryptions=meter.counts["half decryptions"],
        checks=meter.counts["checks"],
        summed=sum(len(sums) for sums in joined.cloud.aggregates.values()),
        bytes=sum(bytes_by_type.values()),
        bytes_by_type=bytes_by_type,
    )


def _probes() -> list[Probe]:
    """Every step of a party that costs something, by part."""
    return [
        Probe(world, "count_rows", "count"),
        Probe(participant, "contribution_body", "encrypt"),
        Probe(Encryptor, "__post_init__", "tables"),
        Probe(FixedBase, "build", "tables"),
        Probe(world, "check_contribution", "add"),
        Probe(world, "compute_sum", "add"),
        Probe(participant, "open_sums", "decrypt"),
        Probe(Growth, "absorb", "choose"),
        Probe(IdentityKey, "sign", "signatures"),
        Probe(identity, "verify", "signatures"),
        Probe(certificates, "verify", "signatures"),
        Probe(world, "seal", "messages"),
        Probe(world, "unseal", "messages"),
        Probe(participant, "reseal", "messages"),
        Probe(joining, "reseal", "messages"),
        Probe(KeyHolder, "encrypt", "encrypt", _noted("encryptions")),
        Probe(KeyHolder, "decrypt", "decrypt", _noted("decryptions")),
        Probe(KeyHolder, "decrypt_small", "decrypt", _noted("half decryptions")),
        Probe(KeyHolder, "all_zero", "decrypt", _note_check),
        Probe(CloudHost, "post", "world", _note_post),
        Probe(HospitalHost, "take", "world", _note_take),
    ]


def _noted(name: str) -> Any:
    def note(counts: Counter[str], args: tuple[Any, ...], _result: Any) -> None:
        counts[name] += len(args[1])

    return note


def _note_check(counts: Counter[str], _args: tuple[Any, ...], _result: Any) -> None:
    counts["checks"] += 1


def _note_post(counts: Counter[str], args: tuple[Any, ...], result: bytes) -> None:
    _note_bytes(counts, args[1])
    _note_bytes(counts, result)


def _note_take(counts: Counter[str], args: tuple[Any, ...], _result: Any) -> None:
    if _note_bytes(counts, args[2]) in (MessageType.JOB_OFFER, MessageType.ROSTER):
        # Hospitals are processes of their own: each verifies the others' certificates once for itself.
        _VERIFY.cache_clear()


def _note_bytes(counts: Counter[str], raw: bytes) -> MessageType:
    kind = unseal(raw, max_bytes=world.MAX_BYTES).envelope.type
    counts[f"bytes {kind}"] += len(as_sent(raw))
    return kind


def as_sent(raw: bytes) -> bytes:
    """A body as the agent's client and the cloud compress it."""
    return gzip.compress(raw, 6, mtime=0) if len(raw) >= GZIP_FROM_BYTES else raw
