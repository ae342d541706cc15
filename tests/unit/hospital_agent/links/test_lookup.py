"""Names are looked up without keeping anybody waiting, and again after a cut."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from hospital_agent.links import lookup
from hospital_agent.links.direct import Address, DirectChannel
from hospital_agent.links.lookup import Lookup

CERTIFICATE = "ab" * 32
NAME = "h2.example.org"


class Resolver:
    """Knows one name, by `answers` in turn, and answers when it is let."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, port: int) -> None:
        self.may_answer = threading.Event()
        self.questions = 0
        self.hosts = ["127.0.0.1"]
        self._port = port
        self._real = socket.getaddrinfo
        monkeypatch.setattr(lookup.socket, "getaddrinfo", self.getaddrinfo)

    def getaddrinfo(self, host: str, port: int, **options: Any) -> list[Any]:
        if host != NAME or options["flags"]:
            return self._real(host, port, **options)
        self.questions += 1
        assert self.may_answer.wait(20)
        if not self.hosts:
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, self._port)) for host in self.hosts]


@pytest.fixture
def door() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


@pytest.fixture
def resolver(door: socket.socket, monkeypatch: pytest.MonkeyPatch) -> Iterator[Resolver]:
    made = Resolver(monkeypatch, door.getsockname()[1])
    yield made
    made.may_answer.set()


def until(channel: DirectChannel, door: socket.socket, seconds: float = 5.0) -> socket.socket | None:
    """Look after the channel until it has called."""
    door.setblocking(False)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        channel.receive()
        try:
            return door.accept()[0]
        except BlockingIOError:
            time.sleep(0.005)
    return None


def test_a_slow_resolver_keeps_nobody_waiting_and_is_asked_once(
    door: socket.socket, resolver: Resolver
) -> None:
    begun = time.monotonic()
    seconds = [0.0]
    channel = DirectChannel(Address(NAME, 1, CERTIFICATE), clock=lambda: seconds[0])
    for _ in range(60):
        assert channel.receive() is None
        assert channel.fileno() == -1
        seconds[0] += 1.0
    assert time.monotonic() - begun < 5
    assert resolver.questions == 1
    resolver.may_answer.set()
    seconds[0] += 60.0
    caller = until(channel, door)
    assert caller is not None
    caller.close()
    channel.close()


def test_after_a_cut_the_name_is_looked_up_again(door: socket.socket, resolver: Resolver) -> None:
    resolver.may_answer.set()
    channel = DirectChannel(Address(NAME, 1, CERTIFICATE))
    for question in (1, 2):
        caller = until(channel, door)
        assert caller is not None
        assert resolver.questions == question
        caller.close()
        while channel.fileno() != -1:
            channel.receive()
    channel.close()


def test_of_several_addresses_the_next_is_tried(door: socket.socket, resolver: Resolver) -> None:
    resolver.hosts = ["127.0.0.2", "127.0.0.1"]
    resolver.may_answer.set()
    channel = DirectChannel(Address(NAME, 1, CERTIFICATE))
    caller = until(channel, door)
    assert caller is not None
    caller.close()
    channel.close()


def test_a_name_that_nobody_knows_is_asked_for_again_later(door: socket.socket, resolver: Resolver) -> None:
    hosts, resolver.hosts = resolver.hosts, []
    resolver.may_answer.set()
    channel = DirectChannel(Address(NAME, 1, CERTIFICATE))
    assert until(channel, door, 0.3) is None
    resolver.hosts = hosts
    caller = until(channel, door)
    assert caller is not None
    caller.close()
    channel.close()


@pytest.mark.parametrize(("host", "family"), [("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)])
def test_a_number_is_an_answer_at_once(host: str, family: int) -> None:
    asked = Lookup(host, 9)
    assert asked.addresses() is None
    asked.ask()
    found = asked.addresses()
    assert found is not None
    assert [(kind, address[:2]) for kind, address in found] == [(family, (host, 9))]
