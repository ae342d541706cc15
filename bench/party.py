"""One compute party as a process of its own, for `bench.parties`. Imports what a party needs and nothing more.

Started by `bench.parties`; reads its task as one JSON line, answers with its port, reads all ports, runs the
program and leaves its result in a file.
"""

from __future__ import annotations

import importlib
import json
import pickle
import resource
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hospital_agent.computing.driver import PhaseTime, Watch, drive
from hospital_agent.links.channel import Channel
from hospital_agent.links.direct import Address
from hospital_agent.links.frame_log import FrameLog, NoLog
from hospital_agent.links.meeting import Membership, direct_channels, listen, meet
from hospital_agent.links.mesh import Mesh, repeatable
from shared.ids import AgentId, JobId
from shared.mpc.program import Cost, Meter, Party, Spec
from shared.mpc.sharing import BinaryShare, Share

if TYPE_CHECKING:
    from hospital_agent.settings import Way

NAMES = (AgentId("p0"), AgentId("p1"), AgentId("p2"))
PATIENCE_SECONDS = 600.0
LINGER_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Relay:
    """A cloud that the frames go through. keys: of the three agents, raw and in hex. way: as `[compute] channel`."""

    url: str
    job: str
    keys: tuple[str, str, str]
    way: str


@dataclass(frozen=True, slots=True)
class PartyResult:
    """What one party's run gave and cost.

    value: what the program returned. wall_seconds, cpu_seconds: of the program, without start-up. rounds, sent_bytes:
    of words, without frames. wire_bytes: of the frames received. peak_bytes: most resident memory of the process, and
    base_bytes before the program began. waited_seconds: of wall_seconds, for messages of others. opened: as the
    program's meter counted.
    """

    value: Any
    wall_seconds: float
    cpu_seconds: float
    waited_seconds: float
    rounds: int
    sent_bytes: int
    wire_bytes: int
    peak_bytes: int
    base_bytes: int
    costs: dict[str, Cost] = field(default_factory=dict)
    seconds: dict[str, PhaseTime] = field(default_factory=dict)
    opened: dict[str, int] = field(default_factory=dict)


def main() -> None:
    """Do the task that comes on standard input."""
    task = json.loads(sys.stdin.readline())
    folder, index = Path(task["folder"]), int(task["index"])
    listening = listen("127.0.0.1", int(task.get("port", 0)))
    print(json.dumps(listening.getsockname()[1]), flush=True)
    ports = json.loads(sys.stdin.readline())
    addresses = {
        name: Address("127.0.0.1", port, sha256)
        for name, port, sha256 in zip(NAMES, ports, task["certificates"], strict=True)
    }
    membership = _membership(task, index)
    peers = [name for name in NAMES if name != NAMES[index]]
    relay = task["relay"]
    channels: Mapping[AgentId, Channel] = (
        direct_channels(NAMES[index], peers, addresses)
        if relay is None
        else _relayed_channels(Relay(**relay), index, peers)
    )
    log = FrameLog.open(folder / f"{index}.log", membership.mh) if task["log"] else NoLog()
    mesh = meet(
        membership, channels, log, listening=listening, folder=folder, patience_seconds=PATIENCE_SECONDS
    )
    program = _program(task["program"])
    arguments = {**task["arguments"], **_shares(folder, index)}
    result = repeatable(mesh, lambda links: _run(program, arguments, membership, index, links))
    (folder / f"{index}.result").write_bytes(pickle.dumps(result))
    mesh.finish(LINGER_SECONDS)
    mesh.close()
    if isinstance(log, FrameLog):
        log.delete()


def _relayed_channels(relay: Relay, index: int, peers: Sequence[AgentId]) -> dict[AgentId, Channel]:
    from hospital_agent.cloud import Patience, RelayDoor  # a direct run is measured without their memory
    from hospital_agent.links.relayed import Relayed
    from shared.crypto.identity import IdentityKey

    signer = IdentityKey.from_raw(bytes.fromhex(relay.keys[index]))
    door = RelayDoor(relay.url, NAMES[index], relay.job, signer)
    way = cast("Way", relay.way)
    relayed = Relayed(door, peers, way=way, patience=Patience(first_seconds=0.1), tell=lambda _text: None)
    return {peer: relayed.channel(peer) for peer in peers}


def _run(
    program: Any, arguments: dict[str, Any], membership: Membership, index: int, mesh: Mesh
) -> PartyResult:
    neighbours = NAMES[index - 1], NAMES[(index + 1) % 3]
    watch, meter = Watch(), Meter()
    party = Party(index, membership.prss(*neighbours), meter)
    # A first round, so that the clock starts when all three are there.
    nothing = np.zeros(1, np.uint8)
    mesh.exchange(
        [(peer, [nothing]) for peer in neighbours], [(peer, [Spec.of(nothing)]) for peer in neighbours]
    )
    base = _peak_bytes()
    begun, cpu, waited = time.perf_counter(), time.process_time(), mesh.waited_seconds
    value = drive(program(party, **arguments), party, neighbours, mesh, watch)
    return PartyResult(
        value=value,
        wall_seconds=time.perf_counter() - begun,
        cpu_seconds=time.process_time() - cpu,
        waited_seconds=mesh.waited_seconds - waited,
        rounds=meter.total.rounds,
        sent_bytes=meter.total.sent_bytes,
        wire_bytes=mesh.wire_bytes,
        peak_bytes=_peak_bytes(),
        base_bytes=base,
        costs=meter.by_phase,
        seconds=watch.seconds,
        opened=meter.opened,
    )


def _membership(task: dict[str, Any], index: int) -> Membership:
    publics = {name: bytes.fromhex(key) for name, key in zip(NAMES, task["publics"], strict=True)}
    own = NAMES[index]
    del publics[own]
    return Membership(
        JobId(task["job"]), bytes.fromhex(task["mh"]), own, bytes.fromhex(task["private"]), publics
    )


def _program(name: str) -> Any:
    module, _, function = name.partition(":")
    return getattr(importlib.import_module(module), function)


def _shares(folder: Path, index: int) -> dict[str, Share | BinaryShare]:
    shares: dict[str, Share | BinaryShare] = {}
    with np.load(folder / f"{index}.npz") as arrays:
        for name in sorted({key.split("/")[1] for key in arrays}):
            for kind, make in (("arithmetic", Share), ("binary", BinaryShare)):
                if f"{kind}/{name}/own" in arrays:
                    shares[name] = make(arrays[f"{kind}/{name}/own"], arrays[f"{kind}/{name}/next"])
    return shares


def _peak_bytes() -> int:
    """Most resident memory of this process. The usual counter is no use on Linux: it survives the start of another
    program in the process, so it would begin with what the parent once had."""
    status = Path("/proc/self/status")
    if status.is_file():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    scale = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale
