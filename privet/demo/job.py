"""One job of the demo, as the people's API and the agents' own APIs tell it: start, live events, trees, costs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from privet.demo.configuration import STUDY
from privet.demo.costs import PARTS, SECRET_PARTS, Costs, add_up
from privet.demo.dealing import DemoRecords
from privet.demo.federation import Federation
from privet.demo.loopback import Api, wait_until
from privet.demo.options import DemoOptions
from privet.demo.progress import Progress, plural
from privet.demo.result import HeldTree, RoundSizes, SecretWork
from shared.errors import InternalError, JobCode, JobFailure, TemporaryError
from shared.ids import AgentId
from shared.protocol.phases import phase_in_words

_TREE_POLL_SECONDS: Final = 0.01
_DEADLINES: Final = {"invite_seconds": 600, "round_seconds": 3600, "pause_seconds": 60}
_MICROSECONDS: Final = 1e-6
_MEGABYTE: Final = 1e6
_OPENED: Final = "opened "
_SECRET_PROFILES: Final = {"id3": "secret-id3", "gain-ratio": "secret-gainratio"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is known of a job that is done. `noise`: what the cloud says of its noise."""

    rounds: tuple[RoundSizes, ...]
    trees: Mapping[AgentId, HeldTree] = field(repr=False)
    costs: Costs
    secret: SecretWork | None = None
    noise: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class JobWatch:
    """Everyone whom the demo asks about its job. `check` raises when a program has ended."""

    cloud: Api
    agents: Mapping[AgentId, Api]
    check: Callable[[], None]
    progress: Progress

    @classmethod
    def run(
        cls,
        federation: Federation,
        records: DemoRecords,
        options: DemoOptions,
        check: Callable[[], None],
        progress: Progress,
        approve: Callable[[], None] | None = None,
    ) -> Outcome:
        """Start the job, tell its story, and return what came of it.

        Args: approve: has every hospital's steward approve the study first; without it each policy decides alone.
        Raises: JobFailure: it failed, or a hospital declined.
        """
        with ExitStack() as stack:
            cloud = stack.enter_context(Api(federation.cloud_url, federation.token))
            agents = {
                hospital: stack.enter_context(Api(url)) for hospital, url in federation.agent_urls.items()
            }
            watch = cls(cloud, agents, check, progress)
            cloud.post("/v1/studies", _study(records, options))
            if approve is not None:
                approve()
                progress.line(f"{plural(len(agents), 'steward')} approved the study")
            begun = time.monotonic()
            job = str(cloud.post(f"/v1/studies/{STUDY}/jobs", _plan(options, list(agents)))["id"])
            rounds = watch.follow(job)
            watch.wait_for_trees(job)
            total_seconds = time.monotonic() - begun
            work = watch.secret_work(job) if options.is_secret else None
            parts = SECRET_PARTS if options.is_secret else PARTS
            noise = cloud.get(f"/v1/jobs/{job}")["noise"]
            return Outcome(rounds, watch.trees(job), watch.costs(job, total_seconds, parts), work, noise)

    def follow(self, job: str) -> tuple[RoundSizes, ...]:
        """Tell the job's events until it is done; the sizes of its rounds."""
        sums: dict[int, int] = {}
        told_by = ""
        nodes: dict[int, int] = {0: 1}
        for event in self._events(job):
            kind, data = event["kind"], event["data"]
            if kind == "round_open":
                sums[data["round"]] = data["slots"]
            elif kind == "level":
                nodes[data["round"]] = data["nodes"]
            elif kind == "computing":
                told_by = data["compute_parties"][0]
            elif kind == "progress" and data["hospital"] != told_by:
                continue  # the three compute parties go in step
            elif kind == "declined":
                raise self._declined(job, AgentId(data["hospital"]), data["code"])
            elif kind == "ended":
                raise self._failed(job, str(data["code"]))
            self._tell(kind, data, nodes)
        return tuple(RoundSizes(nodes[number], asked) for number, asked in sorted(sums.items()))

    def _events(self, job: str) -> Iterator[dict[str, Any]]:
        """The job's live events up to the one that says it is done."""
        try:
            for event in self.cloud.stream(f"/v1/jobs/{job}/events"):
                if event is None:
                    self.check()
                    continue
                yield event
                if event["kind"] == "done":
                    return
        except TemporaryError:
            self.check()
            raise
        raise InternalError(f"the cloud ended its events before job {job} was done")

    def _tell(self, kind: str, data: Mapping[str, Any], nodes: Mapping[int, int]) -> None:
        if kind == "roster":
            self.progress.line(f"{', '.join(data['hospitals'])} agreed, each by its own policy")
        elif kind == "round_open":
            number = data["round"]
            self.progress.line(
                f"round {number + 1}: {plural(nodes[number], 'open node')}, {data['slots']} sums asked"
            )
        elif kind == "contributed":
            self.progress.line(f"  {data['hospital']} sent its encrypted counts")
        elif kind == "aggregate":
            self.progress.line(f"  the cloud returned {data['ciphertexts']} encrypted sums")
        elif kind == "computing":
            self.progress.line(f"{', '.join(data['compute_parties'])} compute on shares of all records")
        elif kind == "progress":
            self._tell_progress(data)
        elif kind == "decided":
            self.progress.line(f"  {data['hospital']} decided")

    def _tell_progress(self, data: Mapping[str, Any]) -> None:
        where = f"layer {data['layer']} of {data['layers']}: " if data["layers"] else ""
        where = where or (f"level {data['layer']}: " if data["layer"] else "")
        told = f"{plural(data['rounds'], 'round')}, {data['sent_bytes'] / _MEGABYTE:.1f} MB sent"
        self.progress.line(f"  {data['hospital']} {where}{phase_in_words(data['phase'])}; {told}")

    def _declined(self, job: str, hospital: AgentId, code: str) -> JobFailure:
        reason = self._entry(job, hospital).get("reason") or code
        return JobFailure(JobCode.CANCELLED, f"hospital {hospital} declined the job: {reason}")

    def _failed(self, job: str, code: str) -> JobFailure:
        reasons = {hospital: self._entry(job, hospital).get("reason") for hospital in self.agents}
        told = "; ".join(f"{hospital}: {reason}" for hospital, reason in reasons.items() if reason)
        known = JobCode(code) if code in set(JobCode) else JobCode.CANCELLED
        return JobFailure(known, f"the job ended without a tree ({code})" + (f": {told}" if told else ""))

    def wait_for_trees(self, job: str) -> None:
        """Until every hospital's own API has the model."""
        for hospital, agent in self.agents.items():
            wait_until(
                partial(agent.answers, f"/models/{job}"),
                f"the model of {hospital}",
                self.check,
                _TREE_POLL_SECONDS,
            )

    def trees(self, job: str) -> dict[AgentId, HeldTree]:
        """Each hospital's tree, from its own API."""
        models = {hospital: agent.get(f"/models/{job}") for hospital, agent in self.agents.items()}
        return {
            hospital: HeldTree(model["tree_sha256"], model["tree"], model["drawing"])
            for hospital, model in models.items()
        }

    def costs(self, job: str, total_seconds: float, parts: Sequence[str]) -> Costs:
        """What the agents and the cloud measured."""
        entries = [self._entry(job, hospital) for hospital in self.agents]
        sizes = [entry["bytes"][way] for entry in entries for way in ("sent", "received")]
        spent = {cost["kind"]: cost["amount"] for cost in self.cloud.get(f"/v1/jobs/{job}")["costs"]}
        add_seconds = sum(amount for kind, amount in spent.items() if kind.startswith("cpu:")) * _MICROSECONDS
        return add_up(total_seconds, [entry["seconds"] for entry in entries], add_seconds, sizes, parts)

    def secret_work(self, job: str) -> SecretWork:
        """What the compute parties did, as their own agents tell."""
        events = self.cloud.get(f"/v1/jobs/{job}/events")["events"]
        begun = next(event["data"] for event in events if event["kind"] == "computing")
        entries = {agent: self._entry(job, AgentId(agent)) for agent in begun["compute_parties"]}
        work: dict[str, int] = next(iter(entries.values()))["work"]
        opened = {kind.removeprefix(_OPENED): n for kind, n in work.items() if kind.startswith(_OPENED)}
        sent = {AgentId(agent): int(entry["bytes"]["sent"]["shares"]) for agent, entry in entries.items()}
        return SecretWork(int(work["rounds"]), sent, opened)

    def _entry(self, job: str, hospital: AgentId) -> dict[str, Any]:
        """What a hospital's agent says about the job; empty if it does not know it."""
        jobs = self.agents[hospital].get("/status")["jobs"]
        return next((entry for entry in jobs if entry["job"] == job), {})


def _study(records: DemoRecords, options: DemoOptions) -> dict[str, Any]:
    return {
        "id": STUDY,
        "question": f"Which {records.schema.class_name} does a record of {records.title} have?",
        "schema": records.schema.to_json(),
        "disclosure": "class" if options.is_secret else "counts",
        "synthetic": options.profile == "paper",
        **_document(options),
    }


def _document(options: DemoOptions) -> dict[str, Any]:
    """The rules of the study, exactly those of its one job."""
    rules = options.rules
    return {
        "profiles": [_SECRET_PROFILES.get(options.mode, options.profile)],
        "criteria": [rules.criterion],
        "min_node": rules.min_node,
        "min_child": rules.min_child,
        "max_depth": rules.max_depth or 0,
        "max_shrinks": 0,
        "max_jobs": 1,
    }


def _plan(options: DemoOptions, hospitals: list[AgentId]) -> dict[str, Any]:
    rules = options.rules
    return {
        "invited": hospitals,
        "min_hospitals": len(hospitals),
        "max_shrinks": 0,
        "mode": options.mode,
        "profile": options.profile,
        "criterion": rules.criterion,
        "min_node": rules.min_node,
        "min_child": rules.min_child,
        "max_depth": rules.max_depth,
        "split_on_zero_gain": rules.split_on_zero_gain,
        "skip_known": rules.skip_known,
        "deadlines": _DEADLINES,
        **({} if rules.pruning is None else {"pruning": {"method": rules.pruning.method}}),
        **({"key_mode": "threshold"} if options.key_mode == "threshold" else {}),
        **({} if options.noise_sigma is None else {"noise": {"sigma": options.noise_sigma}}),
    }
