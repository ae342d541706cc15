"""Hospitals by the hundred in one process, for a real cloud: what it gets is what real hospitals would send.

One hospital of each job, its leader, is real: it takes every step of `shared.protocol.participant`, opens the sums,
checks roster and tag, grows the tree. The others say what it says, in their own names, over their own connections and
signed with their own keys; their contributions are fresh vectors with tag and self mask, packed and encrypted under the
2048-bit key. Left out is what would load this process and not the cloud: masks between pairs (they cancel in the sum),
fresh obfuscators (r^n mod n^2 comes from a pool), records of the others, and their checks of what the cloud sends.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final
from unittest.mock import patch

from bench.load_line import Line
from hospital_agent.cloud.answers import inbox_items
from shared.crypto import agreement
from shared.crypto.derivation import expand_blocks
from shared.crypto.key_holder import KeyHolder
from shared.crypto.paillier import PublicKey
from shared.ids import CLOUD, AgentId
from shared.protocol.agent_effects import Count
from shared.protocol.agent_effects import Step as AgentStep
from shared.protocol.envelopes import Address, Chain, seal, unseal
from shared.protocol.participation import schema_of
from shared.protocol.polling import Poll, sign_poll
from shared.rng import random_bytes
from shared.secure_tree import contribution
from shared.secure_tree.context import RoundContext, hidden_state
from shared.secure_tree.contribution import plain_vector
from shared.secure_tree.masks import self_key
from shared.secure_tree.tag import tag
from shared.tree.counting import count_rows
from shared.wire.base import encode_base64url
from shared.wire.envelope import MessageType
from shared.wire.rounds import Contribution
from tests.support.world import MAX_BYTES, SECRET, UNWRAPPING, HospitalHost, Parties, RawBody, Rows

POOL: Final = 512
WAIT_SECONDS: Final = 25
_RETRY_SECONDS: Final = 0.5
_LATE_STATUSES: Final = frozenset({429, 502, 503, 504})
_JSON: Final = "content-type: application/json\r\n"


@dataclass(frozen=True, slots=True)
class Said:
    """What every hospital says at one point of a job. body: of the leader. context, counts: of a contribution."""

    type: MessageType
    round: int
    attempt: int
    mh: str
    body: dict[str, Any]
    context: RoundContext | None = None
    counts: tuple[int, ...] = field(default=(), repr=False)


@dataclass
class Figures:
    """Seconds: of rounds, from a hospital's round_open to its next news; of messages, from post to receipt."""

    rounds: list[float] = field(default_factory=list)
    messages: list[float] = field(default_factory=list)
    again: int = 0
    jobs: int = 0


class Pool:
    """Ciphertexts from prepared obfuscators."""

    def __init__(self, holder: KeyHolder) -> None:
        self.public: PublicKey = holder.public
        n = self.public.n
        zeros = holder.encrypt([0] * POOL)
        self._obfuscators = [int.from_bytes(zero, "big") for zero in zeros]
        self._n, self._square = n, n * n
        self._bytes = len(zeros[0])
        self._turn = 0

    def encrypt(self, plaintexts: Sequence[int]) -> list[bytes]:
        """As a hospital does, with an obfuscator that was used before."""
        return [self._one(plaintext) for plaintext in plaintexts]

    def _one(self, plaintext: int) -> bytes:
        self._turn = (self._turn + 1) % POOL
        value = (1 + self._n * plaintext) * self._obfuscators[self._turn] % self._square
        return value.to_bytes(self._bytes, "big")


class Leader(HospitalHost):
    """The real hospital of a job; notes the context of each contribution."""

    def __init__(self, parties: Parties, name: AgentId, rows: Rows) -> None:
        super().__init__(parties, name, rows)
        self.noted: dict[tuple[int, int], tuple[RoundContext, tuple[int, ...]]] = {}

    def _count(self, step: AgentStep) -> AgentStep:
        here = step.participation
        for effect in step.effects:
            if isinstance(effect, Count):
                counts = tuple(count_rows(self.rows, effect.queries, schema_of(here.manifest)))
                context = here.context(hidden_state(SECRET, bytes.fromhex(here.mh), here.chained_state))
                self.noted[here.round, here.attempt] = context, counts
        return super()._count(step)

    def answers(self) -> list[Said]:
        """What it has to say since it was last asked, and wrote down as sent."""
        said = []
        for raw in self.outbox:
            envelope = unseal(raw, max_bytes=MAX_BYTES).envelope
            place = envelope.round, envelope.attempt
            noted = self.noted[place] if envelope.type is MessageType.CONTRIBUTION else ()
            said.append(Said(envelope.type, *place, envelope.mh, dict(envelope.body), *noted))
        return said


class Story:
    """One job: what is said after its first message, its second one, and so on, by everybody."""

    def __init__(self, leader: Leader) -> None:
        self.leader = leader
        self._said: list[asyncio.Future[list[Said]]] = []
        self._own: dict[int, list[bytes]] = {}

    def after(self, position: int) -> asyncio.Future[list[Said]]:
        """What follows the message at that position."""
        while len(self._said) <= position:
            self._said.append(asyncio.get_running_loop().create_future())
        return self._said[position]

    def lead(self, position: int, raw: bytes) -> list[bytes]:
        """The leader takes the message; its own envelopes."""
        self.leader.take(position, raw)
        if self.leader.refused or self.leader.failures:
            raise RuntimeError(f"the leader does not go on: {[*self.leader.refused, *self.leader.failures]}")
        self.after(position).set_result(self.leader.answers())
        own, self.leader.outbox = self.leader.outbox, []
        return own


@dataclass
class Place:
    """Where a hospital is in one job. chain: of its own messages. opened: when it was told of the open round."""

    chain: Chain = field(default_factory=Chain)
    position: int = 0
    opened: float = 0.0
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


class Hospital:
    """One simulated hospital: polls, says, waits. lines: connections for what it says."""

    def __init__(self, load: Load, name: AgentId, lines: int) -> None:
        self._load = load
        self._name = name
        self._signer = load.parties.identities[name]
        self._polling = Line(*load.place)
        self._lines = [Line(*load.place) for _ in range(lines)]
        self._turns = asyncio.Semaphore(lines)
        self._places: dict[str, Place] = {}
        self._works: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """For ever."""
        while True:
            after = self._load.cursors.get(self._name, 0)
            poll = sign_poll(Poll(agent=self._name, after=after, time=int(time.time())), self._signer)
            path = f"/v1/inbox?after={after}&wait={WAIT_SECONDS}"
            answer = await self._insist(self._polling, "GET", path, f"privet-poll: {poll}\r\n", b"")
            came = time.monotonic()
            for number, job, kind, raw in _items(answer):
                self._load.cursors[self._name] = number
                work = asyncio.create_task(self._take(job, kind, raw, came))
                self._works.add(work)
                work.add_done_callback(self._ended)

    def _ended(self, work: asyncio.Task[None]) -> None:
        self._works.discard(work)
        if not work.cancelled() and work.exception() is not None:
            self._load.fail(work.exception())

    async def _take(self, job: str, kind: str, raw: bytes, came: float) -> None:
        story, place = self._load.story(job), self._places.setdefault(job, Place())
        position, place.position = place.position, place.position + 1
        self._time(place, kind, came)
        async with place.turn:
            if story.leader.name == self._name:
                for own in story.lead(position, raw):
                    await self._post(own)
            else:
                for said in await story.after(position):
                    await self._post(self._say(place, job, said))
        if kind == MessageType.JOB_DONE:
            del self._places[job]
            self._load.finished(job)

    def _time(self, place: Place, kind: str, came: float) -> None:
        if kind in (MessageType.ROUND_OPEN, MessageType.JOB_DONE) and place.opened:
            self._load.figures.rounds.append(came - place.opened)
        if kind == MessageType.ROUND_OPEN:
            place.opened = came

    def _say(self, place: Place, job: str, said: Said) -> bytes:
        address = Address(said.type, job, said.mh, said.round, said.attempt, self._name, CLOUD)
        sealed = seal(self._signer, address, place.chain, RawBody(self._body(said)))  # type: ignore[arg-type]
        place.chain = place.chain.after(sealed.sha256)
        return sealed.raw

    def _body(self, said: Said) -> dict[str, Any]:
        if said.type is MessageType.JOB_ACCEPT:
            own = agreement.public_of(agreement.generate_private())
            return {**said.body, "ephemeral": encode_base64url(own)}
        if said.context is not None:
            return self._load.contribution(self._name, said).model_dump(mode="json")
        return said.body

    async def _post(self, raw: bytes) -> None:
        async with self._turns:
            line = self._lines.pop()
            try:
                began = time.monotonic()
                await self._insist(line, "POST", "/v1/messages", _JSON, raw)
                self._load.figures.messages.append(time.monotonic() - began)
            finally:
                self._lines.append(line)

    async def _insist(self, line: Line, method: str, path: str, headers: str, body: bytes) -> bytes:
        """Ask until it is answered."""
        while True:
            try:
                status, content = await line.ask(method, path, headers, body)
            except (OSError, asyncio.IncompleteReadError):
                status, content = 503, b""
            if status == 200:
                return content
            if status not in _LATE_STATUSES:
                raise RuntimeError(f"{path} answers {status}: {content[:300]!r}")
            self._load.figures.again += 1
            await asyncio.sleep(_RETRY_SECONDS)


class Load:
    """Some hospitals of a federation at a running cloud. rows: the leader's records, and everybody's counts.

    lines: connections of each hospital for what it says. cursors: where each is in its inbox, kept from load to load.
    """

    def __init__(
        self,
        parties: Parties,
        names: Sequence[AgentId],
        pool: Pool,
        place: tuple[str, int],
        rows: Rows,
        lines: int,
        cursors: dict[AgentId, int],
    ) -> None:
        self.cursors = cursors
        self.parties = parties
        self.place = place
        self.figures = Figures()
        self._names = names
        self._rows = rows
        self._pool = pool
        self._lines = lines
        self._begun = 0
        self._stories: dict[str, Story] = {}
        self._left: dict[str, int] = {}
        self._failed: asyncio.Future[None] | None = None
        self._works: list[asyncio.Task[None]] = []

    def story(self, job: str) -> Story:
        """Of a job; its leader is the first hospital, another one for each job by turns."""
        if job not in self._stories:
            name = self._names[self._begun % len(self._names)]
            self._begun += 1
            self._stories[job] = Story(Leader(self.parties, name, self._rows))
            self._left[job] = len(self._names)
        return self._stories[job]

    def finished(self, job: str) -> None:
        """One hospital more is at the end of the job."""
        self._left[job] -= 1
        if not self._left[job]:
            self.figures.jobs += 1
            del self._stories[job], self._left[job]

    def fail(self, fault: BaseException | None) -> None:
        """Something went wrong in a hospital: the run ends."""
        if self._failed is not None and not self._failed.done() and fault is not None:
            self._failed.set_exception(fault)

    def contribution(self, name: AgentId, said: Said) -> Contribution:
        """A fresh one."""
        context, seed, public = said.context, random_bytes(32), self._pool.public
        if context is None:
            raise RuntimeError("a contribution without its context")
        plaintexts = plain_vector(context, name, said.counts, public.bits)
        plaintexts.append(tag(context, SECRET, plaintexts, public.n))
        masks = expand_blocks(self_key(context, name, seed), len(plaintexts), public.n.bit_length())
        hidden = self._pool.encrypt([(x + m) % public.n for x, m in zip(plaintexts, masks, strict=True)])
        wrapped = UNWRAPPING.public.wrap(seed, context.seed_label(name))
        return Contribution(
            ciphertexts=[encode_base64url(ciphertext) for ciphertext in hidden],
            seed=encode_base64url(wrapped),
            head=said.body["head"],
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """All hospitals take part while the context lasts."""
        self._failed = asyncio.get_running_loop().create_future()
        self._works = [asyncio.create_task(Hospital(self, name, self._lines).run()) for name in self._names]
        try:
            yield
        finally:
            for work in self._works:
                work.cancel()
            await asyncio.gather(*self._works, return_exceptions=True)

    async def until(self, jobs: int) -> None:
        """Until so many jobs are over at every hospital. Raises: whatever went wrong in one."""
        while self.figures.jobs < jobs:
            self.check()
            await asyncio.sleep(0.02)

    def check(self) -> None:
        """Raises: whatever went wrong in a hospital."""
        for work in (*self._works, self._failed):
            if work is not None and work.done():
                work.result()


@lru_cache(maxsize=256)
def _items(answer: bytes) -> tuple[tuple[int, str, str, bytes], ...]:
    """Number, job, type and bytes of each message of an inbox's answer, which is the same for many hospitals."""
    found = []
    for number, raw, kind in inbox_items(answer):
        found.append((number, unseal(raw, max_bytes=MAX_BYTES).envelope.job, kind, raw))
    return tuple(found)


@contextmanager
def without_pair_masks() -> Iterator[None]:
    """The leader masks as the others do."""

    def self_mask(
        context: RoundContext,
        own: AgentId,
        seed: bytes,
        _private: bytes,
        _peers: object,
        count: int,
        modulus: int,
    ) -> list[int]:
        return expand_blocks(self_key(context, own, seed), count, modulus.bit_length())

    with patch.object(contribution, "mask_vector", self_mask):
        yield
