"""A job as its page shows it: sentences and figures, of what the role that looks may read anyway (`/v1/jobs`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from cloud_service.job_texts import standing
from cloud_service.pages import wording
from cloud_service.pages.job_times import PhaseLine, RoundLine, phases_of, round_of, rounds_of
from cloud_service.pages.wording import Word
from cloud_service.store.jobs import StoredJob
from cloud_service.store.journal import Cost, Event
from shared.advice.words import duration_text, number_text, size_text
from shared.errors import JobCode
from shared.ids import AgentId
from shared.protocol.disclosure import levels, terms_of
from shared.protocol.growing_words import growing_words
from shared.protocol.job import Job
from shared.protocol.noise_words import noise_words
from shared.protocol.phases import phase_in_words
from shared.protocol.states import CloudState
from shared.protocol.tallies import tally_sentences
from shared.protocol.waiting import Waiting, of_job
from shared.texts import has_text, text

STORY_LENGTH: Final = 200
"""So many of the newest events are told on the page."""


@dataclass(frozen=True, slots=True)
class MemberLine:
    """A hospital in a job: what it answered, and how far it is in the open round."""

    id: str
    answer: Word
    now: Word
    standing: str


@dataclass(frozen=True, slots=True)
class CostLine:
    """Messages of one kind."""

    name: str
    way: str
    count: str
    size: str


@dataclass(frozen=True, slots=True)
class StoryLine:
    """One line of the log of decisions."""

    time: int
    kind: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Reached:
    """How far a job is. `done` of at most `most`; `left`: a sentence about the time, empty where nothing is known.

    `short`: what is told aloud, which changes less often than `sentence`.
    """

    done: int
    most: int
    sentence: str
    left: str
    short: str


@dataclass(frozen=True, slots=True)
class JobView:
    """All that the page shows of a job."""

    stored: StoredJob
    mode: str
    state: Word
    announcement: str
    waiting: Waiting | None
    reached: Reached
    members: tuple[MemberLine, ...]
    rounds: tuple[RoundLine, ...]
    phases: tuple[PhaseLine, ...]
    costs: tuple[CostLine, ...]
    sent: str
    adding: str
    story: tuple[StoryLine, ...]
    rules: tuple[str, ...]
    outcome: str
    next_step: str
    newest_event: int

    @property
    def job(self) -> Job:
        """The job itself."""
        return self.stored.job

    @property
    def is_final(self) -> bool:
        """Whether nothing more is to come."""
        return self.job.is_over and self.waiting is None


def view_of(stored: StoredJob, costs: Sequence[Cost], events: Sequence[Event]) -> JobView:
    """The page's content. Args: events: the story from its start; it may have been deleted long after the end."""
    job, waiting = stored.job, of_job(stored.job)
    state, reached = wording.state_of(stored), _reached(stored, events)
    waits = "" if waiting is None else text("cloud.job.waits_for", who=", ".join(waiting.who))
    outcome, next_step = _ending(job)
    return JobView(
        stored=stored,
        mode=wording.mode_of(stored),
        state=state,
        announcement=" ".join(part for part in (f"{state.text}.", outcome or reached.short, waits) if part),
        waiting=waiting,
        reached=reached,
        members=tuple(_member(job, agent) for agent in job.manifest.invited),
        rounds=tuple(rounds_of(events)),
        phases=tuple(phases_of(events)),
        costs=tuple(_cost(cost) for cost in costs if not cost.kind.startswith("cpu:")),
        sent=size_text(sum(cost.amount for cost in costs if not cost.kind.startswith("cpu:"))),
        adding=_adding(costs),
        story=tuple(story_line(event) for event in reversed(events[-STORY_LENGTH:])),
        rules=_rules(job),
        outcome=outcome,
        next_step=next_step,
        newest_event=events[-1].id if events else 0,
    )


def _reached(stored: StoredJob, events: Sequence[Event]) -> Reached:
    job = stored.job
    if job.manifest.is_secret:
        return _reached_on_shares(job)
    if job.manifest.tally is not None:
        told = text("cloud.job.one_round")
        return Reached(int(job.state is CloudState.DONE), 1, told, "", told)
    most = levels(terms_of(job.manifest))
    done = sum(event.kind == "level" for event in events) + (job.state is CloudState.DONE)
    if not events:
        done = job.round + (job.state is CloudState.DONE)
    sentence, left, begun = text("cloud.job.rounds_done", done=done, most=most), "", stored.started
    if not job.is_over and done and begun is not None:
        seconds = (job.waiting_since - begun) / done * (most - done)
        left = text("cloud.job.left_at_most", time=duration_text(seconds))
    return Reached(done, most, sentence, left, text("cloud.job.rounds_short", done=done, most=most))


def _reached_on_shares(job: Job) -> Reached:
    members = [job.members[AgentId(agent)] for agent in _computing(job)]
    reports = [member.progress for member in members if member.progress is not None]
    if job.state is CloudState.DONE:
        told = text("cloud.job.computed")
        return Reached(1, 1, told, "", told)
    if not reports:
        told = text("cloud.job.not_computing")
        return Reached(0, 1, told, "", told)
    slowest = min(reports, key=lambda report: (report.layer, report.rounds))
    place = {"layer": slowest.layer, "layers": slowest.layers}
    layer = text("cloud.job.layer", **place) if slowest.layer else ""
    short = text("cloud.job.layer_short", **place) if slowest.layer else ""
    rounds = number_text(slowest.rounds)
    sentence = text("cloud.job.computing", phase=phase_in_words(slowest.phase), rounds=rounds, layer=layer)
    known = [report.remaining_seconds for report in reports if report.remaining_seconds is not None]
    left = text("cloud.job.left_about", time=duration_text(max(known))) if known and not job.is_over else ""
    return Reached(max(0, slowest.layer - 1), max(slowest.layers, 1), sentence, left, short)


def _computing(job: Job) -> list[str]:
    return [] if job.manifest.secret is None else list(job.manifest.secret.compute_parties)


def _member(job: Job, agent: str) -> MemberLine:
    member = job.members[AgentId(agent)]
    if member.declined is not None:
        reason = wording.code_in_words(member.declined)
        answer = Word(text("cloud.job.declined", reason=reason), wording.BAD)
    elif member.accept is not None:
        answer = Word(text("cloud.job.accepted"), wording.GOOD)
    else:
        answer = Word(text("cloud.job.pending"), wording.WAIT if not job.is_over else "quiet")
    told = "" if member.progress is None else standing(member.progress.model_dump(mode="json"))
    return MemberLine(agent, answer, _now(job, agent), told)


def _now(job: Job, agent: str) -> Word:
    """How far a hospital is in what the job does now."""
    member = job.members[AgentId(agent)]
    if job.roster and agent not in job.roster:
        return Word(text("cloud.job.left_out"), "quiet")
    if job.state is CloudState.DONE:
        name, kind = ("attested", wording.GOOD) if member.attested else ("attest_missing", wording.WAIT)
        return Word(text(f"cloud.job.{name}"), kind)
    if job.is_over or job.state is CloudState.INVITING or not job.roster:
        return Word(text("common.none"), "quiet")
    done = {
        CloudState.COLLECTING: ("contributed", member.contributed),
        CloudState.OPENING: ("partial", member.partial),
        CloudState.DECIDING: ("decided", member.decision),
        CloudState.COMPUTING: ("decided", member.decision),
    }.get(job.state)
    if done is None:
        return Word(text("common.none"), "quiet")
    name, value = done
    if value is not None:
        return Word(text(f"cloud.job.{name}"), wording.GOOD)
    return Word(text(f"cloud.job.{name}_missing"), wording.WAIT)


def _cost(cost: Cost) -> CostLine:
    way, _, kind = cost.kind.partition(":")
    name = f"cloud.job.message.{kind}"
    return CostLine(
        text(name) if has_text(name) else kind,
        text(f"cloud.job.way.{way}"),
        number_text(cost.count),
        size_text(cost.amount),
    )


def _adding(costs: Sequence[Cost]) -> str:
    """Processor time of the sums."""
    spent = sum(cost.amount for cost in costs if cost.kind == "cpu:sum")
    return f"{spent / 1e3:.0f} ms" if spent else ""


def story_line(event: Event) -> StoryLine:
    """One event in a sentence."""
    name = f"cloud.job.story.{event.kind}"
    if not has_text(name):
        return StoryLine(event.time, event.kind, event.kind.replace("_", " "))
    places = {key: _told(key, value) for key, value in event.data.items()}
    if "round" in event.data:
        places["round"] = str(round_of(event))
    return StoryLine(event.time, event.kind, text(name, **{**_PLACES, **places}))


_PLACES: Final = dict.fromkeys(("hospital", "code", "round", "nodes"), "")


def _told(key: str, value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if key == "phase":
        return phase_in_words(str(value))
    return wording.code_in_words(str(value)) if key == "code" else str(value)


def _rules(job: Job) -> tuple[str, ...]:
    noise = noise_words(job.manifest)
    return (
        *tally_sentences(job.manifest),
        *growing_words(job.manifest),
        *(() if noise is None else noise.sentences),
    )


def _ending(job: Job) -> tuple[str, str]:
    """What happened at the end, and what to do now; empty while the job runs."""
    if job.state is CloudState.DONE:
        kind = "tally" if job.manifest.tally is not None else "tree"
        return text(f"cloud.job.done_{kind}"), text(f"cloud.job.next.done_{kind}")
    if not job.is_over:
        return "", ""
    refused = sorted(member.id for member in job.members.values() if member.declined is not None)
    if job.failure is JobCode.DEADLINE and refused and not job.roster:
        # The code stands for every invitation that found too few; here they were asked, and said no.
        hospitals = ", ".join(refused)
        return text("cloud.ended.declined", hospitals=hospitals), text("cloud.ended.ask_why")
    code = str(job.failure or "")
    name = f"cloud.job.next.{code}"
    next_step = text(name if has_text(name) else "cloud.job.next.other")
    return text("cloud.job.ended", reason=wording.code_in_words(code)), next_step
