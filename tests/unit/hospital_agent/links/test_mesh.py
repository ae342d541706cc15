"""Meshes over real TLS connections on loopback: messages cross, strangers stay outside, waits have names and ends."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from hospital_agent.computing.driver import Standing, Watch, drive
from hospital_agent.links.direct import Address, DirectChannel
from hospital_agent.links.frame_log import FrameLog, NoLog
from hospital_agent.links.link import Link
from hospital_agent.links.meeting import calls, listen
from hospital_agent.links.mesh import Mesh, StoppedError
from hospital_agent.links.tls import JobCertificate
from shared.errors import InputError, InternalError, JobCode, JobFailure, TemporaryError
from shared.ids import AgentId
from shared.mpc.arithmetic import multiply
from shared.mpc.program import Party, Program, Spec
from shared.mpc.sharing import Share, split
from shared.rng import random_bytes
from shared.wire.relay import MAX_FRAME_BYTES
from tests.support.meshes import Table, membership
from tests.support.wires import MH, NAMES, PRIVATES, Wire, pair_of

A, B, C = NAMES
WORDS = np.arange(8, dtype=np.uint32)


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    made = Table(tmp_path)
    yield made
    made.close()


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Table]:
    made = Table(tmp_path, (A, B))
    yield made
    made.close()


def swap(peer: AgentId, size: int, times: int = 1) -> Callable[[Mesh], int]:
    """Send a big message and receive one, both at once."""

    def routine(mesh: Mesh) -> int:
        words = np.arange(size, dtype=np.uint64)
        for _ in range(times):
            ((came,),) = mesh.exchange([(peer, [words])], [(peer, [Spec.of(words)])])
            assert np.array_equal(came, words)
        return mesh.wire_bytes

    return routine


def test_big_messages_in_both_directions_do_not_block_each_other(two: Table) -> None:
    received = two.play(lambda own: swap(B if own == A else A, 2**20, times=2))
    assert all(size > 2 * 2**23 for size in received.values())


@pytest.mark.parametrize("listener", [A, B])
def test_one_address_is_enough_for_a_pair(tmp_path: Path, listener: AgentId) -> None:
    table = Table(tmp_path, (A, B), (listener,))
    table.play(lambda own: swap(B if own == A else A, 10))
    table.close()


def test_who_calls_whom() -> None:
    address = Address("127.0.0.1", 1, "")
    assert calls(A, B, {A: address, B: address}) is False
    assert calls(B, A, {A: address, B: address}) is True
    assert calls(A, B, {B: address}) is True
    assert calls(B, A, {B: address}) is False
    assert calls(A, B, {C: address}) is None


def products(party: Party, x: Share, times: int) -> Program[Share]:
    for layer in range(times):
        party.meter.layer = layer
        with party.meter.phase("products"):
            x = yield from multiply(party, x, x)
    return x


def test_a_program_is_driven_and_followed(table: Table) -> None:
    values = np.arange(5, dtype=np.uint64) + 2
    shares = dict(zip(NAMES, split(values, random_bytes), strict=True))
    standings: dict[AgentId, list[Standing]] = {name: [] for name in NAMES}

    def routine_of(own: AgentId) -> Callable[[Mesh], Share]:
        index = NAMES.index(own)
        neighbours = NAMES[index - 1], NAMES[(index + 1) % 3]

        def routine(mesh: Mesh) -> Share:
            party = Party(index, membership(own).prss(*neighbours))
            watch = Watch(standings[own].append)
            return drive(products(party, shares[own], 4), party, neighbours, mesh, watch)

        return routine

    results = table.play(routine_of)
    assert np.array_equal(sum(results[name].own for name in NAMES), values**16)
    for told in standings.values():
        assert [standing.layer for standing in told] == [0, 1, 2, 3]
        assert [standing.rounds for standing in told] == [1, 2, 3, 4]
        assert told[-1].sent_bytes == told[-1].by_phase["products"].sent_bytes == 4 * values.nbytes
        assert told[-1].seconds_by_phase["products"].waited > 0
        assert not told[-1].replays


def test_a_silent_peer_is_named_with_the_time(two: Table) -> None:
    mesh = two.mesh(B, patience_seconds=1.2)
    with pytest.raises(
        TemporaryError, match=r"waiting for a since 20\d\d-.* UTC; it was last heard \d s ago"
    ):
        mesh.receive(A, [Spec.of(WORDS)])
    assert {waiting.peer for waiting in two.waits} == {A}
    mesh.close()


def test_a_stop_is_heeded_while_waiting_and_between_messages(two: Table) -> None:
    mesh = two.mesh(B)
    threading.Timer(0.3, two.stop.set).start()
    with pytest.raises(StoppedError, match="goes on from its log"):
        mesh.receive(A, [Spec.of(WORDS)])
    with pytest.raises(StoppedError):
        mesh.send(A, [WORDS])
    mesh.close()


def test_a_message_of_another_ring_ends_the_job(two: Table) -> None:
    def routine_of(own: AgentId) -> Callable[[Mesh], None]:
        if own == A:
            return lambda mesh: mesh.send(B, [WORDS])

        def receive(mesh: Mesh) -> None:
            with pytest.raises(JobFailure) as caught:
                mesh.receive(A, [Spec(WORDS.shape, np.dtype(np.uint64))])
            assert caught.value.code is JobCode.SHARE_INCONSISTENT

        return receive

    def run_b() -> None:
        mesh = two.mesh(B)
        routine_of(B)(mesh)
        mesh.close()

    other = threading.Thread(target=run_b)
    other.start()
    mesh = two.mesh(A)
    routine_of(A)(mesh)
    mesh.finish(0.5)
    other.join(10)
    assert not other.is_alive()
    mesh.close()


def test_a_log_is_used_before_the_network(tmp_path: Path) -> None:
    path = tmp_path / "b.frames"
    two = Table(tmp_path, (A, B), (A,))

    def routine(mesh: Mesh) -> int:
        (came,) = mesh.receive(A, [Spec.of(WORDS)])
        return int(came.sum())

    log = FrameLog.open(path, MH)
    mesh_b = two.mesh(B, log=log)
    sender = two.mesh(A)
    thread = threading.Thread(target=lambda: (sender.send(B, [WORDS]), sender.finish(0.5)))
    thread.start()
    assert routine(mesh_b) == WORDS.sum()
    mesh_b.close()
    log.close()
    thread.join(10)
    sender.close()
    log = FrameLog.open(path, MH)
    again = two.mesh(B, log=log, patience_seconds=0.1)
    assert again.replays
    assert routine(again) == WORDS.sum()
    assert again.wire_bytes == 0
    again.close()
    log.close()


# --- strangers ------------------------------------------------------------------------------------------------


def call(address: Address) -> ssl.SSLSocket:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context.wrap_socket(socket.create_connection((address.host, address.port), timeout=5))


def serve(mesh: Mesh, seconds: float, done: Callable[[], bool] = lambda: False) -> None:
    """Let a mesh look after its connections for a while."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not done():
        mesh._wait(0.02, mesh.links.values())


def greeting(*, sender: AgentId = B, mh: bytes = MH) -> bytes:
    """The first frame of somebody with such keys."""
    wire = Wire()
    Link(pair_of(sender, A, mh=mh), wire.ends[0], NoLog(), 0, time.monotonic).go_live()
    return wire.carried[0]


@pytest.mark.parametrize(
    "first",
    [b"hello", greeting(mh=bytes(32)), greeting(sender=C), b"x" * 2000],
    ids=["garbage", "another manifest", "not invited", "too long"],
)
def test_a_stranger_is_sent_away(two: Table, first: bytes) -> None:
    mesh = two.mesh(A)
    thread = threading.Thread(target=serve, args=(mesh, 0.4))
    thread.start()
    with call(two.addresses[A]) as connection:
        connection.sendall(struct.pack(">I", len(first)) + first)
        assert connection.recv(1) == b""
    thread.join()
    assert mesh.links[B].channel.fileno() == -1
    mesh.close()


def test_a_greeting_counts_once(two: Table) -> None:
    mesh = two.mesh(A)
    raw = struct.pack(">I", len(greeting())) + greeting()
    thread = threading.Thread(target=serve, args=(mesh, 0.7))
    thread.start()
    with call(two.addresses[A]) as peer:
        peer.sendall(raw)
        assert peer.recv(1)
        with call(two.addresses[A]) as stranger:
            stranger.sendall(raw)
            assert stranger.recv(1) == b""
        # The peer's own connection goes on.
        peer.sendall(struct.pack(">I", 1) + b"?")
        peer.settimeout(0.1)
        assert peer.recv(1000)
    thread.join()
    mesh.close()


def test_plain_text_at_the_door_does_no_harm(two: Table) -> None:
    mesh = two.mesh(A)
    for _ in range(40):
        with socket.create_connection((two.addresses[A].host, two.addresses[A].port)) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\n\r\n")
            mesh._wait(0.01, mesh.links.values())
    mesh.close()


def test_a_peer_with_another_certificate_is_not_believed(two: Table) -> None:
    listening = two.mesh(A)
    thread = threading.Thread(target=serve, args=(listening, 0.5))
    thread.start()
    other = two.addresses[A].certificate_sha256[::-1]
    channel = DirectChannel(Address("127.0.0.1", two.addresses[A].port, other))
    end = time.monotonic() + 5
    while not channel.refused_certificates and time.monotonic() < end:
        channel.receive()
        time.sleep(0.01)
    assert channel.refused_certificates
    assert channel.cuts == 0
    channel.close()
    thread.join()
    listening.close()


def test_a_certificate_is_the_same_after_a_restart_and_another_for_another_job() -> None:
    made = [JobCertificate.of(PRIVATES[A], mh=mh).sha256 for mh in (MH, MH, bytes(32))]
    assert made[0] == made[1] != made[2]


def test_a_channel_takes_no_frame_that_is_too_long_or_too_late() -> None:
    channel = DirectChannel(None)
    channel.send(b"lost, since nobody has called yet")
    assert channel.receive() is None
    with pytest.raises(InternalError):
        channel.send(bytes(MAX_FRAME_BYTES + 1))
    channel.close()
    channel.close()
    with pytest.raises(InternalError):
        channel.send(b"x")


def test_an_address_that_is_taken_is_named() -> None:
    with listen("127.0.0.1", 0) as taken, pytest.raises(InputError, match="cannot listen on"):
        listen("127.0.0.1", taken.getsockname()[1])
