"""The parties of a small job as numbered states, and each step from one to the next, computed once.

The steps are those of `shared.protocol`, on toy keys. A step depends on one party's state and on one message only.
Envelopes of the cloud are numbered by its broadcasts alone (no receipts), so that the order in which messages came
leaves no trace where the protocol has none.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from shared.crypto import agreement
from shared.crypto.paillier import PublicKey, add_plaintext, decode_ciphertext, encode_ciphertext
from shared.crypto.threshold_dealing import Dealt
from shared.errors import ErrorCode, JobCode, JobFailure, PeerError
from shared.ids import CLOUD, EVERYONE, AgentId
from shared.protocol import coordinator, participant, stages
from shared.protocol.agent_effects import Completed, Count, HospitalKeys, Say
from shared.protocol.agent_effects import Step as AgentStep
from shared.protocol.effects import AcceptContribution, Broadcast, ComputeSum, Dismiss, DropContributions
from shared.protocol.envelopes import Address, Chain, Sealed, seal
from shared.protocol.job import Job, Step
from shared.protocol.joining import decline, read_offer
from shared.protocol.participation import Participation, SecretResult, rules_of, schema_of, to_json
from shared.protocol.sums import CheckedContribution, CloudKeys, check_contribution, compute_sum, forwarded
from shared.secure_tree.packing import SLOT_BITS
from shared.tree.counting import count_rows
from shared.tree.growing import grow
from shared.wire.base import WireModel, decode_base64url, encode_base64url
from shared.wire.envelope import MessageType
from shared.wire.manifest import Manifest
from shared.wire.rounds import Abort, Decision
from tests.support.world import UNWRAPPING, Parties, Rows


@dataclass(frozen=True, slots=True)
class Cloud:
    """The cloud's durable state. Messages are numbers; `answers`: what each post got, None for a receipt."""

    job: Job
    contributions: tuple[tuple[AgentId, int], ...] = ()
    inboxes: tuple[tuple[int, ...], ...] = ()
    answers: tuple[tuple[int, ErrorCode | None], ...] = ()
    aggregates: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Hospital:
    """An agent's durable state. `sent`: round and attempt of each contribution with its hash."""

    participation: Participation | None = None
    outbox: tuple[int, ...] = ()
    sent: tuple[tuple[int, int, str], ...] = ()
    tree: str | None = None
    declined: bool = False
    has_lied: bool = False

    @property
    def is_over(self) -> bool:
        """Whether nothing more happens here."""
        return self.declined or (
            self.participation is not None and self.participation.state in ("COMPLETE", "ABORTED")
        )


class Steps:
    """One job of a few hospitals: its parties, their numbered states, and what leads from one to the next."""

    def __init__(
        self,
        rows: Mapping[str, Rows],
        schema: Mapping[str, object],
        *,
        dealt: Dealt | None = None,
        **changes: object,
    ) -> None:
        self.names = [AgentId(name) for name in sorted(rows)]
        self.rows = rows
        self.parties = Parties(self.names, dealt=dealt)
        self.manifest: Manifest = self.parties.manifest(schema, **changes)
        self.cloud_keys = CloudKeys(self.parties.public, UNWRAPPING)
        trust = self.parties.trust
        self.keys = {name: HospitalKeys(self.parties.round_keys(name), trust) for name in self.names}
        self.ephemerals = {name: _ephemeral(name) for name in self.names}
        self.messages: list[Sealed] = []
        self._message_numbers: dict[bytes, int] = {}
        self.clouds: list[Cloud] = []
        self._cloud_numbers: dict[str, int] = {}
        self.hospitals: list[Hospital] = []
        self._hospital_numbers: dict[str, int] = {}
        self._steps: dict[tuple[object, ...], object] = {}
        self._pooled: dict[tuple[AgentId, ...], str] = {}
        self.checked: dict[int, CheckedContribution] = {}

    def post(self, cloud: int, message: int) -> tuple[int, ErrorCode | None]:
        key = ("post", cloud, message)
        if key not in self._steps:
            self._steps[key] = self._posted(self.clouds[cloud], message)
        return self._steps[key]  # type: ignore[return-value]

    def _posted(self, cloud: Cloud, message: int) -> tuple[int, ErrorCode | None]:
        known = dict(cloud.answers)
        sealed = self.messages[message]
        if message in known:
            _must_refuse(lambda: coordinator.receive(cloud.job, sealed, 0), "a repeat that no table caught")
            return self.cloud(cloud), known[message]
        contribution = sealed.envelope.type is MessageType.CONTRIBUTION
        try:
            step = coordinator.receive(cloud.job, sealed, 0)
            if contribution:
                self.checked[message] = check_contribution(cloud.job, sealed.envelope, self.cloud_keys)
        except PeerError as refusal:
            job = coordinator.refused(cloud.job, sealed)
            refused = replace(cloud, job=job, answers=(*cloud.answers, (message, refusal.code)))
            return self.cloud(refused), refusal.code
        after = self.committed(cloud, step, message if contribution else None)
        return self.cloud(replace(after, answers=(*after.answers, (message, None)))), None

    def sum(self, cloud: int, way: str) -> int:
        key = ("sum", cloud, way)
        if key not in self._steps:
            self._steps[key] = self.cloud(self._summed(self.clouds[cloud], way))
        return self._steps[key]  # type: ignore[return-value]

    def _summed(self, cloud: Cloud, way: str) -> Cloud:
        job = cloud.job
        assert tuple(sorted(dict(cloud.contributions))) == job.roster, "a sum over other than the roster"
        checked = {agent: self.checked[message] for agent, message in cloud.contributions}
        first, second = job.roster[:2]
        if way == "one left out":
            checked[first] = checked[second]
        sums = compute_sum(job, checked, self.cloud_keys.public)
        if way == "one twice":
            doubled = compute_sum(job, checked | {second: checked[first]}, self.cloud_keys.public)
            sums = [*doubled[:-1], sums[-1]]
        if way == "records added":  # second value, first class; in two tables, so that they agree
            labels = len(self.manifest.schema_.class_.labels)
            cells = labels * len(self.manifest.schema_.attributes[0].values)
            more = 60 * (2 ** (SLOT_BITS * labels) + 2 ** (SLOT_BITS * cells))
            sums = [sums[0], _plus(self.parties.public, sums[1], more), *sums[2:]]
        told = None
        if job.manifest.key_mode == "threshold":
            signed = {agent: self.messages[message].signed for agent, message in cloud.contributions}
            told = forwarded(job, signed, checked, self.cloud_keys.public)
        step = coordinator.summed(job, job.round, job.attempt, sums, 0, told)
        after = self.committed(cloud, step)
        for number, attempt in (*cloud.aggregates, (job.round, job.attempt)):
            _must_refuse(
                lambda n=number, a=attempt: coordinator.summed(after.job, n, a, sums, 0, told),  # type: ignore[misc]
                "a sum that came late was taken",
            )
        return replace(after, aggregates=(*cloud.aggregates, (job.round, job.attempt)))

    def tick(self, cloud: int) -> int:
        key = ("tick", cloud)
        if key not in self._steps:
            before = self.clouds[cloud]
            job = before.job
            now = job.deadline
            if job.paused_since is not None:
                now = max(now, job.paused_since + self.manifest.deadlines.pause_seconds)
            self._steps[key] = self.cloud(self.committed(before, coordinator.tick(job, now)))
        return self._steps[key]  # type: ignore[return-value]

    def cancel(self, cloud: int) -> int:
        before = self.clouds[cloud]
        return self.cloud(self.committed(before, stages.cancel(before.job)))

    def take(self, number: int, name: AgentId, message: int) -> int:
        key = ("take", number, name, message)
        if key not in self._steps:
            self._steps[key] = self.hospital(self._taken(self.hospitals[number], name, message))
        return self._steps[key]  # type: ignore[return-value]

    def _taken(self, hospital: Hospital, name: AgentId, message: int) -> Hospital:
        before, sealed = hospital.participation, self.messages[message]
        if hospital.declined:
            return hospital
        try:
            if before is None:
                manifest = read_offer(sealed, name, self.keys[name])
                records = len(self.rows[name]) if manifest.is_secret else None
                own = self.ephemerals[name]
                step = participant.accept(manifest, name, "cd" * 32, own, self.keys[name], records=records)
            else:
                step = self._counted(participant.receive(before, sealed, self.keys[name]), name)
                again = participant.receive(step.participation, sealed, self.keys[name])
                assert again == AgentStep(step.participation), (
                    f"{name} acts on a repeated {sealed.envelope.type}"
                )
        except JobFailure as failure:
            assert before is not None
            step = participant.abort(before, failure.code)
        except PeerError:
            return hospital
        return self._said(hospital, name, step)

    def _counted(self, step: AgentStep, name: AgentId) -> AgentStep:
        wanted = next((effect for effect in step.effects if isinstance(effect, Count)), None)
        if wanted is None:
            return step
        here = step.participation
        assert here.attempt == 0 or here.aggregated < 0, f"{name} contributes again after a sum"
        counts = count_rows(self.rows[name], wanted.queries, schema_of(here.manifest))
        seed = hashlib.sha256(f"{name} {here.round} {here.attempt}".encode()).digest()
        return participant.contribute(here, counts, seed, self.keys[name])

    def _said(self, hospital: Hospital, name: AgentId, step: AgentStep) -> Hospital:
        after, outbox, sent, tree = (
            step.participation,
            list(hospital.outbox),
            list(hospital.sent),
            hospital.tree,
        )
        for effect in step.effects:
            if isinstance(effect, Say):
                address = Address(
                    effect.type, after.manifest.job, after.mh, after.round, after.attempt, name, CLOUD
                )
                sealed = seal(self.parties.identities[name], address, after.chain, effect.body)
                after = participant.said(after, sealed)
                outbox.append(self._message(sealed))
                if effect.type is MessageType.CONTRIBUTION:
                    sent.append((after.round, after.attempt, sealed.sha256))
            if isinstance(effect, Completed):
                tree = after.growth.tree.sha256 if after.result is None else after.result.sha256
        return replace(hospital, participation=after, outbox=tuple(outbox), sent=tuple(sent), tree=tree)

    def declines(self, number: int, name: AgentId) -> int:
        mh = hashlib.sha256(self.manifest.canonical()).hexdigest()
        address = Address(MessageType.JOB_DECLINE, self.manifest.job, mh, 0, 0, name, CLOUD)
        sealed = seal(self.parties.identities[name], address, Chain(), decline(self.manifest, "declined"))
        before = self.hospitals[number]
        return self.hospital(replace(before, declined=True, outbox=(self._message(sealed),)))

    def computes(self, cloud: int, number: int) -> int:
        """What the compute parties come to: the tree of the roster's records."""
        before = self.hospitals[number]
        assert before.participation is not None
        text = self.pooled_text(self.clouds[cloud].job.roster)
        step = participant.computed(
            before.participation, SecretResult(text, text), self.keys[before.participation.own]
        )
        return self.hospital(self._said(before, before.participation.own, step))

    def gives_up(self, number: int) -> int:
        before = self.hospitals[number]
        assert before.participation is not None
        step = participant.abort(before.participation, JobCode.CANCELLED)
        return self.hospital(self._said(before, before.participation.own, step))

    def lies(self, number: int, name: AgentId, heard: Mapping[int, ErrorCode | None]) -> int | None:
        """The agent's waiting decision, which the cloud has not heard yet, with another state and signed again.

        None where something waits behind it, which would name the true one as what came before.
        """
        before = self.hospitals[number]
        waiting = [
            m
            for m in before.outbox
            if self.messages[m].envelope.type is MessageType.DECISION and m not in heard
        ]
        if not waiting or before.participation is None or waiting[0] != before.outbox[-1]:
            return None
        envelope = self.messages[waiting[0]].envelope
        body = Decision.model_validate(envelope.body).model_copy(update={"state": "ee" * 32})
        address = Address(
            envelope.type, envelope.job, envelope.mh, envelope.round, envelope.attempt, name, CLOUD
        )
        forged = seal(self.parties.identities[name], address, Chain(envelope.seq, envelope.prev), body)
        chain = Chain(envelope.seq + 1, forged.sha256)
        outbox = tuple(self._message(forged) if m == waiting[0] else m for m in before.outbox)
        participation = replace(before.participation, chain=chain)
        return self.hospital(replace(before, participation=participation, outbox=outbox, has_lied=True))

    # --- effects of the cloud's steps -------------------------------------------------------------------------------

    def committed(self, cloud: Cloud, step: Step, contribution: int | None = None) -> Cloud:
        if cloud.job.is_over:
            assert step.job.state is cloud.job.state, f"{cloud.job.state} is no end"
        after = replace(cloud, job=replace(step.job, chain=cloud.job.chain))
        for effect in step.effects:
            match effect:
                case Broadcast():
                    receivers = _receivers(after.job, effect.type)
                    after = self._queued(
                        after, effect.type, (effect.round, effect.attempt), EVERYONE, effect.body, receivers
                    )
                case Dismiss():
                    for agent in effect.agents:
                        place = (after.job.round, after.job.attempt)
                        after = self._queued(
                            after, MessageType.ABORT, place, agent, Abort(code=effect.code), (agent,)
                        )
                case AcceptContribution():
                    assert contribution is not None
                    sender = AgentId(self.messages[contribution].envelope.sender)
                    after = replace(
                        after,
                        contributions=tuple(
                            sorted({**dict(after.contributions), sender: contribution}.items())
                        ),
                    )
                case DropContributions():
                    after = replace(after, contributions=())
                case ComputeSum():
                    assert not after.job.waiting_for, "a sum is due before every member has contributed"
                case _:
                    pass
        return after

    def _queued(
        self,
        cloud: Cloud,
        kind: MessageType,
        place: tuple[int, int],
        to: AgentId,
        body: WireModel,
        receivers: Iterable[AgentId],
    ) -> Cloud:
        job = cloud.job
        address = Address(kind, job.manifest.job, job.mh, *place, CLOUD, to)
        sealed = seal(self.parties.identities[CLOUD], address, job.chain, body)
        number, wanted = self._message(sealed), set(receivers)
        inboxes = tuple(
            (*inbox, number) if name in wanted else inbox
            for name, inbox in zip(self.names, cloud.inboxes, strict=True)
        )
        return replace(cloud, job=replace(job, chain=Chain(job.chain.seq + 1, "0" * 64)), inboxes=inboxes)

    def pooled(self, roster: tuple[AgentId, ...]) -> str:
        """Hash of the plain tree over the records of these hospitals."""
        return hashlib.sha256(self.pooled_text(roster).encode()).hexdigest()

    def pooled_text(self, roster: tuple[AgentId, ...]) -> str:
        """Canonical text of the plain tree over the records of these hospitals."""
        if roster not in self._pooled:
            schema = schema_of(self.manifest)
            rows = [row for name in roster for row in self.rows[name]]
            grown = grow(schema, rules_of(self.manifest), lambda queries: count_rows(rows, queries, schema))
            self._pooled[roster] = grown.tree.canonical().decode()
        return self._pooled[roster]

    # --- numbers for states and messages ------------------------------------------------------------------------------

    def _message(self, sealed: Sealed) -> int:
        number = self._message_numbers.setdefault(sealed.raw, len(self.messages))
        if number == len(self.messages):
            self.messages.append(sealed)
        return number

    def cloud(self, cloud: Cloud) -> int:
        cloud = replace(cloud, answers=tuple(sorted(cloud.answers, key=lambda answer: answer[0])))
        number = self._cloud_numbers.setdefault(repr(cloud), len(self.clouds))
        if number == len(self.clouds):
            self.clouds.append(cloud)
        return number

    def hospital(self, hospital: Hospital) -> int:
        here = hospital.participation
        journal = "" if here is None else json.dumps(to_json(here), sort_keys=True)
        known = repr(replace(hospital, participation=None)) + journal
        number = self._hospital_numbers.setdefault(known, len(self.hospitals))
        if number == len(self.hospitals):
            self.hospitals.append(hospital)
        return number


def _plus(public: PublicKey, ciphertext: str, more: int) -> str:
    value = decode_ciphertext(public, decode_base64url(ciphertext, what="sum"))
    return encode_base64url(encode_ciphertext(public, add_plaintext(public, value, more)))


def _receivers(job: Job, kind: MessageType) -> tuple[AgentId, ...]:
    """As `cloud_service.service.recording` has it."""
    if kind is MessageType.JOB_OFFER:
        return tuple(job.members)
    if job.roster:
        return job.roster
    return tuple(agent for agent, member in job.members.items() if member.declined is None)


def _ephemeral(name: str) -> tuple[bytes, bytes]:
    private = hashlib.sha256(name.encode()).digest()
    return private, agreement.public_of(private)


def _must_refuse(step: object, what: str) -> None:
    try:
        step()  # type: ignore[operator]
    except PeerError:
        return
    raise AssertionError(what)
