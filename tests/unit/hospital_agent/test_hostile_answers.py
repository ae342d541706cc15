"""Answers of a hostile cloud: refused before they cost this machine its memory, or the agent its way back."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from email.utils import format_datetime

import httpx
import pytest

from hospital_agent.cloud import CloudClient, Patience
from hospital_agent.cloud.answers import inbox_items
from shared.crypto.identity import IdentityKey
from shared.errors import ErrorCode, PeerError
from shared.wire.base import MAX_INTEGER

ITEM = '{"id":%d,"message":{"envelope":{"type":"roster"}}}'


def client(answer: httpx.Response) -> CloudClient:
    transport = httpx.MockTransport(lambda _request: answer)
    http = httpx.Client(transport=transport, base_url="https://cloud.example")
    return CloudClient("h1", IdentityKey.from_raw(bytes(32)), http, Patience(0.0, 0.0, 1.0))


def inbox(*ids: int) -> bytes:
    return ('{"items":[' + ",".join(ITEM % number for number in ids) + "]}").encode()


def test_a_place_in_the_inbox_that_no_poll_could_name_is_refused() -> None:
    assert [number for number, _, _ in inbox_items(inbox(1, MAX_INTEGER))] == [1, MAX_INTEGER]
    with pytest.raises(PeerError) as raised:
        inbox_items(inbox(1, MAX_INTEGER + 1))
    assert raised.value.code is ErrorCode.MALFORMED


def test_an_answer_packed_several_times_is_refused_before_it_is_unpacked() -> None:
    bomb = gzip.compress(gzip.compress(bytes(2**24)))
    answer = httpx.Response(200, headers={"content-encoding": "gzip, gzip"}, stream=httpx.ByteStream(bomb))
    with pytest.raises(PeerError, match="packed in another way"):
        client(answer).poll(0)


def test_a_clock_before_all_time_does_not_stop_the_polls() -> None:
    long_ago = format_datetime(datetime(1900, 1, 1, tzinfo=UTC), usegmt=True)
    caller = client(httpx.Response(200, headers={"date": long_ago}, content=inbox(1)))
    caller.poll(0)
    caller.poll(1)
