"""Offers of jobs: checked, held against the policy, put before a person where the policy says so, then answered.

Order: signature and fit, own policy, approval, records. Nothing of the records travels but a salted hash; when they
do not fit the study, the cloud learns the code `data` and the hospital reads the reason here.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Final, TypedDict

from hospital_agent.computing.choosing import check_offer
from hospital_agent.computing.endpoints import choose_endpoint
from hospital_agent.daemon import budget
from hospital_agent.daemon.approvals import is_decided, study_refusal
from hospital_agent.daemon.casework import Case, Casework, manifest_of
from hospital_agent.daemon.deriving import source_for
from hospital_agent.daemon.office import Office
from hospital_agent.daemon.steps import Stopwatch, carry_out
from hospital_agent.journal import Answer, JobEntry, JobStatus, Tally, studies
from hospital_agent.journal.messages import note_offer
from hospital_agent.journal.studies import REFUSED, StudyState
from hospital_agent.policy import DECLINED, Refusal, review
from hospital_agent.records import Snapshot
from hospital_agent.records.identity import records_identity
from shared.crypto import agreement, certificates
from shared.errors import ErrorCode, InputError, PeerError
from shared.ids import CLOUD
from shared.protocol.consenting import valid_consents
from shared.protocol.envelopes import Address, Chain, Sealed, body_of, seal, verify
from shared.protocol.expiry import check_time
from shared.protocol.joining import decline, read_offer
from shared.protocol.participant import accept, cloud_key
from shared.protocol.participation import schema_of, to_json
from shared.protocol.polling import MAX_SKEW_SECONDS
from shared.rng import random_bytes
from shared.texts import text
from shared.wire.base import decode_base64url
from shared.wire.envelope import MessageType
from shared.wire.manifest import Manifest
from shared.wire.rounds import JobOffer
from shared.wire.secret import DirectEndpoint


class SecretExtras(TypedDict, total=False):
    """See `participant.accept`."""

    records: int
    direct: DirectEndpoint | None


DATA: Final = "data"
"""The code of a refusal because the records do not fit the study."""
_SALT_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class OfferDesk:
    """Answers offers for one agent and opens a case for each that is accepted."""

    office: Office
    casework: Casework

    def consider(self, sealed: Sealed, inbox_id: int) -> None:
        """An offer whose job the journal does not have.

        Raises: PeerError: it does not hold, or its job was forgotten; told and noted by the caller.
        """
        keys = self.office.hospital_keys()
        manifest = read_offer(sealed, self.office.own, keys)
        if self.office.journal.was_forgotten(manifest.job):
            raise PeerError(ErrorCode.REPLAY_CONFLICT, "job offer: a job of this id ended here long ago")
        entry = _entry(sealed, manifest)
        self.office.progress.tell(f"offer of study {manifest.study}", job=entry.job, study=entry.study)
        refusal = self._refusal(manifest)
        if refusal is not None:
            self._decline(entry, manifest, refusal, inbox_id)
        elif is_decided(self.office, manifest):
            self._accept(entry, manifest, inbox_id)
        else:
            self._ask(entry, inbox_id)

    def note_refused(self, sealed: Sealed, error: PeerError) -> None:
        """Inside a transaction: an offer that does not hold gets no answer, but people can see why."""
        try:
            manifest = body_of(sealed.envelope, JobOffer).manifest
        except PeerError:
            return
        if self.office.journal.job(manifest.job) is None:
            entry = _entry(sealed, manifest)
            reason = str(error)
            self.office.journal.put_job(
                replace(
                    entry, status=JobStatus.REFUSED, phase="refused", code=error.code.value, reason=reason
                )
            )

    def hear(self, entry: JobEntry, sealed: Sealed, inbox_id: int) -> None:
        """A message about an offer that still waits for a person: the job ended, or began without this hospital.

        Raises: PeerError: it is not the cloud's.
        """
        if sealed.envelope.type not in (MessageType.ABORT, MessageType.ROSTER):
            return
        verify(sealed, cloud_key(manifest_of(entry), self.office.keyring.hospital_trust()))
        reason = text("step.began_before")
        gone = replace(
            entry, status=JobStatus.FAILED, phase=text("step.withdrawn"), code=ErrorCode.LATE, reason=reason
        )
        with self.office.journal.transaction():
            self.office.journal.put_job(gone)
            self.office.journal.drop_answer(entry.job)
            self.office.journal.move_cursor(inbox_id)
            self.office.journal.record("withdrawn", job=entry.job, sha256=sealed.sha256)
        self.office.progress.warn(reason, job=entry.job)

    def act_on(self, answer: Answer) -> None:
        """What a person said about an offer."""
        journal = self.office.journal
        entry = journal.job(answer.job)
        if entry is None or entry.status is not JobStatus.AWAITING:
            with journal.transaction():
                journal.drop_answer(answer.job)
            return
        manifest = manifest_of(entry)
        refusal = self._refusal(manifest)
        if answer.approve and refusal is None:
            self._accept(entry, manifest, None)
        elif answer.approve and refusal is not None:
            self._decline(entry, manifest, refusal, None)
        else:
            self._decline(
                entry, manifest, Refusal(DECLINED, answer.reason or text("step.declined_by_person")), None
            )

    def _refusal(self, manifest: Manifest) -> Refusal | None:
        now = int(self.office.clock())
        if manifest.expires + MAX_SKEW_SECONDS < now or manifest.created - MAX_SKEW_SECONDS > now:
            return Refusal(DECLINED, text("step.outside_time"))
        try:
            self._check_certificates(manifest, now)
        except PeerError as error:
            return Refusal(DECLINED, str(error))
        try:
            self.office.reread()
        except InputError as error:
            return Refusal(DECLINED, str(error))
        try:
            identity = records_identity(self.office.data)
        except InputError as error:
            return Refusal(DATA, str(error))
        seen = self.casework.rosters_over(identity)
        synthetic = self.office.settings.data.synthetic
        running = {
            job: (case.entry.records_identity, case.participation.manifest)
            for job, case in self.casework.cases.items()
        }
        consents = valid_consents(manifest, self.office.keyring.hospital_trust())
        return (
            study_refusal(self.office, self.casework, manifest)
            or review(
                self.office.policy,
                manifest,
                own=self.office.own,
                synthetic=synthetic,
                seen_rosters=seen,
                consents=consents,
            )
            or budget.refuse_offer(self.office, manifest, identity, running)
        )

    def reconsider(self) -> None:
        """Offers that waited for a person's word on their study, once that was given."""
        journal = self.office.journal
        waiting = journal.jobs(JobStatus.AWAITING)
        states = studies.states(journal) if waiting else {}
        for entry in waiting:
            state = states.get(entry.study)
            if not (
                state in REFUSED or (state is StudyState.APPROVED and self.office.policy.approval == "study")
            ):
                continue
            manifest = manifest_of(entry)
            refusal = self._refusal(manifest)
            if refusal is not None:
                self._decline(entry, manifest, refusal, None)
            elif is_decided(self.office, manifest):
                self._accept(entry, manifest, None)

    def _check_certificates(self, manifest: Manifest, now: int) -> None:
        """Neither this hospital's nor the cloud's certificate may be over. Raises: PeerError: `unknown_agent`."""
        own, root = self.office.keyring.certificate, self.office.keyring.hospital_trust().root
        if own is not None:
            check_time(own, now)
        cloud = decode_base64url(manifest.cloud_certificate, what="cloud_certificate")
        check_time(certificates.verify(cloud, root), now)

    def _ask(self, entry: JobEntry, inbox_id: int) -> None:
        journal = self.office.journal
        folder, study = self.office.folder, entry.study
        answer = f"`privet agent approve {folder} {entry.job[:8]}` or `decline`"
        if self.office.policy.approval == "study" and study in studies.states(journal):
            of_study = f"`privet agent studies approve {folder} {study}` or `decline`"
            answer = f"{of_study} for the study, {answer} for this job alone"
        with journal.transaction():
            journal.put_job(entry)
            journal.move_cursor(inbox_id)
            note_offer(journal, entry)
            journal.record("offered", job=entry.job, mh=entry.mh)
        self.office.progress.warn(
            f"waits for a person: {answer}",
            job=entry.job,
            study=entry.study,
        )

    def _decline(self, entry: JobEntry, manifest: Manifest, refusal: Refusal, inbox_id: int | None) -> None:
        journal = self.office.journal
        address = Address(MessageType.JOB_DECLINE, entry.job, entry.mh, 0, 0, self.office.own, CLOUD)
        sealed = seal(self.office.keyring.identity, address, Chain(), decline(manifest, refusal.code))
        declined = replace(
            entry, status=JobStatus.DECLINED, phase="declined", code=refusal.code, reason=refusal.reason
        )
        with journal.transaction():
            journal.put_job(self.casework.booked(declined))
            journal.queue(sealed)
            journal.drop_answer(entry.job)
            if inbox_id is not None:
                journal.move_cursor(inbox_id)
                note_offer(journal, entry)
            journal.record("declined", job=entry.job, mh=entry.mh, code=refusal.code)
        self.office.progress.warn(f"declined: {refusal.reason}", job=entry.job, code=refusal.code)

    def _accept(self, entry: JobEntry, manifest: Manifest, inbox_id: int | None) -> None:
        """Freeze the records, then say yes with their hash and a fresh key (protocol rule A1)."""
        watch = Stopwatch()
        try:
            identity = records_identity(self.office.data)
            with watch.part("freeze"):
                source = source_for(self.office, manifest)
                snapshot = source.freeze(schema_of(manifest), random_bytes(_SALT_BYTES))
        except InputError as error:
            self._decline(entry, manifest, Refusal(DATA, str(error)), inbox_id)
            return
        for note in snapshot.notes:
            self.office.progress.tell(note, job=entry.job)
        keys = self.office.hospital_keys(manifest.key_id)
        private = agreement.generate_private()
        ephemeral = (private, agreement.public_of(private))
        try:
            extras = self._secret_extras(manifest, snapshot, private)
        except InputError as error:
            self._decline(entry, manifest, Refusal(DATA, str(error)), inbox_id)
            return
        step = accept(manifest, self.office.own, snapshot.sha256, ephemeral, keys, **extras)
        outcome = carry_out(step, snapshot, keys, self.office.keyring.identity, watch)
        accepted = replace(
            entry,
            status=JobStatus.ACTIVE,
            phase=text("step.accepted"),
            participation=to_json(outcome.participation),
            snapshot_sha256=snapshot.sha256,
            records_identity=identity,
            tally=entry.tally.plus(seconds=watch.seconds),
        )
        self._open_case(
            Case(self.casework.booked(accepted), outcome.participation, snapshot), outcome.outgoing, inbox_id
        )

    def _secret_extras(self, manifest: Manifest, snapshot: Snapshot, private: bytes) -> SecretExtras:
        """What an acceptance of a secret job says besides; nothing for the others."""
        if manifest.secret is None:
            return {}
        check_offer(manifest, self.office.own, self.office.shelf)
        direct = None
        if self.office.own in manifest.secret.compute_parties:
            taken = {
                peer.direct.port
                for case in self.casework.cases.values()
                for peer in case.participation.members
                if peer.id == self.office.own and peer.direct is not None
            }
            mh = hashlib.sha256(manifest.canonical()).digest()
            try:
                direct = choose_endpoint(self.office.settings.compute, taken, private, mh)
            except InputError as error:
                self.office.progress.warn(
                    f"{error} Frames of this job go through the cloud.", job=manifest.job
                )
        records = snapshot.row_count if manifest.secret.takes_records_of(self.office.own) else 0
        if records > manifest.secret.max_records:
            raise InputError(
                f"more records than the job takes of all hospitals together, {manifest.secret.max_records}",
                where="records",
                remedy="Have the study raise max_records, or point the agent at fewer records.",
            )
        return {"records": records, "direct": direct}

    def _open_case(self, case: Case, outgoing: tuple[Sealed, ...], inbox_id: int | None) -> None:
        journal = self.office.journal
        with journal.transaction():
            journal.put_job(case.entry)
            for sealed in outgoing:
                journal.queue(sealed)
            journal.drop_answer(case.entry.job)
            if inbox_id is not None:
                journal.move_cursor(inbox_id)
                note_offer(journal, case.entry)
            journal.record(
                "accepted", job=case.entry.job, mh=case.entry.mh, snapshot=str(case.entry.snapshot_sha256)
            )
        self.casework.cases[case.entry.job] = case
        self.office.progress.tell(text("step.accepted_waits"), job=case.entry.job, phase=case.entry.phase)


def _entry(sealed: Sealed, manifest: Manifest) -> JobEntry:
    return JobEntry(
        job=manifest.job,
        mh=sealed.envelope.mh,
        study=manifest.study,
        question=manifest.question,
        offer=sealed.raw,
        status=JobStatus.AWAITING,
        phase=text("step.awaiting"),
        tally=Tally(),
    )
