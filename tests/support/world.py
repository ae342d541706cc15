"""A cloud and hospitals in one process, joined by a network that loses, repeats, delays and reorders.

The steps are the product's (`shared.protocol`); what stands in for disks is a dict that only survives what was
committed. Every choice comes from one seed, so that a failing schedule can be run again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from shared.crypto import agreement, certificates
from shared.crypto.certificates import Role, Validity
from shared.crypto.identity import IdentityKey
from shared.crypto.key_holder import KeyHolder
from shared.crypto.paillier import PublicKey
from shared.crypto.paillier_private import PrivateKey
from shared.crypto.share_holder import ShareHolder
from shared.crypto.threshold_dealing import Dealt
from shared.crypto.wrapping import UnwrappingKey
from shared.errors import ErrorCode, JobFailure, PeerError
from shared.ids import CLOUD, EVERYONE, AgentId
from shared.protocol import coordinator, participant
from shared.protocol.agent_effects import Completed, Compute, Count, HospitalKeys, Say
from shared.protocol.agent_effects import Step as AgentStep
from shared.protocol.effects import AcceptContribution, Broadcast, ComputeSum, DropContributions, Forwarded
from shared.protocol.envelopes import Address, Chain, Sealed, seal, unseal, verify
from shared.protocol.job import Job, Step
from shared.protocol.joining import F_TABLE_BITS, read_offer
from shared.protocol.participation import Participation, SecretResult, from_json, rules_of, schema_of, to_json
from shared.protocol.profiles import RoundKeys
from shared.protocol.sums import (
    CheckedContribution,
    CloudKeys,
    check_contribution,
    compute_sum,
    forwarded,
)
from shared.protocol.trust import Trust
from shared.rng import random_bytes
from shared.tree.counting import count_rows
from shared.tree.criteria import f_table_sha256
from shared.tree.growing import grow
from shared.wire.base import WireModel, encode_base64url
from shared.wire.envelope import MessageType, SignedEnvelope
from shared.wire.manifest import Manifest
from shared.wire.rounds import Receipt
from tests.support.toy_keys import fixed_key

Rows = list[tuple[int, ...]]
TOY_KEY = fixed_key(512)
MAX_BYTES = 2**24
SECRET = bytes([0xFE]) * 32
VALIDITY = Validity(datetime(2020, 1, 1, tzinfo=UTC), datetime(2040, 1, 1, tzinfo=UTC))
UNWRAPPING = UnwrappingKey.generate()


@dataclass(frozen=True)
class RawBody:
    """A body that no model has checked."""

    content: dict[str, Any]

    def model_dump(self, **_options: object) -> dict[str, Any]:
        """As `seal` asks for it."""
        return self.content


@dataclass
class Parties:
    """The certified parties of a small federation, and the Paillier key that its hospitals share.

    dealt: of key mode threshold, the key in shares, one for each name in its order; then `key` is not used.
    """

    names: list[AgentId]
    key: PrivateKey = field(default=TOY_KEY, repr=False)
    root_key: IdentityKey = field(default_factory=IdentityKey.generate)
    identities: dict[str, IdentityKey] = field(default_factory=dict)
    certificates: dict[str, bytes] = field(default_factory=dict)
    dealt: Dealt | None = field(default=None, repr=False)

    @property
    def public(self) -> PublicKey:
        """The key under which jobs run."""
        return self.key.public if self.dealt is None else self.dealt.key.public

    def round_keys(self, name: AgentId) -> RoundKeys:
        """What a hospital's keyring holds."""
        if self.dealt is None:
            return RoundKeys(KeyHolder(self.key), SECRET)
        holders = {agent: index for index, agent in enumerate(self.names, start=1)}
        share = self.dealt.shares[holders[name] - 1]
        return RoundKeys(ShareHolder(self.dealt.key, holders[name], share), SECRET, holders=holders)

    def __post_init__(self) -> None:
        self.root = certificates.create_root(self.root_key, "test federation", VALIDITY, 1)
        for serial, name in enumerate([CLOUD, *self.names], start=2):
            key = IdentityKey.generate()
            role = Role.CLOUD if name == CLOUD else Role.AGENT
            second = UNWRAPPING.public.fingerprint if name == CLOUD else "ab" * 32
            request = certificates.create_request(key, name, role, second)
            subject = certificates.parse_request(request)
            self.identities[name] = key
            self.certificates[name] = certificates.issue(self.root_key, self.root, subject, VALIDITY, serial)

    @property
    def trust(self) -> Trust:
        """The members' list."""
        hashes = {name: hashlib.sha256(der).hexdigest() for name, der in self.certificates.items()}
        return Trust(self.root, hashes)

    def manifest(self, schema: Mapping[str, object], **changes: object) -> Manifest:
        """A manifest over all hospitals; every rule as loose as it can be unless changed."""
        fields: dict[str, object] = {
            "job": "ab" * 16,
            "study": "simulation",
            "question": "does the machine keep its promises?",
            "profile": "hardened",
            "criterion": "information-gain",
            "schema": schema,
            "invited": sorted(self.names),
            "key_id": self.public.key_id,
            "cloud_certificate": encode_base64url(self.certificates[CLOUD]),
            "rsa_public_key": encode_base64url(UNWRAPPING.public.to_der()),
            "f_table_sha256": f_table_sha256(F_TABLE_BITS),
            "min_node": 1,
            "min_child": 1,
            "max_depth": None,
            "synthetic": True,
            "deadlines": {"invite_seconds": 100, "round_seconds": 100, "pause_seconds": 500},
            "created": 0,
            "expires": 10**9,
        }
        if self.dealt is not None:
            threshold = self.dealt.key.threshold
            fields |= {
                "key_mode": "threshold",
                "threshold": threshold,
                "min_hospitals": max(3, threshold),
            }
        return Manifest.model_validate({**fields, **changes})


class CloudHost:
    """The cloud's shell: one dict of what is durable, and what a crash forgets."""

    def __init__(self, parties: Parties, manifest: Manifest) -> None:
        self.parties = parties
        self.keys = CloudKeys(parties.public, UNWRAPPING)
        self.inbox: list[bytes] = []
        self.replies: dict[tuple[str, int], tuple[str, bytes | PeerError]] = {}
        self.contributions: dict[AgentId, CheckedContribution] = {}
        self.signed: dict[AgentId, SignedEnvelope] = {}
        self.aggregates: dict[int, list[str]] = {}
        self.pending: ComputeSum | None = None
        self.sum = self._honest_sum
        self.job: Job
        ders = {name: parties.certificates[name] for name in parties.names}
        self.commit(coordinator.create(manifest, ders, 0))

    def commit(
        self,
        step: Step,
        contribution: tuple[AgentId, CheckedContribution] | None = None,
        signed: SignedEnvelope | None = None,
    ) -> None:
        """Carry out the effects of a step; all or nothing, as a transaction would."""
        self.job = step.job
        for effect in step.effects:
            match effect:
                case Broadcast():
                    self.inbox.append(
                        self.seal(effect.type, effect.round, effect.attempt, EVERYONE, effect.body).raw
                    )
                case AcceptContribution():
                    assert contribution is not None
                    assert signed is not None
                    self.contributions[contribution[0]] = contribution[1]
                    self.signed[contribution[0]] = signed
                case DropContributions():
                    self.contributions = {}
                    self.signed = {}
                case ComputeSum():
                    self.pending = effect
                case _:
                    pass

    def seal(self, kind: MessageType, number: int, attempt: int, to: str, body: WireModel) -> Sealed:
        """The next envelope of the cloud's chain."""
        address = Address(kind, self.job.manifest.job, self.job.mh, number, attempt, CLOUD, to)
        sealed = seal(self.parties.identities[CLOUD], address, self.job.chain, body)
        self.job = replace(self.job, chain=self.job.chain.after(sealed.sha256))
        return sealed

    def post(self, raw: bytes, now: int) -> bytes:
        """What `POST /v1/messages` does: the stored answer for a repeat, a step otherwise."""
        sealed = unseal(raw, max_bytes=MAX_BYTES)
        envelope = sealed.envelope
        verify(sealed, self.parties.identities[envelope.sender].public)
        known = self.replies.get((envelope.sender, envelope.seq))
        if known is not None:
            if known[0] != sealed.sha256:
                raise PeerError(ErrorCode.REPLAY_CONFLICT, "other bytes under a used seq")
            if isinstance(known[1], PeerError):
                raise known[1]
            return known[1]
        checked = None
        try:
            step = coordinator.receive(self.job, sealed, now)
            if envelope.type is MessageType.CONTRIBUTION:
                checked = (AgentId(envelope.sender), check_contribution(self.job, envelope, self.keys))
        except PeerError as refusal:
            self.job = coordinator.refused(self.job, sealed)
            self.replies[envelope.sender, envelope.seq] = (sealed.sha256, refusal)
            raise
        self.commit(step, checked, sealed.signed)
        body = Receipt(message_sha256=sealed.sha256, time=now, head="0" * 64)
        reply = self.seal(MessageType.RECEIPT, envelope.round, envelope.attempt, envelope.sender, body)
        self.replies[envelope.sender, envelope.seq] = (sealed.sha256, reply.raw)
        return reply.raw

    def work(self, now: int) -> None:
        """The summing worker, as often as it likes."""
        due = self.pending
        if due is None and self.job.state == "COLLECTING" and not self.job.waiting_for:
            due = ComputeSum(self.job.round, self.job.attempt)
        if due is None:
            return
        self.pending = None
        sums = self.sum(self.job, self.contributions)
        step = coordinator.summed(self.job, due.round, due.attempt, sums, now, self.forwards())
        assert due.round not in self.aggregates, "two aggregates for one round"
        self.aggregates[due.round] = sums
        self.commit(step)

    def forwards(self) -> Forwarded | None:
        """Of key mode threshold: what the members recompute the sum from."""
        if self.job.manifest.key_mode == "shared":
            return None
        return forwarded(self.job, self.signed, self.contributions, self.keys.public)

    def restart(self) -> None:
        """Forget what is not durable."""
        self.pending = None

    def _honest_sum(self, job: Job, checked: Mapping[AgentId, CheckedContribution]) -> list[str]:
        return compute_sum(job, checked, self.keys.public)


class HospitalHost:
    """A hospital's shell: the journal survives a crash, nothing else does."""

    def __init__(self, parties: Parties, name: AgentId, rows: Rows) -> None:
        self.parties = parties
        self.name = name
        self.rows = rows
        self.keys = HospitalKeys(parties.round_keys(name), parties.trust)
        self.journal: str | None = None
        self.outbox: list[bytes] = []
        self.cursor = 0
        self.contributed: set[tuple[int, int]] = set()
        self.opened: set[int] = set()
        self.tree: str | None = None
        self.refused: list[PeerError] = []
        self.failures: list[JobFailure] = []
        self.computes = False

    @property
    def participation(self) -> Participation | None:
        """As read from the journal, which is what a restarted agent has."""
        return None if self.journal is None else from_json(json.loads(self.journal))

    def take(self, position: int, raw: bytes) -> None:
        """One inbox item; the journal, the outbox and the cursor move together."""
        if position < self.cursor:
            return
        sealed = unseal(raw, max_bytes=MAX_BYTES)
        before = self.participation
        try:
            step = self._step(before, sealed)
        except JobFailure as failure:
            assert before is not None
            self.failures.append(failure)
            step = participant.abort(before, failure.code)
        except PeerError as error:
            self.refused.append(error)
            self.cursor = position + 1
            return
        self._commit(step)
        self.cursor = position + 1

    def _step(self, before: Participation | None, sealed: Sealed) -> AgentStep:
        if before is None:
            manifest = read_offer(sealed, self.name, self.keys)
            private = agreement.generate_private()
            return participant.accept(
                manifest,
                self.name,
                "cd" * 32,
                (private, agreement.public_of(private)),
                self.keys,
                records=len(self.rows) if manifest.is_secret else None,
            )
        step = participant.receive(before, sealed, self.keys)
        self.computes = self.computes or any(isinstance(effect, Compute) for effect in step.effects)
        return self._count(step)

    def _count(self, step: AgentStep) -> AgentStep:
        wanted = [effect for effect in step.effects if isinstance(effect, Count)]
        if not wanted:
            return step
        here = step.participation
        counts = count_rows(self.rows, wanted[0].queries, schema_of(here.manifest))
        assert (here.round, here.attempt) not in self.contributed, "two contributions under one context"
        self.contributed.add((here.round, here.attempt))
        return participant.contribute(here, counts, random_bytes(32), self.keys)

    def finish_computing(self, record: str) -> None:
        """The computing room's word that a secret job has come to its result."""
        before = self.participation
        if self.computes and before is not None and before.state == "COMPUTING":
            self.computes = False
            self._commit(participant.computed(before, SecretResult(record, record), self.keys))

    def take_receipt(self, raw: bytes, reply: bytes) -> None:
        """The answer to an own message: checked, and its log head journalled."""
        before = self.participation
        assert before is not None
        about, receipt = (unseal(part, max_bytes=MAX_BYTES) for part in (raw, reply))
        body = participant.read_receipt(receipt, about.sha256, before.manifest, before.mh, self.keys.trust)
        self.journal = json.dumps(to_json(replace(before, head=body.head)))

    def _commit(self, step: AgentStep) -> None:
        after = step.participation
        for effect in step.effects:
            if isinstance(effect, Say):
                address = Address(
                    effect.type, after.manifest.job, after.mh, after.round, after.attempt, self.name, CLOUD
                )
                sealed = seal(self.parties.identities[self.name], address, after.chain, effect.body)
                after = participant.said(after, sealed)
                self.outbox.append(sealed.raw)
                if effect.type is MessageType.PARTIAL:
                    assert after.round not in self.opened, "two partial decryptions of one round"
                    self.opened.add(after.round)
            if isinstance(effect, Completed):
                self.tree = after.growth.tree.sha256 if after.result is None else after.result.sha256
        self.journal = json.dumps(to_json(after))


class World:
    """One cloud, its hospitals, and the network between them."""

    def __init__(
        self,
        seed: int,
        rows: Mapping[str, Rows],
        schema: Mapping[str, object],
        *,
        key: PrivateKey = TOY_KEY,
        dealt: Dealt | None = None,
        **changes: object,
    ) -> None:
        self.choose = random.Random(seed)
        self.parties = Parties([AgentId(name) for name in rows], key, dealt=dealt)
        self.cloud = CloudHost(self.parties, self.parties.manifest(schema, **changes))
        self.hospitals = {
            name: HospitalHost(self.parties, AgentId(name), list(own)) for name, own in rows.items()
        }
        self.now = 1
        self.late_posts: list[bytes] = []
        self.late_items: list[tuple[str, int, bytes]] = []
        self.silent: set[str] = set()
        self.records: dict[str, str] = {}
        self.tamper: Callable[[str, bytes], bytes | None] = lambda _name, raw: raw

    def run(self, steps: int, *, faults: float = 0.3) -> None:
        """So many random moves; `faults` is the share of messages that the network mistreats."""
        for _ in range(steps):
            if self.finished():
                return
            self.move(faults)

    def finished(self) -> bool:
        """Whether every hospital that still talks has its tree or knows that there will be none."""
        talking = [h for name, h in self.hospitals.items() if name not in self.silent]
        ends = [
            h.participation is not None and h.participation.state in ("COMPLETE", "ABORTED") for h in talking
        ]
        return all(ends) and not any(h.outbox for h in talking)

    def forge(self, raw: bytes, change: Callable[[dict[str, Any]], None]) -> bytes:
        """What an active cloud can do to a message of its own: change the body and sign it again."""
        envelope = unseal(raw, max_bytes=MAX_BYTES).envelope
        body = json.loads(json.dumps(envelope.body))
        change(body)
        address = Address(
            envelope.type, envelope.job, envelope.mh, envelope.round, envelope.attempt, CLOUD, envelope.to
        )
        chain = Chain(envelope.seq, envelope.prev)
        return seal(self.parties.identities[CLOUD], address, chain, RawBody(body)).raw  # type: ignore[arg-type]

    def move(self, faults: float) -> None:
        """One thing happens somewhere."""
        name = self.choose.choice([n for n in self.hospitals if n not in self.silent])
        hospital = self.hospitals[name]
        what = self.choose.random()
        if what < 0.4:
            self.fetch(name, hospital, faults)
        elif what < 0.8:
            self.send(hospital, faults)
        elif what < 0.9:
            self.cloud.work(self.now)
            if hospital.computes:
                hospital.finish_computing(self.records.get(name) or self.pooled())
        elif what < 0.95:
            self.deliver_late()
        else:
            self.cloud.restart()  # a hospital restarts at every message: it keeps nothing but its journal

    def pooled(self) -> str:
        """What three compute parties would come to: the tree of all records of the roster."""
        manifest = self.cloud.job.manifest
        schema = schema_of(manifest)
        rows = [row for name in self.cloud.job.roster for row in self.hospitals[name].rows]
        growth = grow(schema, rules_of(manifest), lambda queries: count_rows(rows, queries, schema))
        return growth.tree.canonical().decode()

    def fetch(self, name: str, hospital: HospitalHost, faults: float) -> None:
        """A poll; its answer may be lost, or come again later."""
        for position in range(hospital.cursor, len(self.cloud.inbox)):
            raw = self.tamper(name, self.cloud.inbox[position])
            if raw is None:
                hospital.cursor = position + 1
                continue
            if self.choose.random() < faults:
                self.late_items.append((name, position, raw))
                return
            hospital.take(position, raw)

    def send(self, hospital: HospitalHost, faults: float) -> None:
        """The oldest unacknowledged message, until its receipt has come back."""
        if not hospital.outbox:
            return
        raw = hospital.outbox[0]
        fate = self.choose.random()
        if fate < faults / 3:
            return  # the request is lost
        if fate < faults * 2 / 3:
            self.late_posts.append(raw)
        try:
            reply = self.cloud.post(raw, self.now)
        except PeerError as error:
            if error.code not in (ErrorCode.LATE, ErrorCode.WRONG_ROUND, ErrorCode.ROSTER_MISMATCH):
                raise
            hospital.outbox.pop(0)
            return
        if self.choose.random() < faults / 2:
            return  # the reply is lost: the very same bytes go out again
        hospital.take_receipt(raw, reply)
        hospital.outbox.pop(0)

    def deliver_late(self) -> None:
        """A copy that was under way for long arrives, in no order."""
        if self.late_posts:
            raw = self.late_posts.pop(self.choose.randrange(len(self.late_posts)))
            self._post_late(raw)
        if self.late_items:
            name, position, raw = self.late_items.pop(self.choose.randrange(len(self.late_items)))
            if position <= self.hospitals[name].cursor:
                self.hospitals[name].take(position, raw)

    def _post_late(self, raw: bytes) -> None:
        if not self._known(raw):
            return
        before = self.cloud.job
        with contextlib.suppress(PeerError):
            self.cloud.post(raw, self.now)
        assert self.cloud.job == before, "a repeat has changed the job"

    def _known(self, raw: bytes) -> bool:
        envelope = unseal(raw, max_bytes=MAX_BYTES).envelope
        return (envelope.sender, envelope.seq) in self.cloud.replies

    def wait(self, seconds: int) -> None:
        """Time passes and the cloud's clock ticks."""
        self.now += seconds
        self.cloud.commit(coordinator.tick(self.cloud.job, self.now))
