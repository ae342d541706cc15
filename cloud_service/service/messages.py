"""The message door: one signed envelope in, one signed receipt out; a repeat gets the first answer (rule C5).

Order of the checks: length, signature and sender; a repeat; then for a contribution its ciphertexts and the unwrap,
outside any lock and only when round, attempt and state fit; then, with the job locked, the step itself. What is
refused changes nothing but the sender's place in its own chain of messages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import structlog
from sqlalchemy import Connection

from cloud_service.service import cross_heads, quality
from cloud_service.service.admission import Admission
from cloud_service.service.aftermath import Aftermath
from cloud_service.service.doorway import SMALL_BYTES, longest, read_tail
from cloud_service.service.federation import Membership
from cloud_service.service.history import lose_in
from cloud_service.service.logs import about
from cloud_service.service.meters import count_message
from cloud_service.service.presence import Presence
from cloud_service.service.quotas import Quotas
from cloud_service.service.rates import Rates
from cloud_service.service.recording import News, Recorder
from cloud_service.service.telemetry import TRACES
from cloud_service.store import history, jobs, journal, messages
from cloud_service.store.database import Database
from cloud_service.store.jobs import StoredJob
from cloud_service.store.messages import Prior
from shared.crypto import identity
from shared.errors import ErrorCode, JobCode, PeerError
from shared.ids import CLOUD, AgentId
from shared.protocol import coordinator
from shared.protocol.audit_log import SignedClaim
from shared.protocol.envelopes import ENVELOPE_CONTEXT, Sealed, Signer, body_of, unseal, verify
from shared.protocol.history import gives_up_astray, is_ahead, is_heard
from shared.protocol.job import Step
from shared.protocol.sums import CheckedContribution, check_contribution
from shared.wire.envelope import MessageType
from shared.wire.rounds import Abort

_log = structlog.get_logger()
_NO_NEWS: Final = News()

Verdict = CheckedContribution | PeerError | None
"""Of a contribution that was looked at before the job was locked; None: it was not looked at."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What the locked part came to: the answer, or the refusal to raise once it is committed."""

    reply: bytes
    refusal: PeerError | None = None
    news: News = _NO_NEWS


@dataclass(frozen=True, slots=True)
class _Heard:
    """A message whose signature holds, what came beside it, and what the look without a lock came to."""

    sealed: Sealed
    claim: SignedClaim | None
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class MessageDoor:
    """`POST /v1/messages`."""

    database: Database
    membership: Membership
    admission: Admission
    signer: Signer
    aftermath: Aftermath
    rates: Rates
    presence: Presence
    quotas: Quotas
    clock: Callable[[], int]

    def accept(self, raw: bytes, journal_claim: str | None = None) -> bytes:
        """The receipt of one message, as bytes.

        Args: journal_claim: what its header says of the sender's own log, not yet verified.
        Raises: PeerError: refused, with a code of protocol section 13. TemporaryError: nothing was done.
        """
        if len(raw) > SMALL_BYTES:
            self._gate(raw)
        sealed = unseal(raw, max_bytes=len(raw))
        envelope = sealed.envelope
        if envelope.to != CLOUD:
            raise PeerError(ErrorCode.MALFORMED, "message: it is not addressed to the cloud")
        with self.database.read() as connection:
            certificate = self.admission.sender(connection, envelope.job, envelope.sender)
            prior = messages.prior(connection, envelope)
        verify(sealed, certificate.public_key)
        about(job=envelope.job, agent=envelope.sender, round=envelope.round, type=envelope.type.value)
        self.presence.saw(AgentId(envelope.sender))
        self.rates.spend(envelope.sender)
        self.quotas.take_message(envelope.sender, len(raw))
        if prior is not None and prior.sha256 == messages.digest(raw):
            return _first_answer(prior)
        claim = cross_heads.believed(journal_claim, sealed, certificate.public_key)
        looks = prior is None and envelope.type is MessageType.CONTRIBUTION
        verdict = self._examine(sealed) if looks else None
        try:
            with TRACES.span("message step", {"privet.type": envelope.type.value}):
                reply = self._record(_Heard(sealed, claim, verdict))
        except PeerError as error:
            count_message(envelope.type.value, error.code)
            _log.warning("refused", job=envelope.job, agent=envelope.sender, code=error.code.value)
            raise
        count_message(envelope.type.value, None)
        return reply

    def _gate(self, raw: bytes) -> None:
        """A long message: sender, length and signature before anything is parsed."""
        tail = read_tail(raw)
        with self.database.read() as connection:
            certificate = self.admission.sender(connection, tail.job, tail.sender)
            stored = jobs.glance(connection, tail.job)
        if stored is None:
            raise _no_such_job()
        limit = longest(stored.job, tail.type, self.membership.public_key(stored.job.manifest.key_id).bits)
        if len(raw) > limit:
            raise PeerError(ErrorCode.TOO_LARGE, f"{tail.type}: at most {limit} bytes here, got {len(raw)}")
        identity.verify(certificate.public_key, tail.signature, ENVELOPE_CONTEXT + tail.sha256)

    def _examine(self, sealed: Sealed) -> Verdict:
        """The dear checks of a contribution, without a lock; the cheap ones first."""
        with self.database.read() as connection:
            stored = jobs.glance(connection, sealed.envelope.job)
            if stored is None:
                return None
            try:
                coordinator.receive(stored.job, sealed, self.clock())
            except PeerError:
                return None  # the locked part comes to the same end, and records it
            stored.job.context()  # reads what the check needs of the members
        try:
            keys = self.membership.keys_of(stored.job.manifest)
            return check_contribution(stored.job, sealed.envelope, keys)
        except PeerError as error:
            return error

    def _record(self, heard: _Heard) -> bytes:
        sealed = heard.sealed
        with self.database.write() as connection:
            stored = jobs.glance(connection, sealed.envelope.job, lock=True)
            if stored is None:
                raise _no_such_job()
            prior = messages.prior(connection, sealed.envelope)
            if prior is not None:
                outcome = self._conflict(connection, stored, sealed, prior)
            else:
                outcome = self._step(connection, stored, heard)
        self.aftermath.follow(sealed.envelope.job, outcome.news)
        if outcome.refusal is not None:
            raise outcome.refusal
        return outcome.reply

    def _conflict(self, connection: Connection, stored: StoredJob, sealed: Sealed, prior: Prior) -> _Outcome:
        """Another message in a place that is taken: kept, refused, and an abort among such ends the job all the same.

        An agent whose folder was put back has forgotten what it said, and gives up in a place that it used before.
        """
        if prior.sha256 == messages.digest(sealed.raw):
            return _Outcome(_first_answer(prior))
        envelope, now, news = sealed.envelope, self.clock(), _NO_NEWS
        gives_up = envelope.type is MessageType.ABORT and is_heard(stored.job, envelope)
        code = body_of(envelope, Abort).code if gives_up else None
        messages.keep_evidence(connection, sealed, prior, now)
        if code is not None:
            recorder = Recorder(self.database, connection, stored, self.signer, now)
            lose_in(recorder, envelope.sender, code)
            news = recorder.finish()
        text = f"another {envelope.type} of {envelope.sender} was taken in its place; both are kept"
        return _Outcome(b"", PeerError(ErrorCode.REPLAY_CONFLICT, text), news)

    def _step(self, connection: Connection, stored: StoredJob, heard: _Heard) -> _Outcome:
        now, sealed = self.clock(), heard.sealed
        recorder = Recorder(self.database, connection, stored, self.signer, now)
        if is_ahead(stored.job, sealed.envelope) or gives_up_astray(stored.job, sealed.envelope):
            return self._lose(recorder, connection, stored, sealed)
        try:
            step = coordinator.receive(stored.job, sealed, now)
            quality.check(connection, stored, sealed)
            if sealed.envelope.type is MessageType.CONTRIBUTION:
                self._keep(stored, sealed, heard.verdict)
        except PeerError as error:
            return self._refuse(recorder, connection, stored, heard, error)
        fork = cross_heads.compare(connection, stored, sealed, heard.claim)
        if fork is not None:
            step = cross_heads.told(step, stored, sealed, fork)
        recorder.heard(sealed, claim=heard.claim)
        recorder.take(step, contribution=sealed)
        if sealed.envelope.type is MessageType.ATTEST:
            _keep_tree(connection, sealed)
            quality.keep(connection, stored, sealed)
        reply = recorder.receipt(sealed)
        messages.add(connection, sealed, reply, now)
        news = recorder.finish()
        if fork is not None:
            cross_heads.put_down(connection, stored, sealed, fork, now)
        return _Outcome(reply, news=news)

    def _lose(
        self, recorder: Recorder, connection: Connection, stored: StoredJob, sealed: Sealed
    ) -> _Outcome:
        """A message that follows one which is not here: the job ends, with the message as evidence."""
        envelope, now = sealed.envelope, self.clock()
        history.keep_claim(
            connection,
            envelope.job,
            envelope.sender,
            stored.job.head,
            sealed.raw,
            now,
            keeps_raw=messages.may_stay(envelope),
        )
        gives_up = envelope.type is MessageType.ABORT
        code = body_of(envelope, Abort).code if gives_up else JobCode.HISTORY_LOST
        lose_in(recorder, envelope.sender, code)
        _log.error("history lost", job=envelope.job, agent=envelope.sender, code=code.value)
        text = f"seq {envelope.seq} of {envelope.sender} follows messages that are not here; the job is over"
        return _Outcome(b"", PeerError(ErrorCode.REPLAY_CONFLICT, text), recorder.finish())

    def _keep(self, stored: StoredJob, sealed: Sealed, verdict: Verdict) -> None:
        """Raise the verdict if it is a refusal, otherwise keep the checked contribution for the sum."""
        if verdict is None:  # round or state changed since the look without a lock
            keys = self.membership.keys_of(stored.job.manifest)
            verdict = check_contribution(stored.job, sealed.envelope, keys)
        if isinstance(verdict, PeerError):
            raise verdict
        self.aftermath.checked.put(stored.job, AgentId(sealed.envelope.sender), verdict)

    def _refuse(
        self, recorder: Recorder, connection: Connection, stored: StoredJob, heard: _Heard, error: PeerError
    ) -> _Outcome:
        """Note the refusal in the sender's chain. Raises: PeerError: it is not the sender's next message."""
        sealed = heard.sealed
        job = coordinator.refused(stored.job, sealed)
        recorder.heard(sealed, refused=error, claim=heard.claim)
        recorder.take(Step(job))
        messages.add(connection, sealed, str(error).encode(), self.clock(), refused=error.code.value)
        return _Outcome(b"", error, recorder.finish())


def _first_answer(prior: Prior) -> bytes:
    if prior.refused is not None:
        raise PeerError(ErrorCode(prior.refused), prior.reply.decode())
    return prior.reply


def _keep_tree(connection: Connection, sealed: Sealed) -> None:
    body = sealed.envelope.body
    if body["tree"] is not None:
        envelope = sealed.envelope
        journal.add_tree(
            connection, envelope.job, envelope.sender, str(body["tree_sha256"]), str(body["tree"])
        )


def _no_such_job() -> PeerError:
    return PeerError(ErrorCode.ROSTER_MISMATCH, "no job here to which the sender is invited")
