"""Carrying out what a protocol step asks for, up to the bytes that must be journalled and sent."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from hospital_agent.noise import add_noise
from hospital_agent.records import Snapshot
from shared.errors import InternalError
from shared.ids import CLOUD
from shared.protocol.agent_effects import Aborted, Completed, Compute, Count, HospitalKeys, Say, Step
from shared.protocol.envelopes import Address, Sealed, Signer, seal
from shared.protocol.participant import contribute, said
from shared.protocol.participation import Participation
from shared.rng import random_bytes
from shared.secure_tree.privacy import own_variance

_SEED_BYTES = 32


@dataclass(slots=True)
class Stopwatch:
    """Wall seconds by part of the work."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Add the time inside to `name`."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start


@dataclass(frozen=True, slots=True)
class Outcome:
    """A step carried out: the state to journal, the messages to send, and the end if it is one.

    `computes`: a secret job's computing is to begin once the step is journalled.
    """

    participation: Participation
    outgoing: tuple[Sealed, ...] = ()
    ending: Completed | Aborted | None = None
    computes: bool = False


def carry_out(
    step: Step, snapshot: Snapshot | None, keys: HospitalKeys, signer: Signer, watch: Stopwatch
) -> Outcome:
    """Count, hide, sign. Nothing leaves here; the same call before a crash and after it may differ in bytes, so
    only what the journal holds may be sent.

    Raises: InputError: the records are no longer the frozen ones. TemporaryError: they cannot be reached.
    """
    participation, outgoing, ending, computes = step.participation, [], None, False
    effects = list(step.effects)
    while effects:
        effect = effects.pop(0)
        match effect:
            case Say():
                sealed = seal(signer, _address(participation, effect), participation.chain, effect.body)
                participation = said(participation, sealed)
                outgoing.append(sealed)
            case Count():
                further = _contribute(participation, effect, snapshot, keys, watch)
                participation = further.participation
                effects[:0] = further.effects
            case Compute():
                computes = True
            case Completed() | Aborted():
                ending = effect
    return Outcome(participation, tuple(outgoing), ending, computes)


def _contribute(
    participation: Participation,
    effect: Count,
    snapshot: Snapshot | None,
    keys: HospitalKeys,
    watch: Stopwatch,
) -> Step:
    if snapshot is None:
        raise InternalError("counting needs the frozen records")
    with watch.part("count"):
        counts = snapshot.count(effect.queries)
    noise = participation.manifest.noise
    if noise is not None:
        with watch.part("noise"):
            counts = add_noise(counts, own_variance(noise, len(participation.roster)))
    with watch.part("encrypt"):
        return contribute(participation, counts, random_bytes(_SEED_BYTES), keys)


def _address(participation: Participation, effect: Say) -> Address:
    return Address(
        type=effect.type,
        job=participation.manifest.job,
        mh=participation.mh,
        round=participation.round,
        attempt=participation.attempt,
        sender=participation.own,
        to=CLOUD,
    )
