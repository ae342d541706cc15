"""Small parts of the cloud by themselves: the doorway, body limits, packing, rates, notifier, logs."""

from __future__ import annotations

import asyncio
import gzip
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request

from cloud_service.api.answers import json_answer
from cloud_service.api.body import held_body, read_body
from cloud_service.service.doorway import SMALL_BYTES, read_tail
from cloud_service.service.each_job import for_each_job
from cloud_service.service.logs import ALLOWED, keep_allowed
from cloud_service.service.notifier import EVERYTHING, Notifier
from cloud_service.service.rates import RateLimitedError, Rates
from cloud_service.settings import Settings
from shared.crypto.identity import IdentityKey
from shared.errors import ErrorCode, PeerError
from shared.ids import JobId
from shared.protocol.envelopes import Address, Chain, seal, unseal
from shared.wire.envelope import MessageType
from shared.wire.rounds import Attest

KEY = IdentityKey.from_raw(b"\x07" * 32)


@given(st.text(max_size=200), st.integers(0, 2**32 - 1), st.integers(0, 2**53 - 1))
def test_tail_says_what_the_parser_finds(text: str, round_: int, seq: int) -> None:
    address = Address(MessageType.ATTEST, "ab" * 16, "cd" * 32, round_, 0, "h1", "cloud")
    body = Attest(
        state="00" * 32, tree_sha256="11" * 32, tree=text + '","type":"contribution","v":1},"signature":"'
    )
    sealed = seal(KEY, address, Chain(seq, "22" * 32), body)
    tail = read_tail(sealed.raw)
    parsed = unseal(sealed.raw, max_bytes=10**6)
    assert (tail.sender, tail.job, tail.type) == ("h1", "ab" * 16, "attest")
    assert tail.sha256.hex() == parsed.sha256
    assert tail.signature.hex() == parsed.signed.signature


@given(st.binary(max_size=300))
def test_any_bytes_have_no_tail_or_one(raw: bytes) -> None:
    with pytest.raises(PeerError) as caught:
        read_tail(raw)
    assert caught.value.code is ErrorCode.MALFORMED


def request_of(body: bytes, **headers: str) -> Request:
    sent = False

    async def receive() -> dict[str, object]:
        nonlocal sent
        if sent:
            return {"type": "http.disconnect"}
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    app = SimpleNamespace(state=SimpleNamespace(services=SimpleNamespace(settings=Settings(folder=Path()))))
    return Request({"type": "http", "method": "POST", "path": "/", "headers": pairs, "app": app}, receive)


def read(body: bytes, limit: int = 1000, **headers: str) -> bytes:
    return asyncio.run(read_body(request_of(body, **{"content_type": "application/json", **headers}), limit))


@given(st.binary(max_size=1000))
def test_body_as_it_came_or_unpacked(raw: bytes) -> None:
    assert read(raw) == raw
    assert read(gzip.compress(raw), 2000, content_encoding="gzip") == raw


@pytest.mark.parametrize("length", ["99999", "9" * 19])
def test_announced_length_is_enough_to_refuse(length: str) -> None:
    with pytest.raises(PeerError) as caught:
        read(b"", content_length=length)
    assert caught.value.code is ErrorCode.TOO_LARGE


def test_a_bomb_is_unpacked_no_further_than_the_limit() -> None:
    with pytest.raises(PeerError) as caught:
        read(gzip.compress(bytes(10**8), 9), 200_000, content_encoding="gzip")
    assert caught.value.code is ErrorCode.TOO_LARGE


def test_large_bodies_are_held_a_few_at_a_time() -> None:
    held, most = 0, 0

    async def hold(raw: bytes, room: asyncio.Semaphore) -> None:
        nonlocal held, most
        headers = {"content_type": "application/json", "content_encoding": "gzip"}
        async with held_body(request_of(gzip.compress(raw), **headers), 2**20, room) as body:
            assert body == raw
            held += 1
            most = max(most, held)
            await asyncio.sleep(0.01)
            held -= 1

    async def all_at_once(raw: bytes) -> None:
        room = asyncio.Semaphore(2)
        await asyncio.gather(*(hold(raw, room) for _ in range(10)))

    asyncio.run(all_at_once(bytes(SMALL_BYTES + 1)))
    assert most == 2
    asyncio.run(all_at_once(b"small"))
    assert most == 10


def test_answer_is_packed_only_if_shorter() -> None:
    wanted = request_of(b"", accept_encoding="gzip")
    assert "content-encoding" not in json_answer(wanted, b"short").headers
    assert json_answer(wanted, b"long " * 1000).headers["content-encoding"] == "gzip"
    assert "content-encoding" not in json_answer(request_of(b""), b"long " * 1000).headers
    large = b"0123456789abcdef" * 2**15
    packed = json_answer(wanted, large)
    assert gzip.decompress(bytes(packed.body)) == large


def test_rates_refuse_the_excess_of_one_caller_only() -> None:
    rates = Rates(0.1)
    rates.spend("a")
    with pytest.raises(RateLimitedError) as caught:
        rates.spend("a")
    assert caught.value.retry_after_seconds is not None
    assert caught.value.retry_after_seconds >= 1
    rates.spend("b")


def test_notifier_wakes_by_key_and_lets_all_go_when_closed() -> None:
    async def play() -> tuple[bool, bool, bool]:
        notifier = Notifier()
        notifier.wake(["a"])  # nobody is there yet
        notifier.attach(asyncio.get_running_loop())
        with notifier.listening("a") as one, notifier.listening("b") as other:
            await asyncio.to_thread(notifier.wake, ["a"])
            await notifier.wait(one, 5)
            heard = (one.is_set(), other.is_set())
            await asyncio.to_thread(notifier.close)
            await notifier.wait(other, 5)
            await notifier.wait(other, 5)
        notifier.wake([EVERYTHING])
        return (*heard, notifier.is_closed)

    began = time.monotonic()
    assert asyncio.run(play()) == (True, False, True)
    assert time.monotonic() - began < 5


def test_notifier_gives_up_after_the_time() -> None:
    async def play() -> bool:
        notifier = Notifier()
        notifier.attach(asyncio.get_running_loop())
        with notifier.listening("a") as event:
            await notifier.wait(event, 0.01)
            return event.is_set()

    assert asyncio.run(play()) is False


def test_a_faulty_job_does_not_keep_the_others_waiting() -> None:
    done = []

    def work(job: JobId) -> bool:
        if job == "2":
            raise RuntimeError("a job that cannot be worked on")
        done.append(job)
        return job == "3"

    assert for_each_job([JobId("1"), JobId("2"), JobId("3")], work) == 1
    assert done == ["1", "3"]


def test_logs_keep_listed_keys_only() -> None:
    event = {"event": "x", "job": "j", "body": "secret", "ciphertext": "c", "token": "t", "exception": "e"}
    assert keep_allowed(None, "info", event) == {"event": "x", "job": "j"}
    assert not ALLOWED & {"body", "ciphertext", "seed", "key", "token", "value", "counts"}
