"""Two ways to one peer: direct while it can be had, the relay otherwise, and no message is lost in between."""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from hospital_agent.links import fallback
from hospital_agent.links.direct import Address, DirectChannel
from hospital_agent.links.fallback import FallbackChannel
from hospital_agent.links.frame_log import NoLog
from hospital_agent.links.meeting import direct_channels, meet
from hospital_agent.links.mesh import Mesh
from shared.ids import AgentId
from shared.mpc.program import Spec
from tests.support.meshes import Table, membership
from tests.support.wires import NAMES

A, B, _ = NAMES
WORDS = np.arange(50, dtype=np.uint32)


class Post:
    """A relay between two members in memory; `carried` counts its frames."""

    cuts = 0
    wants_to_write = False

    def __init__(self) -> None:
        self.arrived: deque[bytes | bytearray] = deque()
        self.other: Post = self
        self.carried = 0

    def fileno(self) -> int:
        return -1

    def send(self, frame: bytes | bytearray) -> None:
        self.carried += 1
        self.other.arrived.append(frame)

    def receive(self) -> bytes | bytearray | None:
        return self.arrived.popleft() if self.arrived else None

    def close(self) -> None:
        pass


def posts() -> dict[AgentId, Post]:
    first, second = Post(), Post()
    first.other, second.other = second, first
    return {A: first, B: second}


def play(table: Table, relay: dict[AgentId, Post], rounds: int) -> list[bool]:
    """Both members swap messages. Returns: what a was told of its ways."""
    told: list[bool] = []

    def run(own: AgentId) -> None:
        peer = B if own == A else A
        (direct,) = direct_channels(own, [peer], table.addresses).values()
        channel = FallbackChannel(direct, relay[own], tell=told.append if own == A else None)
        mesh = meet(
            membership(own, (A, B)),
            {peer: channel},
            NoLog(),
            listening=table.sockets.get(own),
            folder=table.folder,
        )
        try:
            swap(mesh, own, peer)
        finally:
            mesh.close()

    def swap(mesh: Mesh, own: AgentId, peer: AgentId) -> None:
        for place in range(rounds):
            words = WORDS + place
            ((came,),) = mesh.exchange([(peer, [words])], [(peer, [Spec.of(words)])])
            assert np.array_equal(came, words)
        assert mesh.finish(5.0)

    with ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(run, own) for own in (A, B)]:
            future.result(60)
    return told


@pytest.fixture(autouse=True)
def _short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fallback, "GRACE_SECONDS", 0.3)


def test_a_direct_connection_is_used_alone(tmp_path: Path) -> None:
    table, relay = Table(tmp_path, (A, B)), posts()
    assert play(table, relay, 5) == []
    assert sum(post.carried for post in relay.values()) == 0
    table.close()


def test_where_nobody_can_be_reached_the_relay_carries_everything(tmp_path: Path) -> None:
    table, relay = Table(tmp_path, (A, B)), posts()
    for name, address in table.addresses.items():
        table.addresses[name] = Address("127.0.0.1", 1, address.certificate_sha256)
    assert play(table, relay, 5) == [False]
    assert relay[A].carried >= 5
    table.close()


def test_a_cut_connection_that_comes_back_is_used_again() -> None:
    seconds = [0.0]
    direct, post = DirectChannel(None), posts()[A]
    told: list[bool] = []
    channel = FallbackChannel(direct, post, clock=lambda: seconds[0], tell=told.append)
    before = channel.cuts
    channel.receive()
    channel.send(b"lost")
    assert post.carried == 0
    seconds[0] = 1.0
    channel.receive()
    channel.send(b"by post")
    assert post.carried == 1
    direct._open = True
    channel.receive()
    assert told == [False, True]
    assert channel.cuts == before + 2
    assert channel.fileno() == direct.fileno()
    assert not channel.wants_to_write
    channel.close()


@pytest.mark.parametrize("host", ["a" * 70, "a..b", "."])
def test_an_address_that_is_no_name_costs_the_connection_only(host: str) -> None:
    """A compute party signs where it can be called; whatever it signs, the relay is there."""
    channel = DirectChannel(Address(host, 9, "ab" * 32))
    assert channel.receive() is None
    assert not channel.is_open
    channel.close()
