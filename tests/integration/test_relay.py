"""Sealed frames through a real cloud: what passes, what survives, and how an agent finds a way."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from cloud_service.service import relay
from hospital_agent.cloud import calls, connecting, websocket
from hospital_agent.links.relayed import RelayedChannel
from shared.errors import ErrorCode, InternalError, PeerError
from tests.support.certificates import self_signed
from tests.support.cloud_server import CloudUnderTest, running_cloud
from tests.support.middlebox import Habit, connecting_proxy, middlebox
from tests.support.proxies import fault_proxy
from tests.support.relays import computing_job, fetch, relayed, set_state

WAYS = ("websocket", "long-poll")


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CloudUnderTest]:
    """One for the tests that leave it as it was."""
    with running_cloud(tmp_path_factory.mktemp("cloud")) as running:
        yield running


def port_of(cloud: CloudUnderTest) -> int:
    return int(cloud.base_url.rpartition(":")[2])


def send_and_fetch(one: RelayedChannel, other: RelayedChannel, frame: bytes = b"frame") -> None:
    """Across a cut, long polls may bring something twice."""
    one.send(frame)
    while fetch(other) != frame:
        pass


@pytest.mark.parametrize("way", WAYS)
def test_frames_of_every_size_go_both_ways(cloud: CloudUnderTest, way: str) -> None:
    job = computing_job(cloud)
    with (
        relayed(cloud, job, "h1", ["h2"], way=way) as first,
        relayed(cloud, job, "h2", ["h1"], way=way) as other,
    ):
        there, back = first.channel("h2"), other.channel("h1")
        for size in (1, 125, 126, 2**16, 2**22 + 2**12):
            send_and_fetch(there, back, bytes([size % 251]) * size)
            send_and_fetch(back, there, b"!" * size)
        with pytest.raises(InternalError, match="bytes"):
            there.send(bytes(2**22 + 2**12 + 1))
        with pytest.raises(InternalError, match="bytes"):
            there.send(b"")


@pytest.mark.parametrize("way", WAYS)
def test_large_messages_that_cross_do_not_block_each_other(cloud: CloudUnderTest, way: str) -> None:
    job = computing_job(cloud)
    with (
        relayed(cloud, job, "h1", ["h2"], way=way) as first,
        relayed(cloud, job, "h2", ["h1"], way=way) as other,
    ):
        there, back = first.channel("h2"), other.channel("h1")
        send_and_fetch(there, back)
        send_and_fetch(back, there)
        frames = [bytes([number]) * 2**21 for number in range(12)]
        for frame in frames:
            there.send(frame)
            back.send(frame)
        assert [fetch(back) for _ in frames] == frames
        assert [fetch(there) for _ in frames] == frames


def test_three_members_by_different_ways(cloud: CloudUnderTest) -> None:
    job = computing_job(cloud)
    with (
        relayed(cloud, job, "h1", ["h2", "h3"], way="websocket") as one,
        relayed(cloud, job, "h2", ["h1", "h3"], way="long-poll") as two,
        relayed(cloud, job, "h3", ["h1", "h2"]) as three,
    ):
        members = {"h1": one, "h2": two, "h3": three}
        for sender, connection in members.items():
            for receiver in members.keys() - {sender}:
                connection.channel(receiver).send(f"{sender} to {receiver}".encode())
        for receiver, connection in members.items():
            for sender in members.keys() - {receiver}:
                assert fetch(connection.channel(sender)) == f"{sender} to {receiver}".encode()


def test_two_jobs_do_not_meet(cloud: CloudUnderTest) -> None:
    first_job, second_job = computing_job(cloud), computing_job(cloud)
    with (
        relayed(cloud, first_job, "h1", ["h2"]) as sender,
        relayed(cloud, second_job, "h2", ["h1"]) as stranger,
        relayed(cloud, first_job, "h2", ["h1"]) as receiver,
    ):
        send_and_fetch(sender.channel("h2"), receiver.channel("h1"))
        time.sleep(0.2)
        assert stranger.channel("h1").receive() is None


@pytest.mark.parametrize("way", WAYS)
def test_what_comes_before_the_receiver_waits_for_it(cloud: CloudUnderTest, way: str) -> None:
    job = computing_job(cloud)
    with relayed(cloud, job, "h1", ["h2"], way=way) as first:
        first.channel("h2").send(b"early")
        time.sleep(0.5)
        with relayed(cloud, job, "h2", ["h1"], way=way) as late:
            assert fetch(late.channel("h1")) == b"early"


@pytest.mark.parametrize("way", WAYS)
def test_a_cut_is_told_and_overcome(cloud: CloudUnderTest, way: str) -> None:
    job = computing_job(cloud)
    with (
        middlebox(port_of(cloud)) as box,
        relayed(cloud, job, "h1", ["h2"], way=way, url=box.url) as first,
        relayed(cloud, job, "h2", ["h1"]) as other,
    ):
        there, back = first.channel("h2"), other.channel("h1")
        send_and_fetch(there, back)
        for _ in range(3):
            cuts = there.cuts
            box.cut()
            if way == "websocket":
                end = time.monotonic() + 10
                while there.cuts == cuts:
                    assert time.monotonic() < end
                    there.receive()
                    time.sleep(0.01)
            send_and_fetch(there, back, b"again")
            send_and_fetch(back, there, b"and back")


@pytest.mark.parametrize("way", WAYS)
def test_agents_come_back_after_the_cloud_restarts(tmp_path: Path, way: str) -> None:
    with running_cloud(tmp_path) as cloud, middlebox(port_of(cloud)) as box:
        job = computing_job(cloud)
        with (
            relayed(cloud, job, "h1", ["h2"], way=way, url=box.url) as first,
            relayed(cloud, job, "h2", ["h1"], way=way, url=box.url) as other,
        ):
            there, back = first.channel("h2"), other.channel("h1")
            send_and_fetch(there, back)
            began = time.monotonic()
            cloud.restart()
            assert time.monotonic() - began < 10, "open connections held the cloud up"
            box.port = port_of(cloud)
            send_until_fetched(there, back)
            send_until_fetched(back, there)


def send_until_fetched(one: RelayedChannel, other: RelayedChannel) -> None:
    """As links do: what went into a connection that was already dead is sent again."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        one.send(b"after")
        wait = time.monotonic() + 1
        while time.monotonic() < wait:
            if other.receive() == b"after":
                return
            time.sleep(0.01)
    pytest.fail("no way back")


@pytest.mark.parametrize("habit", ["forbid", "strip", "swallow", "hang_up", "bad_gateway"])
def test_auto_finds_long_polls_where_no_websocket_comes_through(
    cloud: CloudUnderTest, habit: Habit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(websocket, "GREETING_SECONDS", 0.5)
    job, told = computing_job(cloud), []
    with (
        middlebox(port_of(cloud), habit) as box,
        relayed(cloud, job, "h1", ["h2"], url=box.url, told=told) as first,
        relayed(cloud, job, "h2", ["h1"]) as other,
    ):
        send_and_fetch(first.channel("h2"), other.channel("h1"))
        send_and_fetch(other.channel("h1"), first.channel("h2"))
        assert told[-1] == "frames go through the cloud by long polls"
        assert 1 <= box.handshakes <= 3


def test_a_fixed_way_does_not_fall_back(cloud: CloudUnderTest) -> None:
    job, told = computing_job(cloud), []
    with (
        middlebox(port_of(cloud), "forbid") as box,
        relayed(cloud, job, "h1", ["h2"], url=box.url, way="websocket", told=told) as first,
    ):
        first.channel("h2").send(b"frame")
        time.sleep(0.5)
        assert any("403" in line and 'channel = "auto"' in line for line in told)
        box.habit = "pass"
        with relayed(cloud, job, "h2", ["h1"]) as other:
            assert fetch(other.channel("h1")) == b"frame"


@pytest.mark.parametrize("way", ["auto", "long-poll"])
def test_a_proxys_page_is_no_refusal_of_the_clouds(cloud: CloudUnderTest, way: str) -> None:
    job, told = computing_job(cloud), []
    with (
        middlebox(port_of(cloud), "forbid_all") as box,
        relayed(cloud, job, "h1", ["h2"], url=box.url, way=way, told=told) as first,
        relayed(cloud, job, "h2", ["h1"]) as other,
    ):
        first.channel("h2").send(b"frame")
        end = time.monotonic() + 10
        while not any("answers HTTP 403" in line for line in told):
            assert time.monotonic() < end
            time.sleep(0.05)
        assert first.channel("h2").receive() is None
        box.habit = "pass"
        assert fetch(other.channel("h1")) == b"frame"


def test_a_short_outage_does_not_end_in_long_polls(cloud: CloudUnderTest) -> None:
    job, told = computing_job(cloud), []
    with middlebox(port_of(cloud)) as box:
        port, box.port = box.port, 1
        with relayed(cloud, job, "h1", ["h2"], url=box.url, told=told):
            time.sleep(1.5)
            box.port = port
            end = time.monotonic() + 10
            while told[-1] != "frames go through the cloud by a WebSocket":
                assert time.monotonic() < end, told
                time.sleep(0.05)


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_long_polls_lose_nothing_through_a_proxy_that_stores_and_mistreats(
    cloud: CloudUnderTest, share: float
) -> None:
    job = computing_job(cloud)
    with (
        fault_proxy(port_of(cloud), seed=7, share=share) as faults,
        relayed(cloud, job, "h1", ["h2"], url=faults.url, way="long-poll") as first,
        relayed(cloud, job, "h2", ["h1"], url=faults.url, way="long-poll") as other,
    ):
        numbers = set(range(60))
        for number in numbers:
            first.channel("h2").send(number.to_bytes(2, "big") * 500)
            time.sleep(0.005)
        seen: set[int] = set()
        while seen != numbers:
            seen.add(int.from_bytes(fetch(other.channel("h1"), 60)[:2], "big"))
        assert faults.exchanges > 4


def test_a_member_that_does_not_come_costs_bounded_memory(cloud: CloudUnderTest) -> None:
    job = computing_job(cloud)
    with (
        relayed(cloud, job, "h1", ["h2", "h3"]) as first,
        relayed(cloud, job, "h3", ["h1"]) as third,
    ):
        for _ in range(8):
            first.channel("h2").send(bytes(2**22))
        send_and_fetch(first.channel("h3"), third.channel("h1"))
        pairs = cloud.people.get(f"/v1/jobs/{job}/traffic").json()["pairs"]
        absent = next(pair for pair in pairs if pair["receiver"] == "h2")
        assert (absent["frames"], absent["lost"]) == (3, 5)  # an address makes the fourth too many
        with relayed(cloud, job, "h2", ["h1"]) as second:
            assert [len(fetch(second.channel("h1"))) for _ in range(3)] == [2**22] * 3


def test_people_see_sizes_and_times_and_the_cloud_keeps_no_frame(cloud: CloudUnderTest) -> None:
    job = computing_job(cloud)
    with relayed(cloud, job, "h1", ["h2"]) as first, relayed(cloud, job, "h2", ["h1"]) as other:
        send_and_fetch(first.channel("h2"), other.channel("h1"), b"a sealed frame of this test")
        send_and_fetch(first.channel("h2"), other.channel("h1"), b"another one")
    answer = cloud.people.get(f"/v1/jobs/{job}/traffic")
    [pair] = answer.json()["pairs"]
    assert time.time() - pair.pop("latest") < 60
    assert pair == {"sender": "h1", "receiver": "h2", "frames": 2, "bytes": 44, "lost": 0}
    assert cloud.people.get("/v1/jobs/none/traffic").status_code == 404
    assert cloud.people.get(f"/v1/jobs/{job}/traffic", headers={"Authorization": ""}).status_code == 401
    for path in cloud.folder.rglob("*"):
        assert not path.is_file() or b"a sealed frame of this test" not in path.read_bytes()


def test_what_passed_is_added_to_the_jobs_costs(
    cloud: CloudUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = computing_job(cloud)
    with relayed(cloud, job, "h1", ["h2"]) as first, relayed(cloud, job, "h2", ["h1"]) as other:
        send_and_fetch(first.channel("h2"), other.channel("h1"), b"1234567")
        monkeypatch.setattr(relay, "_BOOK_SECONDS", 0.0)
        assert wait_for_costs(cloud, job, 1) == 10
        send_and_fetch(first.channel("h2"), other.channel("h1"), b"1234567")
        monkeypatch.undo()
        set_state(cloud, job, "CANCELLED")
        assert wait_for_costs(cloud, job, 2) == 20


def wait_for_costs(cloud: CloudUnderTest, job: str, count: int) -> int:
    """Bytes of so many frames, once they are booked."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        costs = cloud.people.get(f"/v1/jobs/{job}").json()["costs"]
        for cost in costs:
            if cost["kind"] == "relay:frames" and cost["count"] == count:
                return int(cost["amount"])
        time.sleep(0.1)
    pytest.fail("not booked")


def test_a_connection_that_falls_silent_is_given_up(
    cloud: CloudUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = computing_job(cloud)
    with (
        middlebox(port_of(cloud)) as box,
        relayed(cloud, job, "h1", ["h2"], url=box.url) as first,
        relayed(cloud, job, "h2", ["h1"]) as other,
    ):
        there, back = first.channel("h2"), other.channel("h1")
        send_and_fetch(there, back)
        box.freeze()
        monkeypatch.setattr(websocket, "SILENCE_SECONDS", 1.0)
        monkeypatch.setattr(websocket, "_TICK_SECONDS", 0.2)
        send_until_fetched(there, back)
        assert there.cuts >= 1


@pytest.mark.parametrize("way", WAYS)
def test_the_end_of_the_job_is_told(cloud: CloudUnderTest, way: str) -> None:
    job = computing_job(cloud)
    with (
        relayed(cloud, job, "h1", ["h2"], way=way) as first,
        relayed(cloud, job, "h2", ["h1"], way=way) as other,
    ):
        channel = first.channel("h2")
        send_and_fetch(channel, other.channel("h1"))
        set_state(cloud, job, "CANCELLED")
        with pytest.raises(PeerError, match=r"CANCELLED|is over") as refused:
            fetch(channel, 15)
        assert refused.value.code is ErrorCode.LATE
        with pytest.raises(PeerError):
            channel.send(b"more")


def test_a_newer_connection_of_an_agent_takes_the_place(cloud: CloudUnderTest) -> None:
    job = computing_job(cloud)
    with (
        middlebox(port_of(cloud)) as box,
        relayed(cloud, job, "h2", ["h1"]) as sender,
        relayed(cloud, job, "h1", ["h2"], url=box.url) as old,
    ):
        send_and_fetch(sender.channel("h1"), old.channel("h2"))
        box.port = 1  # so that the old one cannot come back
        with relayed(cloud, job, "h1", ["h2"]) as new:
            end = time.monotonic() + 10
            while old.cuts == 0:
                assert time.monotonic() < end
                time.sleep(0.01)
            send_and_fetch(sender.channel("h1"), new.channel("h2"))


def test_closing_sends_what_is_on_its_way(cloud: CloudUnderTest) -> None:
    job = computing_job(cloud)
    for way in WAYS:
        with relayed(cloud, job, "h1", ["h2"], way=way) as first:
            with relayed(cloud, job, "h2", ["h1"]) as other:
                send_and_fetch(other.channel("h1"), first.channel("h2"))
                other.channel("h1").send(b"farewell")
            assert fetch(first.channel("h2")) == b"farewell"
            with pytest.raises(InternalError, match="closed"):
                other.channel("h1").send(b"too late")
            other.channel("h1").close()
            assert other.channel("h1").fileno() == -1


def test_an_agents_wrong_clock_is_put_right(cloud: CloudUnderTest, monkeypatch: pytest.MonkeyPatch) -> None:
    job = computing_job(cloud)
    for way in WAYS:
        with monkeypatch.context() as patch:

            class Late(datetime):
                @classmethod
                def now(cls, tz: object = None) -> datetime:
                    return datetime.now(UTC) - timedelta(hours=2)

            late = SimpleNamespace(time=lambda: time.time() - 7200, monotonic=time.monotonic)
            patch.setattr(calls, "time", late)
            patch.setattr(connecting, "datetime", Late)
            with relayed(cloud, job, "h1", ["h2"], way=way) as first:
                first.channel("h2").send(b"late")
                with relayed(cloud, job, "h2", ["h1"], way=way) as other:
                    assert fetch(other.channel("h1")) == b"late"


def test_it_goes_through_tls_of_a_private_authority_and_a_proxy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trusted = self_signed(tmp_path)
    with (
        running_cloud(tmp_path, tls_certificate=Path("tls.crt"), tls_key=Path("tls.key")) as cloud,
        connecting_proxy() as proxy,
    ):
        job = computing_job(cloud)
        # No proxy is asked for this machine itself, so the proxy is named as if it were another one.
        monkeypatch.setattr(connecting, "is_loopback", lambda host: False)
        for name in ("http_proxy", "no_proxy", "all_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        for way in WAYS:
            with relayed(cloud, job, "h1", ["h2"], way=way, ca_bundle=trusted) as first:
                monkeypatch.setenv("https_proxy", proxy.url)
                with relayed(cloud, job, "h2", ["h1"], way=way, ca_bundle=trusted) as other:
                    there, back = first.channel("h2"), other.channel("h1")
                    send_and_fetch(there, back)
                    for _ in range(6):
                        there.send(bytes(2**21))
                        back.send(bytes(2**21))
                    assert [len(fetch(back)) for _ in range(6)] == [2**21] * 6
                    assert [len(fetch(there)) for _ in range(6)] == [2**21] * 6
                monkeypatch.delenv("https_proxy")
        assert proxy.tunnels >= 2


def test_an_untrusted_cloud_gets_nothing(tmp_path: Path) -> None:
    self_signed(tmp_path)
    with running_cloud(tmp_path, tls_certificate=Path("tls.crt"), tls_key=Path("tls.key")) as cloud:
        told: list[str] = []
        with relayed(cloud, computing_job(cloud), "h1", ["h2"], told=told) as first:
            first.channel("h2").send(b"frame")
            time.sleep(0.5)
        assert "TLS certificate is not trusted" in told[-1]
