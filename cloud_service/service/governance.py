"""Agents' side of study governance: fetch documents, answer them, consent to a difference; and who has answered what.

Answers and consents carry their own signatures, so they are evidence whoever brings them, and may come late and twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Row
from sqlalchemy.exc import IntegrityError

from cloud_service.service import acts
from cloud_service.service.admission import Admission
from cloud_service.service.aftermath import Aftermath
from cloud_service.service.federation import Membership
from cloud_service.service.presence import Presence
from cloud_service.service.rates import Rates
from cloud_service.service.recording import News, Recorder
from cloud_service.service.terms import PENDING, STATE_OF
from cloud_service.store import governance, jobs
from cloud_service.store.database import Database
from shared.errors import ErrorCode, PeerError
from shared.ids import AgentId
from shared.protocol import stages
from shared.protocol.consenting import verify_consent
from shared.protocol.effects import Note
from shared.protocol.envelopes import Signer
from shared.protocol.governing import sign_study, verify_answer
from shared.protocol.job import Step
from shared.protocol.polling import MAX_SKEW_SECONDS, read_studies_call, verify_studies_call
from shared.wire.consent import MAX_CONSENTS, SignedConsent
from shared.wire.study import SignedAnswer, SignedStudy, StudyDocument, StudyLine, StudyLines

MAX_ANSWERS: Final = 100
"""Of one hospital to one study; then it can withdraw what it approved, and nothing else."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What a member has said to a document last; `since`: when that came, Unix seconds, None while `pending`."""

    hospital: str
    state: str
    code: str | None = None
    reason: str = ""
    since: int | None = None


@dataclass(frozen=True, slots=True)
class Governance:
    """`/v1/agent/studies` and what people see of it."""

    database: Database
    membership: Membership
    admission: Admission
    signer: Signer
    aftermath: Aftermath
    rates: Rates
    presence: Presence
    clock: Callable[[], int]

    def change(self) -> int:
        """The number of the last change of studies, which agents compare with the one they know."""
        with self.database.read() as connection:
            return governance.newest_change(connection)

    def caller(self, header: str, study: str | None) -> AgentId:
        """Whose call it is. Args: study: the one in the address, which the signed claim must name too.

        Raises: PeerError: `malformed`, `unknown_agent`, `bad_signature`. RateLimitedError.
        """
        call, signature = read_studies_call(header)
        with self.database.read() as connection:
            certificate = self.admission.caller(connection, call.agent)
        verify_studies_call(call, signature, certificate.public_key, self.clock())
        if call.study != study:
            raise PeerError(ErrorCode.BAD_SIGNATURE, "the signed call names another study than the address")
        agent = AgentId(call.agent)
        self.presence.saw(agent)
        self.rates.spend(agent)
        return agent

    def lines(self, agent: AgentId) -> StudyLines:
        """The studies that invite the agent, which is known from now on to read them."""
        with self.database.read() as connection:
            change = governance.newest_change(connection)
            rows = governance.documents_of(connection, agent)
            is_known = agent in governance.readers(connection)
        if not is_known:
            with suppress(IntegrityError), self.database.write() as connection:
                governance.note_reader(connection, agent, self.clock())
        lines = [StudyLine(id=row.study, sha256=row.sha256, closed=row.closed or 0) for row in rows]
        return StudyLines(change=change, studies=lines)

    def signed(self, agent: AgentId, study: str) -> SignedStudy:
        """A document that invites the agent. Raises: PeerError: `roster_mismatch`: none of that id does."""
        with self.database.read() as connection:
            document = self._document(connection, study, agent)
        return sign_study(document, self.signer, self.membership.current().certificate)

    def take_answer(self, study: str, signed: SignedAnswer) -> None:
        """A hospital's signed answer, kept for good; the same again changes nothing.

        A withdrawal also ends the jobs that the hospital takes part in.
        Raises: PeerError: `malformed`: about another study; `roster_mismatch`: not invited, or to another document;
            `replay_conflict`: a later or another answer was taken; `too_large`: after `MAX_ANSWERS`; `unknown_agent`;
            `bad_signature`. RateLimitedError.
        """
        answer, now = signed.answer, self.clock()
        agent = AgentId(answer.hospital)
        if answer.study != study:
            raise PeerError(ErrorCode.MALFORMED, "answer: it is about another study than the address names")
        with self.database.read() as connection:
            certificate = self.admission.caller(connection, agent)
        verify_answer(signed, certificate.public_key)
        self.presence.saw(agent)
        self.rates.spend(agent)
        raw = signed.canonical()
        news: list[tuple[str, News]] = []
        try:
            with self.database.write() as connection:
                document = self._document(connection, study, agent, lock=True)
                if document.sha256 != answer.study_sha256:
                    raise PeerError(
                        ErrorCode.ROSTER_MISMATCH, "answer: it is to another document than this study has"
                    )
                if self._is_known(connection, signed, raw, now):
                    return
                row: dict[str, Any] = {
                    "study": study,
                    "agent": agent,
                    **answer.model_dump(include={"answer", "code", "reason", "time"}),
                }
                row |= {"code": answer.code, "raw": raw, "received": now}
                governance.add_answer(connection, row)
                if answer.answer != "approve":
                    news = self._end_jobs(connection, study, agent, now)
                act = f"study_{STATE_OF[answer.answer]}"
                _record(connection, agent, act, study, document.sha256, raw, now)
        except IntegrityError:
            raise PeerError(
                ErrorCode.REPLAY_CONFLICT, "answer: another one of the same time was taken"
            ) from None
        for job, told in news:
            self.aftermath.follow(job, told)

    def _is_known(self, connection: Connection, signed: SignedAnswer, raw: bytes, now: int) -> bool:
        """Whether exactly this answer was taken. Raises: PeerError: it is not the hospital's next one."""
        answer = signed.answer
        own = [row for row in governance.answers_of(connection, answer.study) if row.agent == answer.hospital]
        if any(bytes(row.raw) == raw for row in own):
            return True
        if own and answer.time <= own[-1].time:
            raise PeerError(
                ErrorCode.REPLAY_CONFLICT,
                f"answer: one of {own[-1].time} was taken, this one is of {answer.time}",
            )
        if answer.time > now + MAX_SKEW_SECONDS:
            raise PeerError(
                ErrorCode.BAD_SIGNATURE, f"answer: signed at {answer.time}, it is {now} here; set the clock"
            )
        if not own and answer.answer == "withdraw":
            raise PeerError(ErrorCode.REPLAY_CONFLICT, "answer: nothing was approved that could be withdrawn")
        ends = bool(own) and own[-1].answer == "approve" and answer.answer != "approve"
        if len(own) >= MAX_ANSWERS and not ends:
            raise PeerError(
                ErrorCode.TOO_LARGE,
                f"answer: {MAX_ANSWERS} of {answer.hospital} to study {answer.study} are kept, and no more are taken; "
                "the study goes on without it, or ask the coordinator for a new study",
            )
        return False

    def _end_jobs(
        self, connection: Connection, study: str, agent: AgentId, now: int
    ) -> list[tuple[str, News]]:
        """Cancel the jobs that the hospital takes part in; those it has not answered it will decline by itself."""
        ended = []
        for job_id in governance.running_with(connection, study, agent):
            stored = jobs.load(connection, job_id, lock=True)
            if stored is None or stored.job.is_over or stored.job.members[agent].accept is None:
                continue
            if stored.job.roster and agent not in stored.job.roster:
                continue
            step = stages.cancel(stored.job)
            note = Note("withdrawn_by", {"hospital": agent})
            recorder = Recorder(self.database, connection, stored, self.signer, now)
            recorder.take(Step(step.job, (note, *step.effects)))
            ended.append((job_id, recorder.finish()))
        return ended

    def take_consent(self, study: str, signed: SignedConsent) -> None:
        """A hospital's consent to a difference with one of its studies; the same pair again changes nothing.

        Raises: PeerError: `roster_mismatch`: the study has another document or does not invite it; `too_large`: after
            `MAX_CONSENTS` to it; `unknown_agent`; `bad_signature`. RateLimitedError.
        """
        consent, now = signed.consent, self.clock()
        agent = AgentId(consent.hospital)
        verify_consent(signed, self.membership.current().trust)
        self.presence.saw(agent)
        self.rates.spend(agent)
        values = {
            "agent": agent,
            "with_sha256": consent.with_sha256,
            "without_sha256": consent.without_sha256,
            "consent": consent.canonical(),
            "signature": signed.signature,
            "received": now,
        }
        with self.database.write() as connection:
            document = self._document(connection, study, agent, lock=True)
            if document.sha256 != consent.with_sha256:
                raise PeerError(
                    ErrorCode.ROSTER_MISMATCH, "consent: it is about another document than this study has"
                )
            pair = (agent, consent.with_sha256, consent.without_sha256)
            if governance.same_consent(connection, *pair) is None:
                if governance.count_consents(connection, agent, consent.with_sha256) >= MAX_CONSENTS:
                    raise PeerError(
                        ErrorCode.TOO_LARGE,
                        f"consent: {MAX_CONSENTS} of {agent} to this document are kept, and no more are taken; "
                        "ask the coordinator for a new study",
                    )
                governance.add_consent(connection, values)
                _record(connection, agent, "consented", study, document.sha256, signed.canonical(), now)

    def _document(
        self, connection: Connection, study: str, agent: AgentId, *, lock: bool = False
    ) -> StudyDocument:
        row = governance.document(connection, study, lock=lock)
        document = None if row is None else StudyDocument.model_validate_json(row.document)
        if document is None or agent not in document.members:
            raise PeerError(ErrorCode.ROSTER_MISMATCH, "no study here of that id invites the sender")
        return document

    def standings(self, document: StudyDocument) -> list[Standing]:
        """Each member's last answer, by id."""
        with self.database.read() as connection:
            rows = governance.answers_of(connection, document.id)
        return _standings(document, rows)


def _standings(document: StudyDocument, rows: Iterable[Row[Any]]) -> list[Standing]:
    last = {row.agent: row for row in rows}
    return [
        Standing(agent, STATE_OF[row.answer], row.code, row.reason, row.received)
        if (row := last.get(agent)) is not None
        else Standing(agent, PENDING)
        for agent in document.members
    ]


def _record(
    connection: Connection, agent: AgentId, act: str, study: str, sha256: str, word: bytes, now: int
) -> None:
    """A line in the log of acts: who said what to which document, and the hash of the signed word."""
    details: dict[str, acts.Detail] = {"sha256": sha256, "word_sha256": hashlib.sha256(word).hexdigest()}
    acts.record(connection, actor=agent, act=act, subject=study, now=now, details=details)
