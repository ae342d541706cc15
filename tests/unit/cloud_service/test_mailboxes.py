"""Frames that wait at the cloud: order, bounds, back-pressure, loss."""

from __future__ import annotations

import asyncio

import pytest

from cloud_service.service import mailboxes
from cloud_service.service.mailboxes import HELD_BYTES, Mailbox, Store
from shared.ids import AgentId

H1, H2 = AgentId("h1"), AgentId("h2")
LARGE = bytes(HELD_BYTES // 4)


def box(limit: int = 2**30) -> Mailbox:
    return Mailbox(Store(limit), lambda: 1234)


async def fill(mailbox: Mailbox, sender: AgentId = H1, times: int = 4) -> None:
    for _ in range(times):
        await mailbox.put(sender, LARGE)


async def soon(task: asyncio.Task[None]) -> bool:
    """Whether it ends within a moment."""
    done, _ = await asyncio.wait([task], timeout=0.05)
    return bool(done)


def test_parcels_come_in_order_and_are_counted() -> None:
    async def play() -> None:
        mailbox = box()
        for number in range(5):
            await mailbox.put(H1 if number % 2 else H2, b"%d" % number)
        assert mailbox.take(10) == [b"0", b"1"]  # a length of four bytes before each
        assert mailbox.take(1) == [b"2"]
        assert mailbox.take(1000) == [b"3", b"4"]
        assert mailbox.take(1000) == []
        figures = mailbox.figures[H2]
        assert (figures.frames, figures.bytes, figures.lost, figures.latest) == (3, 3, 0, 1234)

    asyncio.run(play())


def test_without_a_reader_what_does_not_fit_is_lost_at_once() -> None:
    async def play() -> None:
        mailbox = box()
        await fill(mailbox)
        await mailbox.put(H1, b"one too many")
        await mailbox.put(H2, b"of another sender")
        assert (mailbox.figures[H1].lost, mailbox.figures[H2].lost) == (1, 0)
        assert len(mailbox.take(2**30)) == 5

    asyncio.run(play())


def test_a_reader_that_takes_holds_the_sender_back() -> None:
    async def play() -> None:
        mailbox = box()
        mailbox.attach(asyncio.Event())
        await fill(mailbox)
        more = asyncio.create_task(fill(mailbox, times=3))
        assert not await soon(more)
        mailbox.take(len(LARGE))
        assert not await soon(more)
        mailbox.take(2**30)
        assert await soon(more)
        assert mailbox.figures[H1].lost == 0
        assert mailbox.figures[H1].frames == 7

    asyncio.run(play())


def test_a_reader_that_takes_nothing_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mailboxes, "PATIENCE_SECONDS", 0.1)

    async def play() -> None:
        mailbox = box()
        mailbox.attach(asyncio.Event())
        began = asyncio.get_running_loop().time()
        await fill(mailbox, times=50)
        assert asyncio.get_running_loop().time() - began < 0.5
        assert mailbox.figures[H1].lost == 46
        mailbox.take(2**30)
        waiting = asyncio.create_task(fill(mailbox, times=5))
        assert not await soon(waiting)
        mailbox.take(1)
        assert await soon(waiting)

    asyncio.run(play())


def test_a_reader_that_goes_lets_the_senders_go() -> None:
    async def play() -> None:
        mailbox, news = box(), asyncio.Event()
        mailbox.attach(news)
        await fill(mailbox)
        more = asyncio.create_task(fill(mailbox, times=1))
        assert not await soon(more)
        mailbox.detach(news)
        assert await soon(more)
        assert mailbox.figures[H1].lost == 1

    asyncio.run(play())


def test_a_newer_reader_takes_the_place_of_an_older() -> None:
    async def play() -> None:
        mailbox, old, new = box(), asyncio.Event(), asyncio.Event()
        mailbox.attach(old)
        old.clear()
        mailbox.attach(new)
        assert old.is_set()
        assert not mailbox.is_reader(old)
        mailbox.detach(old)
        assert mailbox.is_reader(new)

    asyncio.run(play())


def test_all_mailboxes_together_are_bounded() -> None:
    async def play() -> None:
        store = Store(2 * len(LARGE))
        first, second = Mailbox(store, lambda: 0), Mailbox(store, lambda: 0)
        await fill(first, times=1)
        await fill(second, times=2)
        assert second.figures[H1].lost == 1
        first.take_batch(0, 2**30)
        await fill(second, times=1)
        assert second.figures[H1].lost == 2
        first.take_batch(1, 2**30)
        await fill(second, times=1)
        assert second.figures[H1].lost == 2
        second.close()
        assert store.held == 0

    asyncio.run(play())


def test_a_closed_mailbox_holds_nothing_and_nobody() -> None:
    async def play() -> None:
        mailbox, news = box(), asyncio.Event()
        mailbox.attach(news)
        await fill(mailbox)
        waiting = asyncio.create_task(fill(mailbox, times=1))
        assert not await soon(waiting)
        mailbox.close()
        assert await soon(waiting)
        assert news.is_set()
        assert mailbox.take(2**30) == []
        await mailbox.put(H1, b"late")
        assert mailbox.take_batch(0, 2**30) == (0, [])

    asyncio.run(play())
