"""The desk for studies: fetch documents the cloud has, tell people, and bring their signed words to the cloud.

A person answers by a command, which signs and journals; nothing is signed here. A document that does not hold is told
and not kept, so no job of it can run here.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field, replace

from hospital_agent.cloud import CloudClient
from hospital_agent.daemon.approvals import ended_by
from hospital_agent.daemon.casework import Casework
from hospital_agent.daemon.office import Office
from hospital_agent.journal import studies
from hospital_agent.journal.studies import StudyEntry, StudyState, Word, WordKind
from shared.errors import ErrorCode, InputError, JobCode, PeerError
from shared.protocol.governing import verify_study
from shared.wire.consent import SignedConsent
from shared.wire.study import SignedAnswer, StudyLine


@dataclass(slots=True)
class StudyDesk:
    """One agent's. `_change`: the last change of the cloud's studies that was looked at."""

    office: Office
    client: CloudClient
    casework: Casework
    _change: int | None = None
    _told: set[str] = field(default_factory=set)

    def enforce(self) -> None:
        """End what runs under a study that this hospital has withdrawn from: whenever something may leave next."""
        for job in ended_by(self.office, self.casework):
            case = self.casework.cases[job]
            reason = f"this hospital withdrew from study {case.entry.study}"
            self.casework.give_up(case, JobCode.CANCELLED, reason)

    def send_words(self) -> None:
        """Answers and consents that the cloud has not taken yet; they wait for a cloud that knows of studies.

        Raises: TemporaryError: the cloud cannot be reached.
        """
        if self.client.studies_change is None:
            return
        for word in studies.words_to_send(self.office.journal):
            try:
                self._send(word)
            except PeerError as error:
                if error.code is ErrorCode.UNKNOWN_AGENT:
                    raise
                studies.settle(self.office.journal, word, taken=False)
                self.office.progress.warn(
                    f"the cloud refused the {word.kind} about study {word.study}: {error}",
                    study=word.study,
                    code=error.code.value,
                )
            else:
                studies.settle(self.office.journal, word, taken=True)
                self.office.progress.tell(f"the cloud has the {word.kind} about study {word.study}")

    def _send(self, word: Word) -> None:
        if word.kind is WordKind.ANSWER:
            self.client.answer_study(word.study, SignedAnswer.model_validate_json(word.raw))
        else:
            self.client.consent(word.study, SignedConsent.model_validate_json(word.raw))

    def look_again(self) -> None:
        """Fetch the list with the next poll, whether or not the cloud says that something is new."""
        self._change = None

    def renew(self) -> None:
        """Fetch what is new, if the last poll said that something is.

        Raises: PeerError: the call was refused. TemporaryError: the cloud cannot be reached.
        """
        change = self.client.studies_change
        if change is None or change == self._change:
            return
        listed = self.client.fetch_studies()
        known = {entry.study: entry for entry in studies.studies(self.office.journal)}
        for line in listed.studies:
            self._look_at(line, known.get(line.id))
        self._change = listed.change

    def _look_at(self, line: StudyLine, known: StudyEntry | None) -> None:
        if known is None:
            try:
                self._learn_from_present_members(line)
            except PeerError as error:
                self._warn(line, f"the document of study {line.id} was not taken: {error}")
        elif known.sha256 != line.sha256:
            self._warn(line, f"the cloud now shows another document of study {line.id}; the first one counts")
        elif line.closed and not known.closed:
            with self.office.journal.transaction():
                studies.note_closed(self.office.journal, line.id, line.closed)
            self.office.progress.tell(f"study {line.id} is closed: no more jobs", study=line.id)

    def _learn_from_present_members(self, line: StudyLine) -> None:
        """As `_learn`; a signer that the list held here does not know may be in the cloud's newer one.

        An offer of the study may come right behind its document, and would be declined without it.
        """
        try:
            self._learn(line)
        except PeerError as error:
            if error.code is not ErrorCode.UNKNOWN_AGENT:
                raise
            if not self.office.keyring.renew(self.client.fetch_federation()):
                raise
            self.office.progress.tell("the federation document was renewed")
            self._learn(line)

    def _learn(self, line: StudyLine) -> None:
        """Raises: PeerError: the document does not hold, or is another than the list says."""
        signed = self.client.fetch_study(line.id)
        trust = replace(self.office.keyring.hospital_trust(), now=int(self.office.clock()))
        document = verify_study(signed, self.office.own, trust)
        if (document.id, document.sha256) != (line.id, line.sha256):
            raise PeerError(ErrorCode.MALFORMED, "study document: another one than the list says")
        entry = StudyEntry(line.id, line.sha256, signed.canonical(), closed=line.closed, learned=time.time())
        with self.office.journal.transaction():
            studies.learn(self.office.journal, entry)
        self._ask(entry)

    def _ask(self, entry: StudyEntry) -> None:
        with suppress(InputError):  # a wrong policy is told where it decides: at an offer
            self.office.reread()
        if self.office.policy.approval != "study" or entry.closed or entry.answer is not StudyState.PENDING:
            self.office.progress.tell(f"study {entry.study} invites this hospital", study=entry.study)
            return
        self.office.progress.warn(
            f"study {entry.study} waits for this hospital's word: "
            f"`privet agent studies show {self.office.folder} {entry.study}`",
            study=entry.study,
        )

    def _warn(self, line: StudyLine, text: str) -> None:
        """Once for each document."""
        if line.sha256 not in self._told:
            self.office.progress.warn(text, study=line.id)
        self._told.add(line.sha256)
