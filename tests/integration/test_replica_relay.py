"""Sealed frames over two replicas: each member talks to another one, and the frames meet at the job's home."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from sqlalchemy import text

from cloud_service.service.relay import LEASE
from cloud_service.service.tickets import TICKET_HEADER, Tickets
from hospital_agent.links.relayed import RelayedChannel
from shared.crypto.identity import IdentityKey
from shared.errors import PeerError
from shared.ids import CLOUD, AgentId
from tests.support.certificates import self_signed
from tests.support.cloud_server import CloudUnderTest
from tests.support.databases import postgres_database
from tests.support.relays import call_of, computing_job, fetch, relayed, set_state
from tests.support.replicas import twin_clouds
from tests.support.waiting import until

Pair = tuple[CloudUnderTest, CloudUnderTest]
WAYS = ("websocket", "long-poll")
H1, H2 = AgentId("h1"), AgentId("h2")
BATCH = {"content-type": "application/octet-stream"}


@pytest.fixture(scope="module")
def clouds(postgres_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with (
        postgres_database(postgres_server) as url,
        twin_clouds(tmp_path_factory.mktemp("twins"), url) as both,
    ):
        yield both


def send_until_fetched(one: RelayedChannel, other: RelayedChannel, frame: bytes) -> None:
    """As links do: what was lost with a mailbox is sent again."""
    found: list[bytes] = []

    def came() -> bool:
        one.send(frame)
        wait = time.monotonic() + 0.5
        while time.monotonic() < wait and frame not in found:
            received = other.receive()
            if received is not None:
                found.append(bytes(received))
            time.sleep(0.01)
        return frame in found

    until(came, "the frame does not come")


def fetch_all(channel: RelayedChannel) -> None:
    """Whatever still comes; some of it was sent again."""
    while True:
        fetch(channel, 15)


@pytest.mark.parametrize("way", WAYS)
def test_members_at_different_replicas_meet(clouds: Pair, way: str) -> None:
    first, second = clouds
    job = computing_job(first)
    with (
        relayed(first, job, "h1", ["h2"], way=way) as one,
        relayed(first, job, "h2", ["h1"], way=way, url=second.base_url) as other,
    ):
        there, back = one.channel(H2), other.channel(H1)
        for size in (1, 2**16, 2**22 + 2**12):
            there.send(bytes([size % 251]) * size)
            assert fetch(back) == bytes([size % 251]) * size
            back.send(b"!" * size)
            assert fetch(there) == b"!" * size
    answers = [cloud.people.get(f"/v1/jobs/{job}/traffic").json() for cloud in clouds]
    assert answers[0] == answers[1]
    assert {pair["frames"] for pair in answers[0]["pairs"]} == {3}
    assert [cloud.services.leases.holds(LEASE, job) for cloud in clouds].count(True) == 1


@pytest.mark.parametrize("way", WAYS)
def test_a_home_that_lost_its_lease_gives_its_members_up(clouds: Pair, way: str) -> None:
    first, second = clouds
    job = computing_job(first)
    with (
        relayed(first, job, "h1", ["h2"], way=way) as one,
        relayed(first, job, "h2", ["h1"], way=way, url=second.base_url) as other,
    ):
        there, back = one.channel(H2), other.channel(H1)
        send_until_fetched(there, back, b"before")
        old, new = clouds if first.services.leases.holds(LEASE, job) else (second, first)
        me = new.services.leases.me
        with first.services.database.write() as connection:
            row = {"holder": me.replica, "address": me.address, "job": job}
            connection.execute(
                text("UPDATE leases SET holder = :holder, address = :address WHERE job = :job"), row
            )
        until(lambda: not old.services.leases.holds(LEASE, job), "the old home believes in its lease")
        send_until_fetched(there, back, b"after")
        send_until_fetched(back, there, b"and back")
        assert new.services.leases.holds(LEASE, job)


def test_members_hear_of_the_end_at_either_replica(clouds: Pair) -> None:
    first, second = clouds
    job = computing_job(first)
    with (
        relayed(first, job, "h1", ["h2"]) as one,
        relayed(first, job, "h2", ["h1"], url=second.base_url) as other,
    ):
        send_until_fetched(one.channel(H2), other.channel(H1), b"frame")
        set_state(first, job, "CANCELLED")
        for channel in (one.channel(H2), other.channel(H1)):
            with pytest.raises(PeerError, match=r"CANCELLED|is over"):
                fetch_all(channel)
    answers = [cloud.people.get(f"/v1/jobs/{job}/traffic").json()["pairs"] for cloud in clouds]
    assert answers[0] == answers[1] != []


def test_only_replicas_of_this_cloud_pass_anything_on(clouds: Pair) -> None:
    first, _ = clouds
    job, me = computing_job(first), first.services.leases.me.replica
    now = first.services.tickets
    stranger = Tickets(IdentityKey.generate(), me, lambda: int(time.time()))
    late = Tickets(first.parties.identities[CLOUD], me, lambda: int(time.time()) - 120)
    good = now.write(me, job, AgentId("h1"))[TICKET_HEADER]
    tried = {
        "another key": stranger.write(me, job, AgentId("h1"))[TICKET_HEADER],
        "an old one": late.write(me, job, AgentId("h1"))[TICKET_HEADER],
        "another job's": now.write(me, "ab" * 16, AgentId("h1"))[TICKET_HEADER],
        "another member": good.replace("/h1/", "/h2/"),
        "nothing": "/",
    }
    with httpx2.Client(base_url=first.base_url, trust_env=False) as http:
        for what, ticket in tried.items():
            headers = {**call_of(first, job, "h1"), **BATCH, TICKET_HEADER: ticket}
            answer = http.post(f"/v1/jobs/{job}/frames", headers=headers, content=b"")
            assert (answer.status_code, answer.json()["code"]) == (401, "bad_signature"), what
        # Meant for a replica that had this address before, and for one that is not the job's home.
        elsewhere = now.write("cd" * 8, job, AgentId("h1"))
        headers = {**call_of(first, job, "h1"), **elsewhere}
        assert http.get(f"/v1/jobs/{job}/frames", headers=headers).status_code == 503
        headers = {**call_of(first, job, "h1"), TICKET_HEADER: good}
        assert http.get(f"/v1/jobs/{job}/frames", headers=headers).status_code == 503
        # The control: with the home here, the same ticket opens the door.
        assert http.get(f"/v1/jobs/{job}/frames", headers=call_of(first, job, "h1")).status_code == 200
        assert first.services.leases.holds(LEASE, job)
        assert http.get(f"/v1/jobs/{job}/frames", headers=headers).status_code == 200


def test_a_home_without_an_address_is_not_reached(clouds: Pair) -> None:
    first, second = clouds
    job = computing_job(first)
    until = int((time.time() + 5) * 1000)
    with first.services.database.write() as connection:
        connection.execute(
            text("INSERT INTO leases VALUES ('relay', :job, 'nobody', '', :until)"),
            {"job": job, "until": until},
        )
    for cloud in clouds:
        with httpx2.Client(base_url=cloud.base_url, trust_env=False) as http:
            answer = http.get(f"/v1/jobs/{job}/frames", headers=call_of(first, job, "h1"))
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert cloud.people.get(f"/v1/jobs/{job}/traffic").json() == {"pairs": []}
    assert second.services.relay.figures(job) == {}


@pytest.mark.parametrize("trusts", [True, False])
def test_replicas_on_several_machines_speak_tls(postgres_url: str, tmp_path: Path, trusts: bool) -> None:
    folder = tmp_path / "twins"
    folder.mkdir()
    trusted = self_signed(folder)
    tls = {"tls_certificate": Path("tls.crt"), "tls_key": Path("tls.key")}
    known = {"ca_bundle": trusted} if trusts else {}
    with twin_clouds(folder, postgres_url, replica=known, **tls) as (first, second):
        job = computing_job(first)
        assert first.services.leases.take(LEASE, job) == first.services.leases.me
        context = ssl.create_default_context(cafile=str(trusted))
        with httpx2.Client(base_url=second.base_url, verify=context, trust_env=False) as http:
            answer = http.get(f"/v1/jobs/{job}/frames", headers=call_of(first, job, "h1"))
        if not trusts:
            assert answer.status_code == 503
            return
        assert answer.status_code == 200
        with (
            relayed(first, job, "h1", ["h2"], ca_bundle=trusted) as one,
            relayed(first, job, "h2", ["h1"], ca_bundle=trusted, url=second.base_url) as other,
        ):
            one.channel(H2).send(b"frame")
            assert fetch(other.channel(H1)) == b"frame"
