"""What the relay refuses, and with which words: strangers, wrong jobs and states, hostile frames."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from shared.ids import AgentId
from shared.wire.relay import (
    BATCH_HEADER,
    BATCH_TYPE,
    MAX_BATCH_BYTES,
    MAX_FRAME_BYTES,
    as_parcel,
    pack,
    unpack,
)
from tests.support.cloud_server import CloudUnderTest, running_cloud
from tests.support.relays import call_of, computing_job, set_state

H1, H2 = AgentId("h1"), AgentId("h2")
MEMBERS = ("h1", "h2", "h3", "h4")
BYTES = {"content-type": BATCH_TYPE}


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CloudUnderTest]:
    with running_cloud(tmp_path_factory.mktemp("cloud"), hospitals=MEMBERS) as running:
        yield running


@pytest.fixture
def job(cloud: CloudUnderTest) -> str:
    """Its roster is h1 to h3; h4 was invited, and is no member of it."""
    return computing_job(cloud)


@pytest.fixture
def http(cloud: CloudUnderTest) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=cloud.base_url, timeout=30, trust_env=False) as client:
        yield client


@contextmanager
def websocket(cloud: CloudUnderTest, job: str, headers: dict[str, str]) -> Iterator[ClientConnection]:
    """A hand-made client; the greeting is taken off."""
    url = cloud.base_url.replace("http", "ws", 1) + f"/v1/jobs/{job}/relay"
    with connect(url, additional_headers=headers, compression=None, proxy=None) as connection:
        assert connection.recv(10) == b""
        yield connection


def test_strangers_get_the_same_answer_by_every_way(
    cloud: CloudUnderTest, job: str, http: httpx2.Client
) -> None:
    other = computing_job(cloud)
    waiting = computing_job(cloud)
    set_state(cloud, waiting, "KEYING")
    unknown = "0" * 32
    forged = call_of(cloud, job, "h1")
    forged = {name: value[:-2] + ("00" if value[-2:] != "00" else "11") for name, value in forged.items()}
    cases = [
        (job, {"privet-relay": "nonsense"}, 400, "malformed"),
        (job, {"privet-relay": '{"agent":"h1"}.' + "0" * 128}, 400, "malformed"),
        (job, forged, 401, "bad_signature"),
        (job, call_of(cloud, other, "h1"), 401, "bad_signature"),
        (job, call_of(cloud, job, "h1", offset=-301), 401, "bad_signature"),
        (job, call_of(cloud, job, "h1", offset=310), 401, "bad_signature"),
        (job, call_of(cloud, job, "h4"), 409, "roster_mismatch"),
        (unknown, call_of(cloud, unknown, "h1"), 409, "roster_mismatch"),
        (waiting, call_of(cloud, waiting, "h1"), 409, "late"),
    ]
    for place, headers, status, code in cases:
        path = f"/v1/jobs/{place}/frames"
        for answer in (
            http.get(path, headers=headers),
            http.post(path, headers={**headers, **BYTES}, content=pack([as_parcel(H2, b"frame")])),
        ):
            assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
            assert answer.headers["content-type"] == "application/problem+json"
        with pytest.raises(InvalidStatus) as refused, websocket(cloud, place, headers):
            pass
        response = refused.value.response
        assert (response.status_code, json.loads(response.body or b"")["code"]) == (status, code)


def test_no_call_at_all(cloud: CloudUnderTest, job: str, http: httpx2.Client) -> None:
    assert http.get(f"/v1/jobs/{job}/frames").json()["code"] == "invalid_input"
    with pytest.raises(InvalidStatus, match="400"), websocket(cloud, job, {}):
        pass
    answer = http.get(f"/v1/jobs/{job}/relay", headers=call_of(cloud, job, "h1"))
    assert (answer.status_code, answer.json()["code"]) == (426, "upgrade_required")
    assert answer.headers["upgrade"] == "websocket"


def test_a_person_is_no_member(cloud: CloudUnderTest, job: str) -> None:
    assert cloud.people.get(f"/v1/jobs/{job}/frames").json()["code"] == "invalid_input"


@pytest.mark.parametrize(
    ("parcel", "code"),
    [
        (b"\x00frame", 4400),
        (b"\x40h2", 4400),
        (b"\x02h2", 4400),
        (b"\x02H2frame", 4400),
        (b"\x05cloudframe", 4400),
        (b"\x02h1frame", 4400),
        (b"\x02h4frame", 4400),
        (b"", 4400),
        ("text", 4400),
        (as_parcel(H2, bytes(MAX_FRAME_BYTES + 1)), 1009),
    ],
)
def test_hostile_parcels_end_the_connection(
    cloud: CloudUnderTest, job: str, parcel: bytes | str, code: int
) -> None:
    with (
        websocket(cloud, job, call_of(cloud, job, "h1")) as connection,
        pytest.raises(ConnectionClosed) as closed,
    ):
        send_and_wait(connection, parcel)
    received = closed.value.rcvd
    assert received is not None
    assert received.code == code
    assert len(received.reason) > 10
    with websocket(cloud, job, call_of(cloud, job, "h1")) as again:
        again.send(as_parcel(H2, b"well-formed"))


def send_and_wait(connection: ClientConnection, message: bytes | str) -> None:
    connection.send(message)
    connection.recv(10)


def test_a_message_beyond_all_limits_is_not_even_read(cloud: CloudUnderTest, job: str) -> None:
    """Sooner or later: the reset of a connection with unread bytes may overtake the reason."""
    with (
        websocket(cloud, job, call_of(cloud, job, "h1")) as connection,
        pytest.raises(ConnectionClosed) as closed,
    ):
        send_and_wait(connection, bytes(2 * MAX_BATCH_BYTES))
    assert closed.value.rcvd is None or closed.value.rcvd.code == 1009


@pytest.mark.parametrize(
    ("body", "headers", "status", "code"),
    [
        (b"\x00", {}, 400, "malformed"),
        (b"\x00\x00\x00\x09\x02h2frame", {}, 400, "malformed"),
        (b"\xff\xff\xff\xff" + bytes(100), {}, 400, "malformed"),
        (b"\x00\x00\x00\x00", {}, 400, "malformed"),
        (pack([as_parcel(AgentId("h4"), b"frame")]), {}, 409, "roster_mismatch"),
        (pack([as_parcel(H1, b"frame")]), {}, 409, "roster_mismatch"),
        (pack([as_parcel(H2, bytes(MAX_FRAME_BYTES + 1))]), {}, 413, "too_large"),
        (bytes(MAX_BATCH_BYTES + 1), {}, 413, "too_large"),
        (pack([as_parcel(H2, b"frame")]), {"content-type": "application/json"}, 400, "malformed"),
        (pack([as_parcel(H2, b"frame")]), {"content-encoding": "gzip"}, 400, "malformed"),
    ],
)
def test_hostile_batches_are_refused(
    cloud: CloudUnderTest,
    job: str,
    http: httpx2.Client,
    body: bytes,
    headers: dict[str, str],
    status: int,
    code: str,
) -> None:
    answer = http.post(
        f"/v1/jobs/{job}/frames", content=body, headers={**call_of(cloud, job, "h1"), **BYTES, **headers}
    )
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert "frame" not in answer.json()["detail"] or len(answer.json()["detail"]) < 100


def test_a_batch_is_handed_out_until_the_next_one_is_asked_for(
    cloud: CloudUnderTest, job: str, http: httpx2.Client
) -> None:
    path = f"/v1/jobs/{job}/frames"
    mine, theirs = call_of(cloud, job, "h2"), {**call_of(cloud, job, "h1"), **BYTES}

    def ask(after: int) -> tuple[int, list[bytes]]:
        answer = http.get(path, headers=mine, params={"after": after})
        return int(answer.headers[BATCH_HEADER]), [bytes(parcel) for parcel in unpack(answer.content)]

    assert ask(0) == (0, [])
    assert (
        http.post(path, headers=theirs, content=pack([as_parcel(H2, b"a"), as_parcel(H2, b"b")])).status_code
        == 204
    )
    both = [as_parcel(H1, b"a"), as_parcel(H1, b"b")]
    assert ask(0) == ask(0) == (1, both)
    http.post(path, headers=theirs, content=pack([as_parcel(H2, b"c")]))
    assert ask(0) == (1, both)
    assert ask(1) == (2, [as_parcel(H1, b"c")])
    assert ask(2) == ask(2) == (2, [])
    assert ask(99) == (2, [])


def test_a_newer_question_lets_an_older_one_go(cloud: CloudUnderTest, job: str, http: httpx2.Client) -> None:
    with websocket(cloud, job, call_of(cloud, job, "h2")) as older:
        began = time.monotonic()
        http.get(f"/v1/jobs/{job}/frames", headers=call_of(cloud, job, "h2"))
        with pytest.raises(ConnectionClosed, match="took over"):
            older.recv(10)
    assert time.monotonic() - began < 5


def test_too_many_requests_are_slowed_down(tmp_path_factory: pytest.TempPathFactory) -> None:
    with running_cloud(tmp_path_factory.mktemp("slow"), requests_per_second=0.5) as cloud:
        job = computing_job(cloud)
        headers = call_of(cloud, job, "h1")
        with httpx2.Client(base_url=cloud.base_url, trust_env=False) as http:
            codes = [http.get(f"/v1/jobs/{job}/frames", headers=headers).status_code for _ in range(60)]
        assert codes[:40] == [200] * 40
        assert codes[-1] == 429
        with pytest.raises(InvalidStatus, match="429") as refused, websocket(cloud, job, headers):
            pass
        assert int(refused.value.response.headers["retry-after"]) >= 1


def test_the_end_of_the_job_closes_with_a_reason(cloud: CloudUnderTest, job: str) -> None:
    with websocket(cloud, job, call_of(cloud, job, "h1")) as connection:
        set_state(cloud, job, "DONE")
        with pytest.raises(ConnectionClosed) as closed:
            connection.recv(10)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 4409
    assert "inbox" in closed.value.rcvd.reason
