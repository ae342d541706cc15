"""All links of one member in one job: messages of arrays to and from several peers at once, in one thread.

The thread that runs the program also moves its bytes, and only while the program waits: a small round then costs two
sends and two receipts and no change of thread, and big messages in both directions go on side by side, because nothing
here waits for one link alone. While a log of earlier starts is there, messages come from it instead.
"""

from __future__ import annotations

import select
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol, TypeVar

from hospital_agent.links.frame_log import Frame, FrameRecord
from hospital_agent.links.link import Link
from hospital_agent.links.outbox import FramesGoneError
from shared.errors import JobCode, JobFailure, TemporaryError
from shared.ids import AgentId
from shared.mpc.program import Spec
from shared.mpc.ring import Words

T = TypeVar("T")

_TICK_SECONDS: Final = 0.2
"""Longest sleep: for stops, reminders and channels that look for their way."""
_LONGEST_PATIENCE_SECONDS: Final = 15.0
"""At the end, a peer that is not done is asked less and less often, down to once in this time."""
_MOST_REPEATS: Final = 16
"""How often a program is run again for peers that lost their logs; more is no accident."""


class StoppedError(TemporaryError):
    """The computation was told to stop; it goes on from its log at the next start."""


class Doorkeeper(Protocol):
    """Takes connections of peers for the channels that wait for them."""

    def descriptors(self) -> list[int]:
        """What to wait on."""

    def service(self) -> None:
        """Take what has come, without waiting."""

    def close(self) -> None:
        """Take no more."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Whom the program waits for. seconds: since it began to wait; silent_seconds: since the peer was last heard."""

    peer: AgentId
    seconds: float
    silent_seconds: float


class Mesh:
    """The links of one member. Used by one thread, except `stop`.

    Args: patience_seconds: how long one message may keep the program waiting. on_waiting: told now and then while it
        waits for longer than a moment.
    """

    def __init__(
        self,
        links: Sequence[Link],
        log: FrameRecord,
        *,
        patience_seconds: float = 3600.0,
        stop: threading.Event | None = None,
        on_waiting: Callable[[Waiting], None] | None = None,
    ) -> None:
        self._links: Mapping[AgentId, Link] = {link.peer: link for link in links}
        self._by_place = {link.place: link for link in links}
        self._log = log
        self.doorkeeper: Doorkeeper | None = None
        self._patience_seconds = patience_seconds
        self._stop = stop or threading.Event()
        self._on_waiting = on_waiting
        self._told_at = 0.0
        self._replay: Iterator[tuple[int, bytes]] | None = log.replay()
        self._entry: tuple[int, bytes] | None = None
        self.waited_seconds = 0.0
        self._served_all_at = 0.0
        self._watching: object = None
        self._poll = select.poll()
        self._by_descriptor: dict[int, Link] = {}

    @property
    def links(self) -> Mapping[AgentId, Link]:
        """The links by peer: what they refused, when a peer was last heard."""
        return self._links

    @property
    def replays(self) -> bool:
        """Whether messages still come from the log."""
        return self._replay is not None

    @property
    def wire_bytes(self) -> int:
        """Bytes of all frames received live."""
        return sum(link.wire_bytes for link in self._links.values())

    def recognise(self, frame: Frame) -> AgentId | None:
        """The peer whose fresh control frame this is."""
        return next((link.peer for link in self._links.values() if link.recognises(frame)), None)

    # --- messages ---------------------------------------------------------------------------------------------

    def send(self, peer: AgentId, arrays: Sequence[Words]) -> None:
        """One message to one peer; returns when it is on its way. Raises: as `exchange`."""
        self.exchange([(peer, arrays)], [])

    def receive(self, peer: AgentId, specs: Sequence[Spec]) -> tuple[Words, ...]:
        """One message from one peer. Raises: as `exchange`."""
        return self.exchange([], [(peer, specs)])[0]

    def exchange(
        self,
        outgoing: Sequence[tuple[AgentId, Sequence[Words]]],
        incoming: Sequence[tuple[AgentId, Sequence[Spec]]],
    ) -> list[tuple[Words, ...]]:
        """One message to each of some peers and one from each of some, all at once.

        What members send one another at the same time belongs into one exchange: two that first send and then receive
        big messages would each wait for the other to read.

        Args: outgoing, incoming: each peer at most once. The order of messages on a pair is the same at both ends.
        Returns: the arrays received, in the order of `incoming`.
        Raises: JobFailure: `share_inconsistent`: a peer's message has another shape. TemporaryError: a peer was
            silent for longer than the patience, named with the time. StoppedError. FramesGoneError: see `repeatable`.
        """
        self._check_stop()
        senders = [(self._links[peer], arrays) for peer, arrays in outgoing]
        receivers = [self._links[peer] for peer, _ in incoming]
        for link, arrays in senders:
            link.queue(arrays)
            if self._replay is None:
                link.push()
        for link, (_, specs) in zip(receivers, incoming, strict=True):
            link.expect(specs)
        self._until([link for link, _ in senders], receivers)
        self._log.flush()
        return [link.take_message() for link in receivers]

    def _until(self, senders: Sequence[Link], receivers: Sequence[Link]) -> None:
        if _is_done(senders, receivers):
            return
        while self._replay is not None:
            self._step_replay(senders, receivers)
            if _is_done(senders, receivers):
                return
        start = time.monotonic()
        links = dict.fromkeys((*senders, *receivers))
        while not _is_done(senders, receivers):
            self._wait(_TICK_SECONDS, links)
            self._check_patience(start, senders, receivers)
        self.waited_seconds += time.monotonic() - start

    # --- the log ----------------------------------------------------------------------------------------------

    def _step_replay(self, senders: Sequence[Link], receivers: Sequence[Link]) -> None:
        """The next frame of the log for whom it is awaited, then what is to be sent, or the end of the log.

        What is sent is sealed again only behind what was received, since all that stands before the end of the log was
        sealed before, and the peers have it but for the last of it.
        """
        self._check_stop()
        if self._entry is None:
            self._entry = next(self._replay or iter(()), None)
        if self._entry is None:
            self._go_live()
        elif not all(link.complete for link in receivers):
            link = self._by_place.get(self._entry[0])
            if link is None or not link.take_logged(self._entry[1]):
                self._log.cut()
                self._go_live()
            self._entry = None
        else:
            for link in senders:
                link.push()
            if not all(link.sent for link in senders):
                self._wait(_TICK_SECONDS, self._links.values())

    def _go_live(self) -> None:
        self._replay = self._entry = None
        for link in self._links.values():
            link.go_live()

    def rewind(self) -> None:
        """Back to the start: the next messages come from the log again."""
        for link in self._links.values():
            link.rewind()
        self._replay, self._entry = self._log.replay(), None

    # --- waiting ----------------------------------------------------------------------------------------------

    def _wait(self, most_seconds: float, links: Collection[Link]) -> None:
        """Wait until one of these links has something, and serve it; now and then all of them and the door."""
        poll, watched = self._watched(links)
        ready = poll.poll(most_seconds * 1000)
        served = [watched[descriptor] for descriptor, _ in ready if descriptor in watched]
        now = time.monotonic()
        if len(served) < len(ready) or now - self._served_all_at >= _TICK_SECONDS:
            self._served_all_at = now
            if self.doorkeeper is not None:
                self.doorkeeper.service()
            served = list(self._links.values())
        for link in served:
            link.service()

    def _watched(self, links: Collection[Link]) -> tuple[select.poll, dict[int, Link]]:
        """What to wait on; made anew only when something about it has changed."""
        places = [(link.channel.fileno(), link.reads, link.channel.wants_to_write) for link in links]
        doors = [] if self.doorkeeper is None else self.doorkeeper.descriptors()
        now = (places, doors)
        if now != self._watching:
            self._watching = now
            self._poll = select.poll()
            for descriptor, reads, wants_to_write in places:
                if descriptor >= 0:
                    self._poll.register(descriptor, select.POLLIN * reads | select.POLLOUT * wants_to_write)
            for descriptor in doors:
                self._poll.register(descriptor, select.POLLIN)
            self._by_descriptor = {
                place[0]: link for place, link in zip(places, links, strict=True) if place[0] >= 0
            }
        return self._poll, self._by_descriptor

    def _check_patience(self, start: float, senders: Sequence[Link], receivers: Sequence[Link]) -> None:
        now = time.monotonic()
        if now - start < _TICK_SECONDS:
            return
        self._check_stop()
        late = [link for link in receivers if not link.complete] or [
            link for link in senders if not link.sent
        ]
        for link in late:
            link.remind()
        if not late:
            return
        slowest = min(late, key=lambda link: link.last_heard)
        waiting = Waiting(slowest.peer, now - start, now - slowest.last_heard)
        if waiting.seconds > self._patience_seconds:
            raise _too_late(waiting)
        if self._on_waiting is not None and now - self._told_at >= 1.0:
            self._told_at = now
            self._on_waiting(waiting)

    def _check_stop(self) -> None:
        if self._stop.is_set():
            raise StoppedError("the computation was stopped; it goes on from its log at the next start")

    # --- the end ----------------------------------------------------------------------------------------------

    def finish(self, linger_seconds: float) -> bool:
        """After the last message: stay until every peer has everything and is done too, or the time is over.

        Returns: whether all peers have acknowledged everything.
        """
        if self._replay is not None:
            self._go_live()
        for link in self._links.values():
            link.end()
        begun = time.monotonic()
        told_at, patience = -_LONGEST_PATIENCE_SECONDS, _TICK_SECONDS
        while not all(link.all_acknowledged and link.peer_done for link in self._links.values()):
            now = time.monotonic()
            if now - begun >= linger_seconds or self._stop.is_set():
                break
            if now - told_at >= patience:
                told_at, patience = now, min(2 * patience, _LONGEST_PATIENCE_SECONDS)
                for link in self._links.values():
                    link.say(answer=not (link.all_acknowledged and link.peer_done))
            self._wait(_TICK_SECONDS, self._links.values())
        for link in self._links.values():
            link.say()
        self._flush(begun + linger_seconds)
        return all(link.all_acknowledged for link in self._links.values())

    def _flush(self, end: float) -> None:
        while any(link.channel.wants_to_write for link in self._links.values()) and time.monotonic() < end:
            self._wait(_TICK_SECONDS / 10, self._links.values())

    def close(self) -> None:
        """Let go of every connection."""
        if self.doorkeeper is not None:
            self.doorkeeper.close()
        for link in self._links.values():
            link.channel.close()


def _is_done(senders: Sequence[Link], receivers: Sequence[Link]) -> bool:
    for link in receivers:
        if not link.complete:
            return False
    for link in senders:  # noqa: SIM110 - this runs twice a round, and a generator costs as much as all else here
        if not link.sent:
            return False
    return True


def repeatable(mesh: Mesh, routine: Callable[[Mesh], T]) -> T:
    """Run all that a member does over its links, again from the start over the log if a peer lost what it had.

    Args: routine: sends and receives the same messages in the same order each time; everything random in it comes
        from keys that stay the same.
    Raises: JobFailure: `member_lost`: a peer asks for what it had, again and again. Whatever the routine raises.
    """
    for _ in range(_MOST_REPEATS):
        try:
            return routine(mesh)
        except FramesGoneError:
            mesh.rewind()
    raise JobFailure(JobCode.MEMBER_LOST, "a peer lost its log of frames again and again; the job ends here")


def _too_late(waiting: Waiting) -> TemporaryError:
    since = datetime.now(UTC) - timedelta(seconds=waiting.seconds)
    return TemporaryError(
        f"waiting for {waiting.peer} since {since:%Y-%m-%d %H:%M:%S} UTC; it was last heard "
        f"{waiting.silent_seconds:.0f} s ago. See to it that its agent runs and can be reached"
    )
