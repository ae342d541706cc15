"""All members of a secret job in one process, each its own routine in a thread, joined by messages in memory.

The routine, the modes and the programs are the product's; only links are played. `Hub.tamper` sees each message.
"""

from __future__ import annotations

import queue
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hospital_agent.computing.assignment import Assignment
from hospital_agent.computing.member import Finished, Routine
from hospital_agent.computing.modes import SecretMode
from hospital_agent.computing.standing import Place
from shared.crypto import agreement
from shared.errors import JobCode, JobFailure
from shared.ids import AgentId
from shared.mpc.program import Spec
from shared.mpc.ring import Words
from shared.mpc.sharing import BinaryShare
from shared.protocol.participation import Peer
from shared.wire.manifest import Manifest
from tests.support.world import Parties

Message = tuple[Words, ...]
Tamper = Callable[[str, str, int, Message], Message]
"""(from, to, number of the message on this pair, arrays) to the arrays that arrive."""


@dataclass
class Hub:
    """Messages by ordered pair; None when the sender has ended, however it did."""

    tamper: Tamper = lambda _sender, _receiver, _number, arrays: arrays
    boxes: dict[tuple[str, str], queue.Queue[Message | None]] = field(default_factory=dict)
    sent: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))

    def box(self, sender: str, receiver: str) -> queue.Queue[Message | None]:
        """The one box of a pair. A `defaultdict` would let two threads make two, and lose what lies in the first."""
        return self.boxes.setdefault((sender, receiver), queue.Queue())


class MemoryMesh:
    """As `hospital_agent.links.mesh.Mesh`, for one member."""

    replays = False
    wire_bytes = 0

    def __init__(self, hub: Hub, own: str) -> None:
        self.hub, self.own = hub, own

    def exchange(
        self,
        outgoing: Sequence[tuple[AgentId, Sequence[Words]]],
        incoming: Sequence[tuple[AgentId, Sequence[Spec]]],
    ) -> list[Message]:
        for peer, arrays in outgoing:
            if not any(words.nbytes for words in arrays):
                continue
            number = self.hub.sent[self.own, peer]
            self.hub.sent[self.own, peer] += 1
            copies = tuple(words.copy() for words in arrays)
            self.hub.box(self.own, peer).put(self.hub.tamper(self.own, peer, number, copies))
        return [self._take(peer, tuple(specs)) for peer, specs in incoming]

    def _take(self, peer: str, specs: tuple[Spec, ...]) -> Message:
        if not any(spec.nbytes for spec in specs):
            return tuple(np.empty(spec.shape, spec.dtype) for spec in specs)
        arrays = self.hub.box(peer, self.own).get(timeout=120)
        if arrays is None:
            self.hub.box(peer, self.own).put(None)
            raise JobFailure(JobCode.MEMBER_LOST, f"{peer} has ended and sends nothing more")
        if tuple(map(Spec.of, arrays)) != specs:
            raise JobFailure(JobCode.SHARE_INCONSISTENT, f"{peer} sent another message than was expected")
        return arrays


@dataclass
class Kept:
    """What a member kept beside its result."""

    shares: tuple[BinaryShare, ...] | None = None
    classes: str | None = None

    def put_shares(self, shares: tuple[BinaryShare, ...]) -> None:
        self.shares = shares

    def put_classes(self, text: str) -> None:
        self.classes = text


@dataclass
class Members:
    """The members of a job whose roster is fixed. `records`: by member, as many as it shares."""

    records: Mapping[str, int]
    manifest: Manifest
    assignments: dict[str, Assignment] = field(init=False)
    kept: dict[str, Kept] = field(default_factory=lambda: defaultdict(Kept))

    def __post_init__(self) -> None:
        privates = {name: bytes([place + 1]) * 32 for place, name in enumerate(self.records)}
        peers = tuple(
            Peer(AgentId(name), b"\0" * 32, b"\0" * 32, agreement.public_of(privates[name]), count)
            for name, count in sorted(self.records.items())
        )
        self.assignments = {
            name: Assignment(self.manifest, bytes(32), AgentId(name), privates[name], peers)
            for name in self.records
        }

    def run(
        self,
        mode_of: Callable[[Assignment], SecretMode],
        blocks: Mapping[str, list[Words]],
        tamper: Tamper | None = None,
    ) -> dict[str, Finished | JobFailure]:
        """Every member's routine to its end; how each ended. Who waits for one that has ended loses it at once."""
        hub = Hub() if tamper is None else Hub(tamper)

        def play(name: str) -> Any:
            task = self.assignments[name]
            place = Place(task.own, self.manifest.job, computes=task.index is not None)
            routine = Routine(task, mode_of(task), blocks[name], place, self.kept[name])
            try:
                return routine.run(MemoryMesh(hub, name))  # type: ignore[arg-type]
            except JobFailure as failure:
                return failure
            finally:
                for other in self.records:
                    hub.box(name, other).put(None)

        with ThreadPoolExecutor(len(self.records)) as pool:
            running = {name: pool.submit(play, name) for name in self.records}
            return {name: future.result(60) for name, future in running.items()}


def secret_manifest(schema: Mapping[str, Any], names: Sequence[str], **changes: Any) -> Manifest:
    """A manifest of a secret job over these hospitals."""
    fixed = {"max_shrinks": 0, "skip_known": False, "disclosure": "class"}
    return Parties([AgentId(name) for name in names]).manifest(schema, **{**fixed, **changes})
