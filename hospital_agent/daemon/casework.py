"""The jobs that this hospital has accepted: each message of the cloud becomes a step, and each step one journal entry.

The entry of a step holds the new state, the bytes to send and the place in the inbox, in one transaction. A step
that was cut off left nothing behind and is made again from the same message.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from hospital_agent.computing.room import Room
from hospital_agent.daemon import budget
from hospital_agent.daemon.deriving import source_for
from hospital_agent.daemon.finishing import keep, model_of
from hospital_agent.daemon.office import Office
from hospital_agent.daemon.publishing import left_with, with_figures
from hospital_agent.daemon.remembering import FORGOT
from hospital_agent.daemon.steps import Outcome, Stopwatch, carry_out
from hospital_agent.journal import JobEntry, JobStatus, OutgoingMessage, Tally, studies
from hospital_agent.journal.messages import note_received, note_refused, note_sent
from hospital_agent.keyring import Spent
from hospital_agent.policy import shows_result, tells_of_one
from hospital_agent.records import Snapshot
from shared.errors import ErrorCode, InputError, InternalError, JobCode, JobFailure, PeerError
from shared.protocol.agent_effects import Aborted, Completed, Count, HospitalKeys
from shared.protocol.asking import asked_of
from shared.protocol.consenting import SeenRoster, valid_consents
from shared.protocol.envelopes import ZERO_HASH, Sealed, body_of, unseal
from shared.protocol.joining import MAX_OFFER_BYTES
from shared.protocol.participant import abort, read_receipt, receive
from shared.protocol.participation import Participation, from_json, schema_of, to_json
from shared.protocol.states import AgentState
from shared.texts import text
from shared.wire.envelope import MessageType
from shared.wire.manifest import Manifest
from shared.wire.rounds import JobOffer, Roster

MAX_RECEIPT_BYTES: Final = 2**16


@dataclass(slots=True)
class Case:
    """One accepted job in memory; the journal has all of it."""

    entry: JobEntry
    participation: Participation
    snapshot: Snapshot | None = field(repr=False)


@dataclass(slots=True)
class Casework:
    """Every accepted job of one agent. `unbooked`: figures that go into the journal with the job's next entry.

    `room`: where its secret jobs compute. `due`: those whose computing is to begin, or to go on after a restart.
    """

    office: Office
    room: Room
    cases: dict[str, Case] = field(default_factory=dict)
    due: list[Case] = field(default_factory=list)
    unbooked: dict[str, Tally] = field(default_factory=dict)

    def resume(self) -> None:
        """Take up the jobs that were running when the agent stopped."""
        running = self.office.journal.jobs(JobStatus.ACTIVE)
        self.office.discard_snapshots_but({str(entry.snapshot_sha256) for entry in running})
        self.room.discard_all_but({entry.job for entry in running})
        for entry in running:
            if entry.participation is None:
                raise InternalError("an active job without its state in the journal")
            participation = from_json(entry.participation)
            case = Case(entry, participation, None)
            self.cases[entry.job] = case
            try:
                schema = schema_of(participation.manifest)
                source = source_for(self.office, participation.manifest)
                case.snapshot = source.reopen(schema, str(entry.snapshot_sha256))
            except InputError as error:
                self.give_up(case, JobCode.CANCELLED, str(error))
                continue
            told = text("step.goes_on", phase=entry.phase)
            self.office.progress.tell(told, job=entry.job, phase=entry.phase)
            if participation.manifest.is_secret and participation.roster:
                self.due.append(case)

    def take(self, case: Case, sealed: Sealed, inbox_id: int) -> None:
        """One message of the cloud about an accepted job.

        Raises: PeerError: refused, nothing changed. TemporaryError: the records cannot be reached now.
        """
        watch, keys = Stopwatch(), self.keys_of(case)
        spent = self.office.keyring.cipher(case.participation.manifest.key_id).spent
        before = replace(spent)
        try:
            with watch.part("receive"):
                step = receive(case.participation, sealed, keys)
            _note_opening(watch, sealed, spent.since(before))
            if step.participation is case.participation:
                return
            self._check_new_roster(case, step.participation)
            if any(isinstance(effect, Count) for effect in step.effects):
                budget.check_round(self.office, step.participation, case.entry.records_identity)
            step = with_figures(self.office, step, case.entry.certificates)
            outcome = carry_out(step, case.snapshot, keys, self.office.keyring.identity, watch)
        except JobFailure as failure:
            self.give_up(case, failure.code, str(failure), inbox_id=inbox_id, evidence=sealed)
            return
        except (InputError, InternalError) as error:
            self.give_up(case, JobCode.CANCELLED, str(error), inbox_id=inbox_id)
            return
        self.add(case.entry.job, _tally(watch, spent.since(before)))
        self._settle(case, outcome, sealed, inbox_id)

    def take_receipt(self, message: OutgoingMessage, raw: bytes) -> None:
        """The cloud's answer to an own message. A receipt that does not hold is told and kept, not believed."""
        journal, progress = self.office.journal, self.office.progress
        entry = journal.job(message.job)
        if entry is None:
            raise InternalError("a message of a job that the journal does not know")
        case = self.cases.get(message.job)
        manifest = case.participation.manifest if case else manifest_of(entry)
        head = case.participation.head if case else ZERO_HASH
        trust = self.office.keyring.hospital_trust()
        try:
            sealed = unseal(raw, max_bytes=MAX_RECEIPT_BYTES)
            head = read_receipt(sealed, message.sha256, manifest, entry.mh, trust).head
        except PeerError as error:
            progress.warn(
                f"the cloud's receipt does not hold: {error}", job=message.job, code=error.code.value
            )
        with journal.transaction(durable=False):
            journal.acknowledge(message, raw)
            note_sent(journal, message, head, **left_with(message))
            if case:
                case.participation = replace(case.participation, head=head)
                entry = replace(case.entry, participation=to_json(case.participation))
            entry = self.booked(entry)
            if case:
                case.entry = entry
            journal.put_job(entry)

    def take_refusal(self, message: OutgoingMessage, error: PeerError) -> None:
        """The cloud refused an own message for good.

        Where it has only moved on, its word on the job's end is on the way; else the others must not wait in vain. One
        that was taken in another's place shows that one side has forgotten: it was put back from a backup.
        """
        journal = self.office.journal
        case = self.cases.get(message.job)
        self.office.progress.warn(
            f"{message.type}: {error}", job=message.job, code=error.code.value, type=message.type
        )
        with journal.transaction():
            journal.refuse(message)
            note_refused(journal, message, error.code.value)
        if case and message.type == MessageType.JOB_ACCEPT:
            self.close(case, JobStatus.FAILED, code=error.code.value, reason=str(error))
        elif case and error.code is ErrorCode.REPLAY_CONFLICT:
            self.give_up(case, JobCode.HISTORY_LOST, FORGOT.format(kind=message.type))
        elif case and error.code is not ErrorCode.LATE:
            self.give_up(case, JobCode.CANCELLED, f"the cloud refused a {message.type}: {error}")

    def give_up(
        self,
        case: Case,
        code: JobCode,
        reason: str,
        *,
        inbox_id: int | None = None,
        evidence: Sealed | None = None,
    ) -> None:
        """Tell the cloud the code and nothing else, and end the job here."""
        keys = self.keys_of(case)
        outcome = carry_out(
            abort(case.participation, code), None, keys, self.office.keyring.identity, Stopwatch()
        )
        case.participation = outcome.participation
        self.close(
            case,
            JobStatus.FAILED,
            code=code.value,
            reason=reason,
            outgoing=outcome.outgoing,
            inbox_id=inbox_id,
            evidence=evidence,
        )

    def close(
        self,
        case: Case,
        status: JobStatus,
        *,
        code: str | None = None,
        reason: str | None = None,
        outgoing: tuple[Sealed, ...] = (),
        inbox_id: int | None = None,
        evidence: Sealed | None = None,
        received: Sealed | None = None,
    ) -> None:
        """The job is over: journal its end and its last words, erase what rule A6 names.

        Args: received: the cloud's message that ended it, where that is no evidence against anybody.
        """
        journal, job = self.office.journal, case.entry.job
        self.room.end(job)
        if status is not JobStatus.COMPLETE:
            self.office.discard_results(job)
        entry = replace(case.entry, status=status, phase=status.value, code=code, reason=reason)
        with journal.transaction():
            if evidence is not None:
                journal.keep_evidence(job, str(code), evidence.raw)
                self._remember_roster(case, evidence)
            journal.erase_job(self.booked(entry))
            for sealed in outgoing:
                journal.queue(sealed)
            if inbox_id is not None:
                journal.move_cursor(inbox_id)
            last = evidence or received
            if last is not None:
                note_received(journal, job, case.participation.head, last)
            journal.record("ended", job=job, status=status.value, code=code, head=case.participation.head)
        journal.empty_log()
        self.office.discard_snapshot(entry.snapshot_sha256)
        self.cases.pop(job, None)
        if status is JobStatus.FAILED:
            self.office.progress.warn(f"ended without a tree ({code}): {reason}", job=job, code=code)

    def keys_of(self, case: Case) -> HospitalKeys:
        """Keys of the epoch in which the job began."""
        return self.office.hospital_keys(case.participation.manifest.key_id)

    def add_traffic(self, job: str, figures: Mapping[str, Mapping[str, int]], seconds: float = 0.0) -> None:
        """Book bytes and transport time for the job's next entry."""
        tally = Tally(seconds={"transport": seconds}, sent=figures["sent"], received=figures["received"])
        self.add(job, tally)

    def booked(self, entry: JobEntry) -> JobEntry:
        """The entry with the figures that were waiting for it."""
        tally = self.unbooked.pop(entry.job, None)
        if tally is None:
            return entry
        total = entry.tally.plus(
            seconds=tally.seconds, sent=tally.sent, received=tally.received, work=tally.work
        )
        return replace(entry, tally=total)

    def add(self, job: str, tally: Tally) -> None:
        """Book figures for the job's next entry."""
        known = self.unbooked.get(job, Tally())
        self.unbooked[job] = known.plus(
            seconds=tally.seconds, sent=tally.sent, received=tally.received, work=tally.work
        )

    def rosters_over(self, records_identity: str, *, besides: str = "") -> list[SeenRoster]:
        """Rosters over these records that were sent to or whose result was seen, or will be by a job that runs now.

        Args: besides: a job that is not looked at.
        """
        running = [
            # Without the job's id: what is not seen yet settles nothing that the job has sent before.
            SeenRoster(
                tuple(map(str, case.participation.roster)), "", case.participation.manifest.study_sha256
            )
            for job, case in self.cases.items()
            if job != besides
            and case.entry.records_identity == records_identity
            and case.participation.roster
            and shows_result(case.participation.manifest)
        ]
        return [*self.office.journal.seen_rosters(records_identity, besides=besides), *running]

    def _check_new_roster(self, case: Case, after: Participation) -> None:
        """The difference rule on the roster itself, which may be smaller than the list of the invited (rule A4)."""
        identity = case.entry.records_identity
        if after.roster == case.participation.roster or identity is None or not shows_result(after.manifest):
            return
        earlier = self.rosters_over(identity, besides=case.entry.job)
        consents = valid_consents(after.manifest, self.office.keyring.hospital_trust())
        refusal = tells_of_one(after.roster, after.manifest.study_sha256, earlier, self.office.own, consents)
        if refusal is not None:
            raise JobFailure(JobCode.CANCELLED, refusal.reason)

    def _settle(self, case: Case, outcome: Outcome, sealed: Sealed, inbox_id: int) -> None:
        match outcome.ending:
            case Completed():
                self._complete(case, outcome, outcome.ending, sealed, inbox_id)
            case Aborted():
                case.participation = outcome.participation
                code = outcome.ending.code
                self.close(
                    case,
                    JobStatus.FAILED,
                    code=code.value,
                    reason=text("step.ended_for_all"),
                    inbox_id=inbox_id,
                    received=sealed,
                )
            case None:
                self._go_on(case, outcome, sealed, inbox_id)

    def _go_on(self, case: Case, outcome: Outcome, sealed: Sealed, inbox_id: int) -> None:
        journal, after = self.office.journal, outcome.participation
        phase = _phase(sealed.envelope.type, after)
        entry = replace(case.entry, participation=to_json(after), phase=phase, round=after.round)
        if sealed.envelope.type is MessageType.ROSTER:
            entry = replace(entry, certificates=tuple(body_of(sealed.envelope, Roster).certificates))
        entry = self.booked(entry)
        with journal.transaction():
            self._remember_roster(case, sealed)
            if outcome.computes and after.manifest.profile == "secret-id3":
                self.remember_result(case, after)  # its tree is opened bit by bit from here on
            if sealed.envelope.type is MessageType.ROUND_OPEN:
                budget.spend_round(self.office, after, entry.records_identity)
                self.remember_result(case, after, seen=False)
            if sealed.envelope.type is MessageType.ROSTER:
                if asked_of(after.manifest) is None:
                    studies.note_begun(journal, entry.study)
                else:
                    studies.note_asked(journal, after.manifest, int(self.office.clock()))
            journal.put_job(entry)
            for message in outcome.outgoing:
                journal.queue(message)
            journal.move_cursor(inbox_id)
            note_received(journal, entry.job, after.head, sealed)
        case.entry, case.participation = entry, after
        self.office.progress.tell(phase, job=entry.job, round=after.round, attempt=after.attempt, phase=phase)
        if outcome.computes:
            self.due.append(case)

    def _remember_roster(self, case: Case, sealed: Sealed) -> None:
        """Inside a transaction: sums that came were seen, whether or not they held."""
        if sealed.envelope.type is MessageType.AGGREGATE:
            self.remember_result(case, case.participation)

    def remember_result(self, case: Case, participation: Participation, *, seen: bool = True) -> None:
        """Inside a transaction, for the difference rule: sums or a tree of this roster are known, or may be to others.

        Args: seen: False where this hospital has only sent its contribution.
        """
        identity, manifest = case.entry.records_identity, participation.manifest
        if identity is not None and shows_result(manifest):
            roster = tuple(map(str, participation.roster))
            known = SeenRoster(roster, case.entry.job, manifest.study_sha256, seen)
            self.office.journal.remember_roster(identity, known)

    def _complete(
        self, case: Case, outcome: Outcome, ending: Completed, sealed: Sealed, inbox_id: int
    ) -> None:
        """The model is on disk before the journal forgets; a repeat after a crash writes the same tree again."""
        after = outcome.participation
        model = model_of(after, case.entry.certificates, ending.statements)
        told = keep(self.office, after, model)
        case.participation = after
        self.close(case, JobStatus.COMPLETE, outgoing=outcome.outgoing, inbox_id=inbox_id, received=sealed)
        classes = self.office.predictions_of(case.entry.job)
        if classes.is_file():
            show = f"privet agent classes {self.office.folder} {case.entry.job[:8]}"
            told = f"the classes of the own records are in {classes} (encrypted there or not: `{show}`)"
        self.office.progress.tell(f"complete: {told}", job=case.entry.job)


def _note_opening(watch: Stopwatch, sealed: Sealed, spent: Spent) -> None:
    """Split the time of the steps that open a sum into decrypting and the rest: checking and choosing."""
    if sealed.envelope.type in (MessageType.AGGREGATE, MessageType.PARTIALS):
        whole = watch.seconds.pop("receive")
        watch.seconds |= {"decrypt": spent.decrypt_seconds, "choose": whole - spent.decrypt_seconds}


def _tally(watch: Stopwatch, spent: Spent) -> Tally:
    cpu = {"encrypt_cpu": spent.encrypt_cpu_seconds, "decrypt_cpu": spent.decrypt_cpu_seconds}
    work = {"encryptions": spent.encryptions, "decryptions": spent.decryptions}
    return Tally(seconds=watch.seconds | cpu, work=work)


def _phase(kind: MessageType, after: Participation) -> str:
    """Where the job stands, for people; they count rounds from 1, unlike the fields of logs and of `--json`."""
    match kind:
        case MessageType.ROSTER:
            return text("step.roster", n=len(after.members))
        case MessageType.ROUND_OPEN:
            return text("step.counted", round=after.round + 1)
        case MessageType.AGGREGATE if after.state is AgentState.OPENING:
            return text("step.part_decrypted", round=after.round + 1)
        case MessageType.AGGREGATE | MessageType.PARTIALS:
            return text("step.decided", round=after.round + 1)
        case _:
            return kind.replace("_", " ")


def manifest_of(entry: JobEntry) -> Manifest:
    """The manifest of a journalled offer."""
    return body_of(unseal(entry.offer, max_bytes=MAX_OFFER_BYTES).envelope, JobOffer).manifest
