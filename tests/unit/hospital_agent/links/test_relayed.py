"""The connection to the relay without a network: what happens to frames when ways open, break and refuse."""

from __future__ import annotations

import queue
import select
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from hospital_agent.cloud import BusyError, NoWebSocketError, Patience
from hospital_agent.links import relayed as module
from hospital_agent.links.relayed import Relayed
from hospital_agent.settings import Way
from shared.errors import ErrorCode, InternalError, PeerError
from shared.ids import AgentId
from shared.wire.relay import as_parcel
from tests.support.waiting import until

H2, H3, H4 = AgentId("h2"), AgentId("h3"), AgentId("h4")
QUICK = Patience(first_seconds=0.01, most_seconds=0.01)


@dataclass
class FakeCarrier:
    """A way in memory. `arrive`: parcels to deliver, or an error to end with. `broken`: keeps what it is given."""

    kind: str
    sent: list[bytes] = field(default_factory=list)
    arrive: queue.SimpleQueue[bytes | Exception | None] = field(default_factory=queue.SimpleQueue)
    kept: list[bytes] = field(default_factory=list)
    broken: bool = False
    running: threading.Event = field(default_factory=threading.Event)

    def send(self, parcel: bytes) -> None:
        (self.kept if self.broken else self.sent).append(parcel)

    def run(self, deliver: Callable[[bytes], None]) -> None:
        self.running.set()
        while (item := self.arrive.get()) is not None:
            if isinstance(item, Exception):
                raise item
            deliver(item)

    def unsent(self) -> list[bytes]:
        return self.kept

    def discard(self) -> None:
        pass

    def close(self) -> None:
        self.arrive.put(None)


class FakeDoor:
    """Gives what the test has put in; then it is busy."""

    def __init__(self) -> None:
        self.ways: queue.SimpleQueue[FakeCarrier | Exception] = queue.SimpleQueue()
        self.asked: list[str] = []

    def add(self, kind: str = "websocket") -> FakeCarrier:
        carrier = FakeCarrier(kind)
        self.ways.put(carrier)
        return carrier

    def websocket(self) -> FakeCarrier:
        return self._next("websocket")

    def long_poll(self) -> FakeCarrier:
        return self._next("long-poll")

    def _next(self, kind: str) -> FakeCarrier:
        self.asked.append(kind)
        try:
            item = self.ways.get(timeout=0.02)
        except queue.Empty:
            raise BusyError("nothing here") from None
        if isinstance(item, Exception):
            raise item
        return item


@pytest.fixture
def door() -> FakeDoor:
    return FakeDoor()


@pytest.fixture
def connect(door: FakeDoor) -> Iterator[Callable[..., Relayed]]:
    open_ones: list[Relayed] = []

    def make(way: Way = "auto") -> Relayed:
        open_ones.append(Relayed(door, [H2, H3], way=way, patience=QUICK, tell=lambda _text: None))
        return open_ones[-1]

    yield make
    for each in open_ones:
        each.channel(H2).close()
        each.channel(H3).close()


def is_readable(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


def test_frames_find_their_channels_and_others_are_dropped(
    door: FakeDoor, connect: Callable[..., Relayed]
) -> None:
    carrier, relayed = door.add(), connect()
    for parcel in (
        as_parcel(H3, b"three"),
        b"",
        b"\x02h2",
        as_parcel(H4, b"nobody's"),
        as_parcel(H2, b"two"),
    ):
        carrier.arrive.put(parcel)
    two, three = relayed.channel(H2), relayed.channel(H3)
    until(lambda: is_readable(two.fileno()))
    assert (two.receive(), two.receive()) == (b"two", None)
    assert (three.receive(), three.receive()) == (b"three", None)
    assert not is_readable(two.fileno())
    assert two.cuts == 0


def test_what_waits_goes_first_on_the_next_way(door: FakeDoor, connect: Callable[..., Relayed]) -> None:
    relayed = connect()
    channel = relayed.channel(H2)
    channel.send(b"1")
    first = door.add()
    until(first.running.is_set)
    channel.send(b"2")
    first.broken = True
    channel.send(b"3")
    first.arrive.put(BusyError("cut", cut=True))
    until(lambda: channel.cuts == 1)
    assert is_readable(channel.fileno())
    channel.send(b"4")
    second = door.add()
    until(lambda: len(second.sent) == 2)
    assert first.sent == [as_parcel(H2, b"1"), as_parcel(H2, b"2")]
    assert second.sent == [as_parcel(H2, b"3"), as_parcel(H2, b"4")]


def test_a_refusal_reaches_every_channel(door: FakeDoor, connect: Callable[..., Relayed]) -> None:
    carrier, relayed = door.add(), connect()
    carrier.arrive.put(as_parcel(H2, b"before"))
    carrier.arrive.put(PeerError(ErrorCode.LATE, "over"))
    until(lambda: is_readable(relayed.channel(H3).fileno()))
    assert relayed.channel(H2).receive() == b"before"
    for peer in (H2, H3):
        with pytest.raises(PeerError, match="over") as refused:
            relayed.channel(peer).receive()
        assert refused.value.code is ErrorCode.LATE
        with pytest.raises(PeerError):
            relayed.channel(peer).send(b"frame")


def test_a_bug_reaches_every_channel(door: FakeDoor, connect: Callable[..., Relayed]) -> None:
    door.ways.put(ZeroDivisionError())
    relayed = connect()
    until(lambda: is_readable(relayed.channel(H2).fileno()))
    with pytest.raises(InternalError, match="ZeroDivisionError"):
        relayed.channel(H2).receive()


def test_what_nobody_fetches_is_bounded(
    door: FakeDoor, connect: Callable[..., Relayed], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HELD_BYTES", 25)
    carrier, relayed = door.add(), connect()
    channel = relayed.channel(H2)
    for number in range(4):
        carrier.arrive.put(as_parcel(H2, bytes([number]) * 10))
    until(lambda: channel.cuts == 2)
    assert [channel.receive() for _ in range(3)] == [b"\0" * 10, b"\1" * 10, None]
    carrier.arrive.put(as_parcel(H2, b"again"))
    until(lambda: is_readable(channel.fileno()))
    assert channel.receive() == b"again"


def test_websockets_that_do_not_hold_give_way_to_long_polls(
    door: FakeDoor, connect: Callable[..., Relayed]
) -> None:
    for _ in range(3):
        door.add().arrive.put(BusyError("cut at once", cut=True))
    fourth, relayed = door.add(), connect()
    until(fourth.running.is_set)
    assert door.asked == ["websocket"] * 3 + ["long-poll"]
    assert relayed.channel(H2).cuts == 3


def test_a_websocket_that_held_is_tried_again(
    door: FakeDoor, connect: Callable[..., Relayed], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SHORT_LIFE_SECONDS", 0.0)
    for _ in range(5):
        door.add().arrive.put(BusyError("cut", cut=True))
    sixth = door.add()
    connect()
    until(sixth.running.is_set)
    assert door.asked == ["websocket"] * 6


@pytest.mark.parametrize("way", ["websocket", "long-poll"])
def test_a_fixed_way_stays(door: FakeDoor, connect: Callable[..., Relayed], way: Way) -> None:
    for _ in range(3):
        door.ways.put(BusyError("no", cut=True))
    if way == "websocket":
        door.ways.put(NoWebSocketError("none comes through"))
    last = door.add()
    connect(way)
    until(last.running.is_set)
    assert set(door.asked) == {way}


def test_what_fails_beside_a_working_long_poll_is_the_websocket(
    door: FakeDoor, connect: Callable[..., Relayed]
) -> None:
    for _ in range(3):
        door.ways.put(BusyError("hung up", cut=True))
        door.add("probe")
    last = door.add()
    connect()
    until(last.running.is_set)
    assert door.asked == ["websocket", "long-poll"] * 3 + ["long-poll"]
