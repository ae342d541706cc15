"""Every run of a small job: all interleavings of the product's own steps, with what a network and people can do.

The steps are `tests.support.model_steps`; what is explored here is how they interleave. What a move can be: an agent
reads its inbox; an agent posts its oldest message, and the answer comes or is lost (or the agent dies before it has
noted it); a member comes to the result of a secret job; the cloud adds; the cloud's clock passes a deadline; and, each
at most so many times in a run as `Bounds` says, an agent declines, a person cancels, an agent gives up, an agent states
something else than the others, the cloud leaves out or counts twice what it adds, a message of the cloud never reaches
an agent. A party that dies between two commits comes back as its durable state, which is what is explored: a death adds
nothing but lost answers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from shared.errors import ErrorCode
from shared.ids import AgentId
from shared.protocol import coordinator
from shared.protocol.job import Job
from shared.protocol.states import CloudState
from shared.wire.envelope import MessageType
from tests.support.model_steps import Cloud, Hospital, Steps
from tests.support.world import Rows

_TAKEN_IN_STRIDE = (ErrorCode.LATE, ErrorCode.WRONG_ROUND, ErrorCode.ROSTER_MISMATCH)
"""Refusals that an honest agent hears when others were faster; any other would be a fault of ours."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How often each kind of mishap may happen in one run. `lost_answers`: whether answers to posts may be lost."""

    lost_answers: bool = False
    declines: int = 0
    cancels: int = 0
    give_ups: int = 0
    lies: int = 0
    dishonest_sums: int = 0
    lost: int = 0


World = tuple[int, tuple[tuple[int, int], ...], Bounds]
"""Number of the cloud's state; of each hospital its state's number and its place in the inbox; mishaps left."""


class Violation(AssertionError):
    """A property that does not hold, with the moves that lead to it."""


@dataclass
class Findings:
    """What an exploration saw."""

    worlds: int = 0
    moves: int = 0
    depth: int = 0
    endings: dict[str, int] = field(default_factory=dict)


class Explorer(Steps):
    """`run` visits every reachable world of a job and checks every one. `changes`: what else `Steps` takes."""

    def __init__(
        self, rows: Mapping[str, Rows], schema: Mapping[str, object], bounds: Bounds, **changes: Any
    ) -> None:
        super().__init__(rows, schema, **changes)
        self.bounds = bounds

    # --- the search ---------------------------------------------------------------------------------------------

    def run(self, most: int = 10_000_000) -> Findings:
        """Visit every world. Raises: Violation. Args: most: worlds; more than that is an error, not an end."""
        first = self.start()
        before: dict[World, tuple[World, str] | None] = {first: None}
        after: dict[World, list[World]] = {}
        depth = {first: 0}
        queue = deque([first])
        findings = Findings()
        while queue:
            world = queue.popleft()
            try:
                self.check(world)
                moves = list(self.moves(world))
                after[world] = [then for _, then, is_fair in moves if is_fair]
                if not after[world]:
                    ending = self.check_end(world)
                    findings.endings[ending] = findings.endings.get(ending, 0) + 1
            except AssertionError as error:
                raise Violation(f"{error}\n" + "\n".join(_trace(before, world))) from error
            findings.moves += len(moves)
            for what, then, _ in moves:
                if then not in before:
                    before[then] = world, what
                    depth[then] = depth[world] + 1
                    queue.append(then)
            assert len(before) <= most, f"more than {most} worlds: the bounds are too wide to be exhaustive"
        findings.worlds, findings.depth = len(before), max(depth.values())
        self._check_progress(before, after)
        return findings

    def _check_progress(
        self, before: Mapping[World, tuple[World, str] | None], after: Mapping[World, list[World]]
    ) -> None:
        """From every world an end can be reached without any further mishap."""
        towards: dict[World, list[World]] = {}
        for world, following in after.items():
            for then in following:
                towards.setdefault(then, []).append(world)
        good = {world for world, following in after.items() if not following}
        queue = deque(good)
        while queue:
            for world in towards.get(queue.popleft(), ()):
                if world not in good:
                    good.add(world)
                    queue.append(world)
        stuck = next((world for world in after if world not in good), None)
        if stuck is not None:
            raise Violation("no end can be reached from here\n" + "\n".join(_trace(before, stuck)))

    def start(self) -> World:
        """The job is created, nobody has read the offer."""
        ders = {name: self.parties.certificates[name] for name in self.names}
        cloud = Cloud(Job(self.manifest, ""), inboxes=tuple(() for _ in self.names))
        created = self.committed(cloud, coordinator.create(self.manifest, ders, 0))
        idle = self.hospital(Hospital())
        return self.cloud(created), tuple((idle, 0) for _ in self.names), self.bounds

    # --- moves --------------------------------------------------------------------------------------------------

    def moves(self, world: World) -> Iterator[tuple[str, World, bool]]:
        """Every next world, how it comes about, and whether it is no mishap."""
        cloud, hospitals, left = world
        for place, name in enumerate(self.names):
            number, cursor = hospitals[place]
            inbox = self.clouds[cloud].inboxes[place]
            hospital = self.hospitals[number]
            if cursor < len(inbox):
                yield from self._reads(world, place, name, inbox[cursor])
                if left.lost:
                    skipped = _with(hospitals, place, (number, cursor + 1))
                    yield f"{name} misses a message", (cloud, skipped, _less(left, "lost")), False
            if hospital.outbox:
                posted, code = self.post(cloud, hospital.outbox[0])
                heard = self.hospital(replace(hospital, outbox=hospital.outbox[1:]))
                assert code is None or code in _TAKEN_IN_STRIDE, f"{name} was refused with {code}"
                kind = self.messages[hospital.outbox[0]].envelope.type
                yield f"{name} posts {kind}", (posted, _with(hospitals, place, (heard, cursor)), left), True
                if posted != cloud and left.lost_answers:
                    yield f"{name} posts {kind}, answer lost", (posted, hospitals, left), False
            if hospital.participation is not None and hospital.participation.state == "COMPUTING":
                came = _with(hospitals, place, (self.computes(cloud, number), cursor))
                yield f"{name} comes to a result", (cloud, came, left), True
            running = hospital.participation is not None and not hospital.is_over
            if running and left.give_ups:
                quit_ = _with(hospitals, place, (self.gives_up(number), cursor))
                yield f"{name} gives up", (cloud, quit_, _less(left, "give_ups")), False
            if left.lies and not hospital.has_lied:
                lied = self.lies(number, name, dict(self.clouds[cloud].answers))
                if lied is not None:
                    told = _with(hospitals, place, (lied, cursor))
                    yield f"{name} states something else", (cloud, told, _less(left, "lies")), False
        yield from self._of_cloud(world)

    def _reads(
        self, world: World, place: int, name: AgentId, message: int
    ) -> Iterator[tuple[str, World, bool]]:
        cloud, hospitals, left = world
        number, cursor = hospitals[place]
        taken = self.take(number, name, message)
        kind = self.messages[message].envelope.type
        yield f"{name} reads {kind}", (cloud, _with(hospitals, place, (taken, cursor + 1)), left), True
        if kind is MessageType.JOB_OFFER and left.declines:
            declined = _with(hospitals, place, (self.declines(number, name), cursor + 1))
            yield f"{name} declines", (cloud, declined, _less(left, "declines")), False

    def _of_cloud(self, world: World) -> Iterator[tuple[str, World, bool]]:
        cloud, hospitals, left = world
        job = self.clouds[cloud].job
        if job.state is CloudState.COLLECTING and not job.waiting_for:
            yield "the cloud adds", (self.sum(cloud, "honest"), hospitals, left), True
            if left.dishonest_sums:
                for way in ("one left out", "one twice", "records added"):
                    bad = self.sum(cloud, way)
                    yield f"the cloud adds, {way}", (bad, hospitals, _less(left, "dishonest_sums")), False
        ticked = self.tick(cloud)
        if ticked != cloud:
            yield "a deadline passes", (ticked, hospitals, left), True
        if left.cancels and not job.is_over:
            yield "a person cancels", (self.cancel(cloud), hospitals, _less(left, "cancels")), False

    # --- properties -------------------------------------------------------------------------------------------------

    def check(self, world: World) -> None:
        """What must hold in every world."""
        cloud, numbers, _ = world
        here = self.clouds[cloud]
        hospitals = [self.hospitals[number] for number, _ in numbers]
        rounds = [number for number, _ in here.aggregates]
        assert len(rounds) == len(set(rounds)), "two sums of one round"
        for hospital in hospitals:
            places = [(number, attempt) for number, attempt, _ in hospital.sent]
            assert len(places) == len(set(places)), "two contributions for one round and attempt"
        trees = {hospital.tree for hospital in hospitals if hospital.tree is not None}
        assert len(trees) <= 1, "hospitals hold different trees"
        if trees:
            assert trees == {self.pooled(here.job.roster)}, "a tree that is not the one of the pooled records"
            assert here.job.state is CloudState.DONE, f"a tree stands while the job is {here.job.state}"
        assert here.job.state is not CloudState.DONE or _agree(here.job), "done on statements that differ"
        states: dict[int, set[bytes]] = {}
        for hospital in hospitals:
            participation = hospital.participation
            if participation is not None and participation.state == "DECIDED":
                states.setdefault(participation.round, set()).add(participation.chained_state)
        assert all(len(found) == 1 for found in states.values()), "two hospitals decided on different sums"

    def check_end(self, world: World) -> str:
        """What must hold where nothing can happen any more but mishaps; the name of the end."""
        cloud, numbers, _ = world
        job = self.clouds[cloud].job
        assert job.is_over, f"nothing can happen, and the job is {job.state}, waiting for {job.waiting_for}"
        for name, (number, _) in zip(self.names, numbers, strict=True):
            hospital = self.hospitals[number]
            has_missed = world[2].lost < self.bounds.lost
            assert hospital.is_over or hospital.participation is None or has_missed, f"{name} waits for ever"
            took_part = name in job.roster and hospital.participation is not None
            if job.state is CloudState.DONE and took_part and not hospital.has_lied and not has_missed:
                gave_up = hospital.participation is not None and hospital.participation.failure is not None
                assert hospital.tree is not None or gave_up, f"{name} has no tree of a job that is done"
        return job.state if job.failure is None else f"{job.state} {job.failure}"


def _agree(job: Job) -> bool:
    """Whether the roster's decisions name one state."""
    said = [job.members[agent].decision for agent in job.roster]
    return len({signed.envelope.body["state"] if signed is not None else None for signed in said}) == 1


def _with(
    hospitals: tuple[tuple[int, int], ...], place: int, hospital: tuple[int, int]
) -> tuple[tuple[int, int], ...]:
    return (*hospitals[:place], hospital, *hospitals[place + 1 :])


def _less(bounds: Bounds, what: str) -> Bounds:
    return replace(bounds, **{what: getattr(bounds, what) - 1})


def _trace(before: Mapping[World, tuple[World, str] | None], world: World) -> list[str]:
    moves: list[str] = []
    step = before[world]
    while step is not None:
        world, what = step
        moves.append(what)
        step = before[world]
    return moves[::-1]
