"""Leases: one holder at a time, by the database's clock; and belief that ends before anybody else's may begin."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from sqlalchemy import text

from cloud_service.service import leases as module
from cloud_service.service.leases import LEASE_SECONDS, ElsewhereError, Leases
from cloud_service.service.tickets import GOOD_SECONDS, NOBODY, TICKET_HEADER, Tickets
from cloud_service.store import leases as store
from cloud_service.store import schema
from cloud_service.store.database import AuditUnavailableError, Database
from shared.crypto.identity import IdentityKey
from shared.errors import PeerError
from shared.ids import AgentId

JOB = "ab" * 16
KEY = IdentityKey.from_raw(b"\x05" * 32)


@dataclass
class Clock:
    """Monotonic seconds that a test moves on."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@contextmanager
def opened(url: str) -> Iterator[Database]:
    database = Database(url)
    try:
        schema.upgrade(database)
        yield database
    finally:
        database.dispose()


def end_all(database: Database) -> None:
    """As if their time had passed at the database."""
    with database.write() as connection:
        connection.execute(text("UPDATE leases SET until = 0"))


def test_one_process_holds_everything(sqlite_url: str) -> None:
    with opened(sqlite_url) as database:
        alone = Leases(database, "")
        assert alone.holds("relay", JOB)
        assert alone.take("relay", JOB) == alone.me == alone.find("relay", JOB)
        assert alone.renew() == set()
        alone.release("relay", JOB)
        alone.release_all()
        assert alone.holds("relay", JOB)


def test_a_lease_has_one_holder_until_it_is_given_up_or_ends(postgres_url: str) -> None:
    with opened(postgres_url) as database:
        one, two = Leases(database, "http://one"), Leases(database, "http://two")
        assert not one.holds("relay", JOB)
        assert one.take("relay", JOB) == one.me == two.take("relay", JOB) == two.find("relay", JOB)
        assert one.holds("relay", JOB)
        assert not two.holds("relay", JOB)
        assert two.take("sum", JOB) == two.me
        one.release("relay", JOB)
        assert not one.holds("relay", JOB)
        assert two.find("relay", JOB) is None
        assert two.take("relay", JOB) == two.me
        end_all(database)
        assert one.take("relay", JOB) == one.me
        assert two.renew() == {("relay", JOB), ("sum", JOB)}
        assert not two.holds("relay", JOB)
        assert one.renew() == set()


def test_belief_ends_by_the_holders_own_clock(postgres_url: str) -> None:
    with opened(postgres_url) as database:
        clock = Clock()
        stalled = Leases(database, "", clock)
        stalled.take("relay", JOB)
        clock.now += LEASE_SECONDS - 0.01
        assert stalled.holds("relay", JOB)
        assert stalled.renew() == set()
        clock.now += LEASE_SECONDS - 0.01
        assert stalled.holds("relay", JOB), "the renewal did not count"
        clock.now += 0.02
        assert not stalled.holds("relay", JOB)
        # Nobody has taken it meanwhile, so it may be taken up again.
        assert stalled.take("relay", JOB) == stalled.me
        assert stalled.holds("relay", JOB)


def test_without_the_database_a_lease_is_kept_to_its_end_only(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_arguments: object) -> set[store.Place]:
        raise AuditUnavailableError

    with opened(postgres_url) as database:
        clock = Clock()
        cut_off = Leases(database, "", clock)
        cut_off.take("relay", JOB)
        monkeypatch.setattr(store, "renew", away)
        clock.now += LEASE_SECONDS / 2
        assert cut_off.renew() == set()
        assert cut_off.holds("relay", JOB)
        clock.now += LEASE_SECONDS
        assert cut_off.renew() == {("relay", JOB)}
        assert not cut_off.holds("relay", JOB)


def test_what_ended_long_ago_is_forgotten(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(postgres_url) as database:
        one = Leases(database, "")
        one.take("relay", JOB)
        end_all(database)
        one.renew()
        monkeypatch.setattr(module, "_FORGET_SECONDS", -1.0)
        one.renew()
        with database.read() as connection:
            assert connection.execute(text("SELECT count(*) FROM leases")).scalar() == 0


def test_a_ticket_is_for_one_replica_job_and_member() -> None:
    clock = Clock(1_700_000_000)
    here = Tickets(KEY, "me", lambda: int(clock.now))
    ticket = Tickets(KEY, "other", lambda: int(clock.now)).write("me", JOB, AgentId("h1"))[TICKET_HEADER]
    assert here.read(ticket, JOB) == "h1"
    assert here.read(here.write("me", JOB)[TICKET_HEADER], JOB) == NOBODY
    with pytest.raises(ElsewhereError):
        Tickets(KEY, "next life", lambda: int(clock.now)).read(ticket, JOB)
    for wrong in ("", "/", ticket[:-1], ticket.replace("/h1/", "/h2/"), f"{ticket}0", "é/" + ticket):
        with pytest.raises(PeerError, match="no ticket"):
            here.read(wrong, JOB)
    with pytest.raises(PeerError, match="no ticket"):
        here.read(ticket, "cd" * 16)
    with pytest.raises(PeerError, match="no ticket"):
        Tickets(IdentityKey.generate(), "me", lambda: int(clock.now)).read(ticket, JOB)
    clock.now += GOOD_SECONDS + 1
    with pytest.raises(PeerError, match="no ticket"):
        here.read(ticket, JOB)
