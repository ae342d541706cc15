"""The client: what is repeated, what is refused, what the wire carries, and how the inbox is read."""

from __future__ import annotations

import gzip
import json
import socket
import time
from collections.abc import Callable
from email.utils import formatdate
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hospital_agent.cloud import CloudClient, Patience
from hospital_agent.cloud.answers import inbox_items, refusal_of
from hospital_agent.cloud.retries import FullJitter
from shared.crypto.identity import IdentityKey
from shared.errors import ErrorCode, PeerError, TemporaryError
from shared.protocol.history import MAX_JOBS, SEEN_HEADER, JobSeen, read_seen
from shared.protocol.polling import POLL_HEADER, read_poll, verify_poll

KEY = IdentityKey.from_raw(bytes(32))
QUICK = Patience(first_seconds=0.0, most_seconds=0.0, total_seconds=5.0)
Handler = Callable[[httpx.Request], httpx.Response]


def client(handler: Handler, patience: Patience = QUICK) -> CloudClient:
    http = httpx.Client(transport=httpx.MockTransport(handler), base_url="https://cloud.example")
    return CloudClient("h1", KEY, http, patience)


def script(*answers: httpx.Response | Exception) -> tuple[Handler, list[httpx.Request]]:
    """A cloud that answers so, one after another."""
    waiting, seen = list(answers), []

    def handle(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        answer = waiting.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return handle, seen


def problem(status: int, **members: Any) -> httpx.Response:
    return httpx.Response(status, json={"type": "about:blank", "status": status, **members})


@pytest.mark.parametrize(
    "hitch",
    [
        httpx.ConnectError("no route"),
        httpx.ReadTimeout("slow"),
        httpx.RemoteProtocolError("cut"),
        httpx.Response(429, headers={"retry-after": "0"}),
        httpx.Response(502),
        httpx.Response(503),
        httpx.Response(504),
    ],
)
def test_the_same_bytes_are_sent_again_after_a_hitch(hitch: httpx.Response | Exception) -> None:
    handle, seen = script(hitch, httpx.Response(200, content=b"receipt"))
    assert client(handle).post_message(b'{"a":1}', "contribution") == b"receipt"
    assert [request.content for request in seen] == [b'{"a":1}', b'{"a":1}']


@pytest.mark.parametrize(
    "code", [code for code in ErrorCode if code not in ("rate_limited", "audit_unavailable")]
)
def test_a_refusal_is_final_and_keeps_its_code(code: ErrorCode) -> None:
    handle, seen = script(problem(409, code=code.value, detail="no"))
    with pytest.raises(PeerError, match="the cloud refused: no") as raised:
        client(handle).post_message(b"{}", "decision")
    assert raised.value.code is code
    assert len(seen) == 1


@pytest.mark.parametrize(("url", "proxied"), [("https://cloud.example", True), ("http://127.0.0.1:1", False)])
def test_the_surroundings_name_the_proxy_for_all_but_this_machine(
    monkeypatch: pytest.MonkeyPatch, url: str, proxied: bool
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.example:3128")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with CloudClient.connect(url, "h1", KEY) as connected:
        transport = connected.http._transport_for_url(httpx.URL(url))
        assert (transport is not connected.http._transport) == proxied


def test_patience_ends() -> None:
    handle, _ = script(*[httpx.Response(503) for _ in range(1000)])
    with pytest.raises(TemporaryError, match="busy"):
        client(handle, Patience(0.001, 0.01, 0.05)).post_message(b"{}", "decision")


def test_long_messages_travel_compressed() -> None:
    handle, seen = script(httpx.Response(200, content=b"ok"))
    raw = b'{"x":"' + b"abc" * 1000 + b'"}'
    client(handle).post_message(raw, "contribution")
    assert seen[0].headers["content-encoding"] == "gzip"
    assert gzip.decompress(seen[0].content) == raw


def test_a_body_that_does_not_shrink_travels_as_it_is() -> None:
    handle, seen = script(httpx.Response(200, content=b"ok"))
    raw = bytes(time.perf_counter_ns() * n % 251 for n in range(40)) * 2
    client(handle).post_message(raw, "contribution")
    assert "content-encoding" not in seen[0].headers
    assert seen[0].content == raw


def test_an_answer_without_end_is_cut_off() -> None:
    handle, _ = script(httpx.Response(200, content=b"x" * (2**16 + 1)))
    with pytest.raises(PeerError) as raised:
        client(handle).post_message(b"{}", "decision")
    assert raised.value.code is ErrorCode.TOO_LARGE


def test_a_poll_is_signed_for_agent_place_and_time() -> None:
    handle, seen = script(httpx.Response(200, content=b'{"items":[]}'))
    assert client(handle).poll(41) == []
    poll, signature = read_poll(seen[0].headers[POLL_HEADER])
    verify_poll(poll, signature, KEY.public, int(time.time()))
    assert (poll.agent, poll.after) == ("h1", 41)
    assert seen[0].url.params["wait"] == "25"


def test_a_cut_poll_makes_the_next_ones_shorter_down_to_five_seconds() -> None:
    handle, seen = script(
        *[httpx.Response(504)] * 3, httpx.ReadTimeout("cut"), httpx.Response(200, content=b'{"items":[]}')
    )
    caller = client(handle)
    for _ in range(4):
        with pytest.raises(TemporaryError):
            caller.poll(0)
    caller.poll(0)
    assert [request.url.params["wait"] for request in seen] == ["25", "12", "6", "5", "5"]


def test_a_cloud_that_is_down_does_not_shorten_polls() -> None:
    handle, _ = script(httpx.ConnectError("down"))
    caller = client(handle)
    with pytest.raises(TemporaryError):
        caller.poll(0)
    assert caller.wait_seconds == 25


def test_a_cloud_that_is_down_is_described_in_the_systems_words() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    caller = CloudClient.connect(f"http://127.0.0.1:{port}", "h1", KEY)
    with caller, pytest.raises(TemporaryError, match=r"^the cloud cannot be reached: Connection refused$"):
        caller.poll(0)


def test_a_wrong_clock_is_put_right_by_the_date_header() -> None:
    there = time.time() + 4000
    date = {"date": formatdate(there, usegmt=True)}
    refusal = httpx.Response(401, json={"code": "bad_signature", "detail": "clock"}, headers=date)
    handle, seen = script(refusal, httpx.Response(200, content=b'{"items":[]}', headers=date))
    client(handle).poll(0)
    times = [read_poll(request.headers[POLL_HEADER])[0].time for request in seen]
    assert abs(times[0] - time.time()) < 60
    assert abs(times[1] - there) < 60


def test_a_fault_at_the_cloud_is_nobodys_fault() -> None:
    assert isinstance(refusal_of(500, b"<html>"), TemporaryError)


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"code":"new","detail":3}', b"[" * 5000])
def test_a_refusal_without_a_problem_document_still_has_a_code(body: bytes) -> None:
    refusal = refusal_of(413, body)
    assert isinstance(refusal, PeerError)
    assert refusal.code is ErrorCode.TOO_LARGE


def test_the_clouds_words_cannot_steer_a_terminal() -> None:
    body = json.dumps({"code": "late", "detail": "a\x1b[31mb\u202ec" + "x" * 9999}).encode()
    text = str(refusal_of(409, body))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert len(text) < 600


def inbox(*messages: dict[str, Any]) -> bytes:
    parts = [b'{"id":%d,"message":%s}' % (n, json.dumps(m).encode()) for n, m in enumerate(messages, start=1)]
    return b'{"items":[' + b",".join(parts) + b"]}"


@given(st.lists(st.dictionaries(st.text(max_size=5), st.text(), max_size=3), max_size=4))
def test_messages_come_out_byte_by_byte(bodies: list[dict[str, str]]) -> None:
    messages = [{"envelope": {"type": "roster", "body": body}} for body in bodies]
    items = inbox_items(inbox(*messages))
    assert [number for number, _, _ in items] == list(range(1, len(bodies) + 1))
    assert [json.loads(raw) for _, raw, _ in items] == messages
    assert {kind for _, _, kind in items} <= {"roster"}


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{}",
        b'{"items":[1]}',
        b'{"items":[{"id":1,"message":{}}]}',
        b'{"items":[{"id":true,"message":{"envelope":{"type":"roster"}}}]}',
        b'{"items":[{"id":1,"message":' + b"[" * 100000 + b"}]}",
        b'{"items":[{"id":2,"message":{"envelope":{"type":"a"}}},{"id":2,"message":{"envelope":{"type":"a"}}}]}',
        b'{"items":[{"id":1,"message":{"envelope":{"type":"a"}}}]} ',
        b"\xff",
    ],
)
def test_another_form_of_inbox_is_malformed(raw: bytes) -> None:
    with pytest.raises(PeerError) as raised:
        inbox_items(raw)
    assert raised.value.code is ErrorCode.MALFORMED


@given(st.integers(min_value=0, max_value=60))
def test_waits_are_within_the_jitters_bounds(tries: int) -> None:
    jitter = FullJitter(Patience())
    waits = [jitter.next_wait() for _ in range(tries)]
    assert all(0 <= wait <= min(60, 2**n) for n, wait in enumerate(waits))


def test_a_wish_for_patience_is_added() -> None:
    assert FullJitter(Patience(first_seconds=0.0)).next_wait(7.0) == 7.0
    assert FullJitter(Patience()).next_wait(10_000.0) == 60.0


def test_every_byte_is_booked_once() -> None:
    message = {"envelope": {"type": "aggregate"}, "x": "y" * 500}
    other = {"envelope": {"type": "round_open"}}
    body = inbox(message, other)
    handle, _ = script(
        httpx.Response(200, stream=httpx.ByteStream(body)), httpx.Response(200, content=b"receipt")
    )
    caller = client(handle)
    caller.poll(0)
    received = caller.traffic.drain()["received"]
    assert received["aggregate"] > received["round_open"] > 0
    caller.post_message(b'{"m":1}', "decision")
    figures = caller.traffic.drain()
    assert set(figures["sent"]) == {"decision"}
    assert set(figures["received"]) == {"receipt"}
    assert caller.traffic.drain() == {"sent": {}, "received": {}, "headers": 0}


def test_of_many_jobs_each_is_told_of_in_turn() -> None:
    """A cloud that was put back from a backup must hear of every running job, not of the oldest alone."""
    jobs = [JobSeen(job=f"{number:032x}", heard=1, answered=1) for number in range(MAX_JOBS + 18)]
    polls = 4
    handle, seen = script(*(httpx.Response(200, content=b'{"items":[]}') for _ in range(polls)))
    polling = client(handle)
    for _ in range(polls):
        polling.poll(0, seen=jobs)
    told = [read_seen(request.headers[SEEN_HEADER], "h1", KEY.public, int(time.time())) for request in seen]
    assert [len(claim.jobs) for claim in told] == [MAX_JOBS] * polls
    assert {job.job for claim in told[:2] for job in claim.jobs} == {job.job for job in jobs}
    assert {job.job for claim in told[2:] for job in claim.jobs} == {job.job for job in jobs}
