"""Costs of mode ppsdt, profile hardened: encrypted counts, one round a level (docs/performance.md, "Think in modular
exponentiations").

Ciphertexts of a round follow from the protocol (`shared.protocol.layout`); seconds of one operation, and what messages
hold besides ciphertexts, were measured there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from shared.advice.case import Case
from shared.advice.costs import Costs
from shared.advice.shape import Level
from shared.protocol.layout import contribution_ciphertexts
from shared.secure_tree.packing import data_plaintext_count

ENCRYPTION_SECONDS: Final[Mapping[int, float]] = {2048: 0.67e-3, 3072: 1.9e-3, 4096: 4.3e-3}
DECRYPTION_SECONDS: Final[Mapping[int, float]] = {2048: 3.8e-3, 3072: 12.5e-3, 4096: 29e-3}
"""By bits of the key; those of 4096 bits are 3072 bits' by the cube of the length, not measured."""
_AROUND: Final = 1.15
"""Packing, masks, checks and unpacking, beside the operations alone."""
_PRODUCT_SECONDS: Final = 6e-6
_TWO_CORES_FROM: Final = 1500
"""Ciphertexts from which an agent's two processes share the work; on two threads of one core it gains a third."""
_TWO_CORES_GAIN: Final = 1.3
_THRESHOLD_FACTOR: Final = 10.0
"""Arithmetic of a key in shares beside one that each hospital has whole."""
_COUNT_SECONDS: Final = 3e-9
"""A record, attribute and level."""
_FREEZE_SECONDS: Final = 0.12e-6
"""A record and attribute, once."""
_BEGIN_SECONDS: Final = 0.25
_ROUND_SECONDS: Final = 0.14
"""Some twenty exchanges of the hospitals with the cloud, each with signatures and a synced commit at both ends."""
_ROUND_TRIPS: Final = 3
"""Of a round: contribution, sum, decision. The next round's opening comes with the last."""

_COMPRESSED: Final = 1.03
"""Of ciphertexts as text, packed by gzip, beside their raw length."""
_CONTRIBUTION_BYTES: Final = 1455
_SUM_BYTES: Final = 714
_RECEIPT_BYTES: Final = 657
_DECISION_BYTES: Final = 1012
_OPENING_BYTES: Final = (140, 177)
"""Of a round, or of the job's end: by itself, and for each hospital whose decision it passes on."""
_POLL_BYTES: Final = 1846
"""Of a round, and once more around all rounds. All of these with HTTP headers, as `privet demo --json` measures."""
_OFFER_BYTES: Final = 1790 + 1027 + 995
"""Invitation, acceptance, attestation."""
_ROSTER_BYTES: Final = 600
"""For each member, to each."""


@dataclass(frozen=True, slots=True)
class Round:
    """One round. Seconds: of one hospital's processor, and of the cloud's. `sent_bytes`: of all messages."""

    ciphertexts: int
    decryptions: int
    hospital_seconds: float
    cloud_seconds: float
    sent_bytes: int


def round_of(cells: int, hospitals: int, key_bits: int, threshold: int | None = None) -> Round:
    """A round that asks for so many counts."""
    ciphertexts = contribution_ciphertexts(cells, hospitals, key_bits)
    decryptions = data_plaintext_count(cells, key_bits) + 1
    arithmetic = ciphertexts * ENCRYPTION_SECONDS[key_bits] + decryptions * DECRYPTION_SECONDS[key_bits]
    arithmetic *= _AROUND
    raw = ciphertexts * 2 * (key_bits // 8) * _COMPRESSED
    first, each = _OPENING_BYTES
    messages = _CONTRIBUTION_BYTES + _SUM_BYTES + _DECISION_BYTES + first + each * hospitals
    sent = 2 * raw + messages + 2 * _RECEIPT_BYTES + _POLL_BYTES
    if threshold is not None:
        arithmetic *= _THRESHOLD_FACTOR
        # Every contribution goes to every member, and so does every part of the opening.
        sent += 2 * hospitals * raw
    return Round(
        ciphertexts,
        decryptions,
        arithmetic,
        (hospitals - 1) * ciphertexts * _PRODUCT_SECONDS,
        round(hospitals * sent),
    )


def costs_of(case: Case, levels: Sequence[Level]) -> Costs:
    """Of a job whose rounds ask for these levels."""
    rounds = [
        round_of(level.cells(case.classes), case.hospitals, case.key_bits, case.threshold) for level in levels
    ]
    sent = around_bytes(case.hospitals) + sum(one.sent_bytes for one in rounds)
    working = _BEGIN_SECONDS + sum(_ROUND_SECONDS + _seconds(one) for one in rounds) + _reading(case, levels)
    waits = _ROUND_TRIPS * len(rounds) + _ROUND_TRIPS
    return Costs(
        sent_bytes=sent,
        rounds=len(rounds),
        exponentiations=2 * sum(one.ciphertexts + one.decryptions for one in rounds),
        working_seconds=working,
        line_seconds=case.line.seconds(waits, sent / case.hospitals),
    )


def around_bytes(hospitals: int) -> int:
    """Of a job around its rounds: invitations, answers, who takes part, its end."""
    first, each = _OPENING_BYTES
    of_all = _OFFER_BYTES + 2 * _RECEIPT_BYTES + _POLL_BYTES + first
    return hospitals * (of_all + (_ROSTER_BYTES + each) * hospitals)


def _seconds(one: Round) -> float:
    gain = _TWO_CORES_GAIN if one.ciphertexts >= _TWO_CORES_FROM else 1.0
    return one.hospital_seconds / gain + one.cloud_seconds


def _reading(case: Case, levels: Sequence[Level]) -> float:
    """Freezing the records of one hospital, and counting them level by level."""
    cells = case.records / case.hospitals * len(case.questions)
    return cells * (_FREEZE_SECONDS + _COUNT_SECONDS * len(levels))
