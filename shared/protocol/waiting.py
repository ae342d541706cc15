"""Whom something waits for, for what, since when, until when, and what happens then: always all five, for people.

Of a job at the cloud by `of_job`, of a job at a hospital by `of_hospital`. Times are Unix seconds. The protocol numbers
rounds from 0; these are sentences for people, who count from 1.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from shared.protocol.job import Job
from shared.protocol.stages import has_enough_partials, may_shrink
from shared.protocol.states import AgentState, CloudState
from shared.texts import has_text, text
from shared.wire.manifest import Manifest


@dataclass(frozen=True, slots=True)
class Waiting:
    """One wait. `who`: ids of hospitals, or `the_cloud()` or `here()`. `until` is None where no clock ends it."""

    who: tuple[str, ...]
    what: str
    since: int
    until: int | None
    then: str

    @property
    def document(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "who": list(self.who),
            "what": self.what,
            "since": self.since,
            "until": self.until,
            "then": self.then,
        }

    @property
    def text(self) -> str:
        """One sentence for a person."""
        return text("waiting.sentence", told=self.brief)

    @property
    def brief(self) -> str:
        """The same under a heading that says that somebody is waited for."""
        told = {
            "who": ", ".join(self.who),
            "what": self.what,
            "since": _moment(self.since),
            "then": self.then,
        }
        if self.until is None:
            return text("waiting.brief", **told)
        return text("waiting.brief_until", **told, until=_moment(self.until))


def the_cloud() -> str:
    """Who is waited for where it is the cloud."""
    return text("waiting.cloud")


def here() -> str:
    """Who is waited for where it is a person of this hospital."""
    return text("waiting.here")


def from_document(document: Mapping[str, Any]) -> Waiting:
    """The inverse of `Waiting.document`."""
    return Waiting(**{**document, "who": tuple(document["who"])})


def of_job(job: Job) -> Waiting | None:
    """What a job waits for at the cloud; None once nothing is to come."""
    if job.state is CloudState.DONE:
        return _attestations(job)
    if job.is_over:
        return None
    if not job.waiting_for:
        return _own_work(job)
    what = text(f"waiting.what.{job.state.value}", round=job.round + 1)
    paused = job.paused_since
    until = job.deadline if paused is None else paused + job.manifest.deadlines.pause_seconds
    return Waiting(tuple(map(str, job.waiting_for)), what, job.waiting_since, until, _then(job))


def _attestations(job: Job) -> Waiting | None:
    missing = tuple(str(a) for a in job.roster if job.members[a].attested is None)
    if not missing:
        return None
    what, then = text("waiting.what.attestation"), text("waiting.then.attested")
    return Waiting(missing, what, job.waiting_since, None, then)


def _own_work(job: Job) -> Waiting:
    if job.state is CloudState.COLLECTING:
        what, then = text("waiting.what.sum", round=job.round + 1), text("waiting.then.sum_goes")
    else:
        what, then = text("waiting.what.next_step"), text("waiting.then.goes_on")
    return Waiting((the_cloud(),), what, job.waiting_since, None, then)


def _then(job: Job) -> str:
    """What the next deadline brings, as `coordinator.tick` decides it."""
    if job.state is CloudState.INVITING:
        return text("waiting.then.begins", least=job.manifest.min_hospitals)
    if may_shrink(job):
        return text("waiting.then.shrinks")
    if has_enough_partials(job):
        return text("waiting.then.opened")
    if job.paused_since is None:
        return text("waiting.then.pauses", span=_span(job.manifest.deadlines.pause_seconds))
    return text("waiting.then.fails")


def of_hospital(
    state: AgentState, manifest: Manifest, others: Collection[str], round_number: int, since: int
) -> Waiting | None:
    """What a job that this hospital has accepted waits for; None while this hospital works itself.

    Args: others: of the roster, or of the invited before there is one. round_number: as the protocol counts, from 0.
          since: when this hospital's part was done.
    """
    who = tuple(sorted(others))
    if state is AgentState.ACCEPTED:
        what = text("waiting.what.INVITING")
        return Waiting(
            who,
            what,
            since,
            manifest.expires,
            text("waiting.then.cloud_begins", least=manifest.min_hospitals),
        )
    if state in (AgentState.SENT, AgentState.OPENING, AgentState.DECIDED):
        what = text(f"waiting.what.{state.value}", round=round_number + 1)
    elif state is AgentState.COMPUTING and manifest.is_secret:
        what = text("waiting.what.computed")
    else:
        return None
    pauses = text("waiting.then.cloud_pauses", span=_span(manifest.deadlines.pause_seconds))
    return Waiting(who, what, since, since + manifest.deadlines.round_seconds, pauses)


def of_person(manifest: Manifest, since: int) -> Waiting:
    """An offer that a person of this hospital has to answer."""
    return Waiting(
        (here(),), text("waiting.what.person"), since, manifest.expires, text("waiting.then.lapses")
    )


def of_receipt(kind: str, since: int) -> Waiting:
    """An own message that the cloud has not answered. Args: kind: of a message, as `MessageType` names it."""
    name = f"waiting.message.{kind}"
    message = text(name) if has_text(name) else kind.replace("_", " ")
    what = text("waiting.what.receipt", message=message)
    return Waiting((the_cloud(),), what, since, None, text("waiting.then.receipt"))


def of_contact(since: int) -> Waiting:
    """A cloud that cannot be reached, or is busy."""
    return Waiting((the_cloud(),), text("waiting.what.contact"), since, None, text("waiting.then.contact"))


def _moment(time: int) -> str:
    return text("waiting.moment", moment=f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M:%S}")


def _span(seconds: int) -> str:
    for size, name in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size and seconds % size == 0:
            number = seconds // size
            return text(f"span.one_{name}") if number == 1 else text(f"span.{name}s", n=number)
    return text("span.seconds", n=seconds)
