"""Members of a job with real meshes over loopback, each in a thread of its own."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from hospital_agent.links.direct import Address
from hospital_agent.links.frame_log import FrameRecord, NoLog
from hospital_agent.links.meeting import Membership, direct_channels, listen, meet
from hospital_agent.links.mesh import Mesh, Waiting
from shared.crypto.agreement import public_of
from shared.ids import AgentId
from tests.support.wires import JOB, MH, NAMES, PRIVATES

T = TypeVar("T")


def membership(own: AgentId, names: Sequence[AgentId] = NAMES) -> Membership:
    """The keys of one of `NAMES` among some of them."""
    publics = {name: public_of(PRIVATES[name]) for name in names if name != own}
    return Membership(JOB, MH, own, PRIVATES[own], publics)


@dataclass
class Table:
    """Members and where they listen. listeners: all of `names` by default."""

    folder: Path
    names: Sequence[AgentId] = NAMES
    listeners: Sequence[AgentId] | None = None
    sockets: dict[AgentId, socket.socket] = field(default_factory=dict)
    addresses: dict[AgentId, Address] = field(default_factory=dict)
    stop: threading.Event = field(default_factory=threading.Event)
    waits: list[Waiting] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name in self.names if self.listeners is None else self.listeners:
            self.sockets[name] = listen("127.0.0.1", 0)
            port = self.sockets[name].getsockname()[1]
            sha256 = membership(name).certificate.sha256
            self.addresses[name] = Address("127.0.0.1", port, sha256)

    def mesh(self, own: AgentId, *, log: FrameRecord | None = None, patience_seconds: float = 30.0) -> Mesh:
        """The mesh of one member."""
        peers = [name for name in self.names if name != own]
        return meet(
            membership(own, self.names),
            direct_channels(own, peers, self.addresses),
            log or NoLog(),
            listening=self.sockets.get(own),
            folder=self.folder,
            patience_seconds=patience_seconds,
            stop=self.stop,
            on_waiting=self.waits.append,
        )

    def play(self, routine_of: Callable[[AgentId], Callable[[Mesh], T]], **options: Any) -> dict[AgentId, T]:
        """Run every member's routine to its end, in threads, and say goodbye."""

        def run(own: AgentId) -> T:
            mesh = self.mesh(own, **options)
            try:
                result = routine_of(own)(mesh)
                assert mesh.finish(10.0)
                return result
            finally:
                mesh.close()

        with ThreadPoolExecutor(len(self.names)) as pool:
            running = {name: pool.submit(run, name) for name in self.names}
            return {name: future.result(60) for name, future in running.items()}

    def close(self) -> None:
        """Listen no more."""
        for each in self.sockets.values():
            each.close()
