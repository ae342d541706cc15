"""The relay: which members of a job may pass sealed frames to one another, and their mailboxes.

Frames live in the memory of one process only: of the replica that holds the job's lease, its home. Every replica
admits members, and passes on to the home what it is not itself (`cloud_service.api.passing`). The database is asked
when a member comes and every `CHECK_SECONDS` afterwards, never for a frame. `admit`, `find_home`, `check` and
`keep_homes` may run in any thread; mailboxes belong to the event loop.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import structlog

from cloud_service.service.admission import Admission
from cloud_service.service.leases import ElsewhereError, Leases
from cloud_service.service.mailboxes import Mailbox, PairFigures, Store
from cloud_service.service.meters import count_frame
from cloud_service.service.notifier import Notifier
from cloud_service.service.presence import Presence
from cloud_service.service.rates import Rates
from cloud_service.store import jobs, journal
from cloud_service.store.database import Database
from cloud_service.store.leases import Holder
from shared.errors import ErrorCode, PeerError
from shared.ids import AgentId
from shared.protocol.polling import read_call, verify_call
from shared.wire.relay import as_parcel, read_parcel

_log = structlog.get_logger()
CHECK_SECONDS: Final = 2.0
"""So long at most a cancelled job's frames go on."""
REQUESTS_FACTOR: Final = 10
"""How many times as often as other requests these may come: a round of a job is at least two of them."""
_USES_SECONDS: Final = 60
"""How long a call that was verified is recognised by its text; agents send the same one for as long."""
_BOOK_SECONDS: Final = 15.0
"""How often what passed is added to the job's costs."""
_MAX_CALLS: Final = 10_000
_KEEP_SECONDS: Final = 600
"""How long the figures of a job that is over can still be seen here."""
LEASE: Final = "relay"
"""The kind of the leases that name a job's home."""
_HOME_SECONDS: Final = 5.0
"""How long a home elsewhere is believed in without being asked for again."""
RELAYING_STATES: Final = frozenset({"COMPUTING"})
"""In these, members of the roster may send to one another; others are told `late`."""


@dataclass(slots=True)
class Room:
    """One running job.

    keys: Ed25519 public keys of the roster's members. calls: verified ones, with their signer and when. over: why
    nobody may send any more. booked: frames and bytes that the job's costs hold already, and when they were added.
    home: another replica that has the mailboxes, and when that was read. guests: connections passed on to it.
    """

    job: str
    keys: Mapping[AgentId, bytes]
    mailboxes: dict[AgentId, Mailbox] = field(default_factory=dict)
    calls: dict[str, tuple[AgentId, float]] = field(default_factory=dict)
    over: str = ""
    over_since: float = 0.0
    booked: tuple[int, int] = (0, 0)
    booked_at: float = field(default_factory=time.monotonic)
    home: Holder | None = None
    home_seen: float = 0.0
    guests: int = 0


class Relay:
    """Rooms by job."""

    def __init__(
        self,
        database: Database,
        admission: Admission,
        rates: Rates,
        presence: Presence,
        leases: Leases,
        notifier: Notifier,
        clock: Callable[[], int],
    ) -> None:
        self._database = database
        self._admission = admission
        self._rates = rates
        self._presence = presence
        self._leases = leases
        self._notifier = notifier
        self._clock = clock
        self._rooms: dict[str, Room] = {}
        self._lock = threading.Lock()
        self._store = Store()
        self._loop: asyncio.AbstractEventLoop | None = None

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """The loop on which frames pass."""
        self._loop = loop

    def detach(self) -> None:
        """The loop ends."""
        self._loop = None

    def is_known(self, job: str) -> bool:
        """Whether `admit` will not need the database."""
        return job in self._rooms

    def admit(self, header: str, job: str) -> AgentId:
        """Whose call it is, and that it may use the relay in this job.

        Raises: PeerError: `malformed`, `bad_signature`; `roster_mismatch`: no member of a job of that id; `late`: the
            job is not computing. RateLimitedError.
        """
        agent = self._recognise(header, job) or self._verify(header, job)
        self._presence.saw(agent)
        self._rates.spend(agent)
        return agent

    def _recognise(self, header: str, job: str) -> AgentId | None:
        """Long polls come some hundred times a second with the same call; verifying it once is enough."""
        room = self._rooms.get(job)
        known = room.calls.get(header) if room is not None and not room.over else None
        if room is None or known is None:
            return None
        agent, _ = known
        return agent if agent in room.keys and _is_fresh(known) else None

    def _verify(self, header: str, job: str) -> AgentId:
        call, signature = read_call(header)
        if call.job != job:
            raise PeerError(ErrorCode.BAD_SIGNATURE, "the signed job is not the one in the request")
        room = self._rooms.get(job) or self._open(job)
        key = room.keys.get(AgentId(call.agent))
        if key is None:
            raise _stranger()
        verify_call(call, signature, key, self._clock())
        if room.over:
            raise PeerError(ErrorCode.LATE, room.over)
        agent = AgentId(call.agent)
        if len(room.calls) >= _MAX_CALLS:
            room.calls.clear()
        room.calls[header] = agent, time.monotonic()
        return agent

    def let_in(self, agent: AgentId, job: str) -> AgentId:
        """A member whose call another replica has admitted. Raises: PeerError: `roster_mismatch`, `late`."""
        room = self._rooms.get(job) or self._open(job)
        if agent not in room.keys:
            raise _stranger()
        if room.over:
            raise PeerError(ErrorCode.LATE, room.over)
        return agent

    def known_home(self, job: str) -> Holder | None:
        """Where the job's mailboxes are, as far as no database is needed to tell."""
        if self._leases.holds(LEASE, job):
            return self._leases.me
        room = self._rooms.get(job)
        if room is None or time.monotonic() - room.home_seen > _HOME_SECONDS:
            return None
        return room.home

    def find_home(self, job: str) -> Holder:
        """The same by the database; a job that has no home has it here from now on.

        Raises: ElsewhereError: it moves just now, or this replica stops.
        """
        # A replica that stops gives all homes up, so it takes none.
        stops = self._notifier.is_draining
        home = self._leases.find(LEASE, job) if stops else self._leases.take(LEASE, job)
        if home is None:
            raise ElsewhereError
        if home != self._leases.me and (room := self._rooms.get(job)) is not None:
            room.home, room.home_seen = home, time.monotonic()
        return home

    def seen_home(self, job: str) -> Holder | None:
        """Where the job's mailboxes are; None: nowhere. For who only looks."""
        return self.known_home(job) or self._leases.find(LEASE, job)

    def is_here(self, home: Holder) -> bool:
        """Whether that is this replica."""
        return home == self._leases.me

    def doubt_home(self, job: str, home: Holder) -> None:
        """It did not answer: look again before the next request."""
        room = self._rooms.get(job)
        if room is not None and room.home == home:
            room.home = None

    @contextmanager
    def guest(self, job: str, home: Holder) -> Iterator[Coroutine[Any, Any, None]]:
        """While a connection is passed on: what ends when its home moves or the server stops."""
        room = self._running(job)
        room.guests += 1
        try:
            with self._notifier.listening(_moving(job)) as news:
                yield self._until_moved(room, home, news)
        finally:
            room.guests -= 1

    async def _until_moved(self, room: Room, home: Holder, news: asyncio.Event) -> None:
        while room.home == home and not self._notifier.is_closed:
            await news.wait()
            news.clear()

    def keep_homes(self) -> None:
        """Keep the leases; leave the mailboxes of those that are lost, and look where homes elsewhere have gone."""
        for kind, job in self._leases.renew():
            if kind == LEASE:
                self._leave(job)
        for job, room in list(self._rooms.items()):
            if room.guests and not room.over:
                home = self._leases.find(LEASE, job)
                if home != room.home:
                    room.home = None
                    self._notifier.wake_here([_moving(job)])
                else:
                    room.home_seen = time.monotonic()

    def leave_homes(self) -> None:
        """Give all leases up: this replica stops."""
        self._leases.release_all()

    def _leave(self, job: str) -> None:
        room = self._rooms.get(job)
        if room is not None and not room.over:
            _log.warning("frames left to another replica", job=job)
            self._on_loop(_move_mailboxes, room)

    def mailbox(self, job: str, agent: AgentId) -> Mailbox:
        """Where frames for that member wait.

        Raises: PeerError: `late`: the job is over since. ElsewhereError: its home is not here any more.
        """
        room = self._running(job)
        if not self._leases.holds(LEASE, job):
            raise ElsewhereError
        mailbox = room.mailboxes.get(agent)
        if mailbox is None or mailbox.has_moved:
            figures = {} if mailbox is None else mailbox.figures
            mailbox = room.mailboxes[agent] = Mailbox(self._store, self._clock, figures)
        return mailbox

    async def pass_on(self, job: str, sender: AgentId, parcel: bytes | memoryview) -> None:
        """One parcel from a member to the one that it names.

        Raises: PeerError: `malformed`, `too_large`; `roster_mismatch`: from or to nobody of the roster; `late`.
        """
        receiver, frame = read_parcel(parcel)
        keys = self._running(job).keys
        if sender not in keys:
            raise _stranger()
        if receiver not in keys or receiver == sender:
            raise PeerError(ErrorCode.ROSTER_MISMATCH, "a frame is for another member of the job's roster")
        await self.mailbox(job, receiver).put(sender, as_parcel(sender, frame))
        count_frame(len(frame))

    def figures(self, job: str) -> dict[tuple[AgentId, AgentId], PairFigures]:
        """What passed in this process, by sender and receiver; empty for a job that never used it."""
        room = self._rooms.get(job)
        if room is None:
            return {}
        found = [(to, mailbox.figures) for to, mailbox in list(room.mailboxes.items())]
        return {(sender, to): pair for to, figures in found for sender, pair in list(figures.items())}

    def check(self) -> None:
        """Close the rooms of jobs that are not computing any more, and forget them after a while.

        Until then their lease is kept, so that other replicas know where to ask for their figures.
        """
        for job, room in list(self._rooms.items()):
            if room.over:
                if time.monotonic() - room.over_since > _KEEP_SECONDS:
                    self._rooms.pop(job, None)
                    self._leases.release(LEASE, job)
                continue
            state, keys = self._look_up(job)
            if state not in RELAYING_STATES:
                room.over, room.over_since = _not_computing(state), time.monotonic()
                self._on_loop(_close_mailboxes, room)
                self._book(room)
            else:
                room.keys = keys
                room.calls = {header: known for header, known in list(room.calls.items()) if _is_fresh(known)}
                if time.monotonic() - room.booked_at > _BOOK_SECONDS:
                    self._book(room)

    def _book(self, room: Room) -> None:
        pairs = self.figures(room.job).values()
        frames, size = sum(pair.frames for pair in pairs), sum(pair.bytes for pair in pairs)
        new = journal.Cost("relay:frames", frames - room.booked[0], size - room.booked[1])
        room.booked_at = time.monotonic()
        if new.count:
            with self._database.write() as connection:
                journal.add_costs(connection, room.job, [new])
            room.booked = frames, size

    def _running(self, job: str) -> Room:
        room = self._rooms.get(job)
        if room is None or room.over:
            raise PeerError(ErrorCode.LATE, room.over if room else _not_computing("over"))
        return room

    def _open(self, job: str) -> Room:
        state, keys = self._look_up(job)
        if not keys:
            raise _stranger()
        if state not in RELAYING_STATES:
            # Not kept: it may come to that state yet. The caller's signature is checked against the room given back.
            return Room(job, keys, over=_not_computing(state))
        with self._lock:
            return self._rooms.setdefault(job, Room(job, keys))

    def _look_up(self, job: str) -> tuple[str, dict[AgentId, bytes]]:
        with self._database.read() as connection:
            found = jobs.seats(connection, job)
            if found is None:
                return "unknown", {}
            state, certificates = found
            keys: dict[AgentId, bytes] = {}
            for agent, certificate in certificates.items():
                try:
                    keys[agent] = self._admission.seated(connection, agent, certificate).public_key
                except PeerError:
                    continue  # no member of the federation any more: refused like any stranger
        return state, keys

    def _on_loop(self, work: Callable[[Room], None], room: Room) -> None:
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(work, room)


def _is_fresh(known: tuple[AgentId, float]) -> bool:
    return time.monotonic() - known[1] < _USES_SECONDS


def _close_mailboxes(room: Room) -> None:
    for mailbox in room.mailboxes.values():
        mailbox.close()


def _move_mailboxes(room: Room) -> None:
    for mailbox in room.mailboxes.values():
        mailbox.move()


def _moving(job: str) -> str:
    return f"home {job}"


def _stranger() -> PeerError:
    return PeerError(ErrorCode.ROSTER_MISMATCH, "the caller is no member of a running job of that id")


def _not_computing(state: str) -> str:
    return f"frames pass while a job is COMPUTING; this one is {state}. Read the inbox for how it stands"
