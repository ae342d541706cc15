"""Whom something waits for, for what, since when, until when, and what happens then: always all five, for people.

Of a job at the cloud by `of_job`, of a job at a hospital by `of_hospital`. Times are Unix seconds.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from shared.protocol.job import Job
from shared.protocol.stages import has_enough_partials, may_shrink
from shared.protocol.states import AgentState, CloudState
from shared.wire.manifest import Manifest

CLOUD: Final = "the cloud"
HERE: Final = "this hospital"


@dataclass(frozen=True, slots=True)
class Waiting:
    """One wait. `who`: ids of hospitals, or `CLOUD` or `HERE`. `until` is None where no clock ends it."""

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
        until = "" if self.until is None else f", until {_moment(self.until)}"
        return f"waits for {', '.join(self.who)}: {self.what}; since {_moment(self.since)}{until}; then {self.then}"


def from_document(document: Mapping[str, Any]) -> Waiting:
    """The inverse of `Waiting.document`."""
    return Waiting(**{**document, "who": tuple(document["who"])})


_WHAT: Final = {
    CloudState.INVITING: "the answer to the invitation",
    CloudState.COLLECTING: "the contribution to round {round}",
    CloudState.OPENING: "the part of the opening of round {round}",
    CloudState.DECIDING: "the decision of round {round}",
    CloudState.COMPUTING: "the computation on shares, and the decision it comes to",
}


def of_job(job: Job, *, first_round: int = 0) -> Waiting | None:
    """What a job waits for at the cloud; None once nothing is to come.

    Args: first_round: what the first round is called. Logs and commands count from 0, pages from 1.
    """
    if job.state is CloudState.DONE:
        return _attestations(job)
    if job.is_over:
        return None
    if not job.waiting_for:
        return _own_work(job, job.round + first_round)
    what = _WHAT[job.state].format(round=job.round + first_round)
    paused = job.paused_since
    until = job.deadline if paused is None else paused + job.manifest.deadlines.pause_seconds
    return Waiting(tuple(map(str, job.waiting_for)), what, job.waiting_since, until, _then(job))


def _attestations(job: Job) -> Waiting | None:
    missing = tuple(str(a) for a in job.roster if job.members[a].attested is None)
    if not missing:
        return None
    then = "nothing: the tree is finished, and is shown as attested once all have"
    return Waiting(missing, "the attestation of the finished tree", job.waiting_since, None, then)


def _own_work(job: Job, round_number: int) -> Waiting:
    if job.state is CloudState.COLLECTING:
        what, then = f"the sum of round {round_number}", "the sum goes to every hospital of the roster"
    else:
        what, then = "its next step", "the job goes on; a restart of the cloud takes it up again"
    return Waiting((CLOUD,), what, job.waiting_since, None, then)


def _then(job: Job) -> str:
    """What the next deadline brings, as `coordinator.tick` decides it."""
    if job.state is CloudState.INVITING:
        least = job.manifest.min_hospitals
        return f"it begins with those that have accepted, or fails if they are fewer than {least}"
    if may_shrink(job):
        return "the round begins anew without them"
    if has_enough_partials(job):
        return "the sum is opened without them"
    if job.paused_since is None:
        return f"the job pauses for {_span(job.manifest.deadlines.pause_seconds)}, then it fails"
    return "the job fails; if they answer before, it goes on"


def of_hospital(
    state: AgentState, manifest: Manifest, others: Collection[str], round_number: int, since: int
) -> Waiting | None:
    """What a job that this hospital has accepted waits for; None while this hospital works itself.

    Args: others: of the roster, or of the invited before there is one. since: when this hospital's part was done.
    """
    who = tuple(sorted(others))
    if state is AgentState.ACCEPTED:
        least = manifest.min_hospitals
        then = (
            f"the cloud begins with those that have accepted, or ends the job if they are fewer than {least}"
        )
        return Waiting(who, "the answer to the invitation", since, manifest.expires, then)
    what = {
        AgentState.SENT: f"the contribution to round {round_number}, and the cloud's sum",
        AgentState.OPENING: f"the part of the opening of round {round_number}",
        AgentState.DECIDED: f"the decision of round {round_number}, and the cloud's next word",
        AgentState.COMPUTING: "the computation on shares" if manifest.is_secret else "",
    }.get(state)
    if not what:
        return None
    pause = _span(manifest.deadlines.pause_seconds)
    until = since + manifest.deadlines.round_seconds
    return Waiting(who, what, since, until, f"the cloud pauses the job for {pause}, then it fails")


def of_person(manifest: Manifest, since: int) -> Waiting:
    """An offer that a person of this hospital has to answer."""
    then = "the offer lapses, and the others begin without this hospital if they are enough"
    return Waiting(
        (HERE,), "a person's answer (privet agent approve or decline)", since, manifest.expires, then
    )


def of_receipt(what: str, since: int) -> Waiting:
    """An own message that the cloud has not answered."""
    return Waiting(
        (CLOUD,), f"its receipt for the {what}", since, None, "the same is sent again until it is answered"
    )


def of_contact(since: int) -> Waiting:
    """A cloud that cannot be reached, or is busy."""
    then = "it is asked again, at most a minute apart; nothing that was done here is lost"
    return Waiting((CLOUD,), "an answer to this hospital's requests", since, None, then)


def _moment(time: int) -> str:
    return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _span(seconds: int) -> str:
    for size, name in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size and seconds % size == 0:
            number = seconds // size
            return f"{number} {name}{'s' if number > 1 else ''}"
    return f"{seconds} seconds"
