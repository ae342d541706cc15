"""The daemon: fetch, step, journal, act, until it is stopped.

One thread does everything here. Whatever stops it, between any two instructions, a new start goes on from the journal.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, Self

from hospital_agent.cloud import CloudClient, FullJitter, InboxMessage, Patience
from hospital_agent.computing.room import Room
from hospital_agent.daemon.casework import Casework
from hospital_agent.daemon.computing_desk import ComputingDesk
from hospital_agent.daemon.disk import disk_trouble, start_over
from hospital_agent.daemon.forgetting import forget_old
from hospital_agent.daemon.lock import locked
from hospital_agent.daemon.offers import OfferDesk
from hospital_agent.daemon.office import Office
from hospital_agent.daemon.progress import Progress
from hospital_agent.daemon.remembering import lose, seen
from hospital_agent.daemon.secret_work import Teller
from hospital_agent.daemon.studies import StudyDesk
from hospital_agent.journal import JobStatus, Journal, OutgoingMessage
from hospital_agent.journal.contact import note_silence
from hospital_agent.keyring import Keyring
from hospital_agent.places import PLACES
from hospital_agent.settings import load_settings
from hospital_agent.telemetry import TRACES
from machine.supervisor import Heartbeat, notify
from shared.errors import ErrorCode, InputError, PeerError, TemporaryError, starting
from shared.protocol.audit_log import JournalClaim, SignedClaim, sign_claim
from shared.protocol.envelopes import Sealed, unseal
from shared.protocol.expiry import early_text, is_over, notice, over_text, remedy
from shared.protocol.joining import F_TABLE_BITS
from shared.protocol.polling import sign_progress
from shared.tree.criteria import f_table_sha256
from shared.wire.base import encode_base64url
from shared.wire.envelope import MessageType

MAX_MESSAGE_BYTES: Final = 2**27
ASKING_WAIT_SECONDS: Final = 1
"""Poll length while an offer waits for a person, so that the answer is acted on soon."""
COMPUTING_WAITS: Final = (0.25, 2.0)
"""How long a look for what the computing room came to lasts at first, and for a job that takes minutes; the inbox is
asked between two looks."""
_MINUTE: Final = 60.0
_REFRESH_SECONDS: Final = 3600.0
_UNREGISTERED_SECONDS: Final = 30.0


@dataclass(slots=True)
class Daemon:
    """One agent's loop. `stop`: set it, from any thread, to end the loop after the present step."""

    office: Office
    client: CloudClient
    casework: Casework
    desk: OfferDesk
    computing: ComputingDesk
    studies: StudyDesk
    stop: threading.Event = field(default_factory=threading.Event)
    _refreshed: float = -_REFRESH_SECONDS
    _trouble: FullJitter | None = None
    _told: str | None = None
    _unregistered: str | None = None
    _starts_over: bool = False
    _teller: Teller = field(default_factory=Teller)

    @classmethod
    def open(
        cls, folder: Path, *, progress: Progress | None = None, patience: Patience | None = None
    ) -> Self:
        """The daemon of the agent in `folder`. Raises: InputError: settings or keys are wrong, or it has not joined."""
        return cls.assemble(folder, Keyring.open(folder), progress=progress, patience=patience)

    @classmethod
    def assemble(
        cls,
        folder: Path,
        keyring: Keyring,
        *,
        progress: Progress | None = None,
        patience: Patience | None = None,
    ) -> Self:
        """The same over an open keyring; its present key and the reference arithmetic are made ready for work."""
        settings = load_settings(folder)
        keyring.hospital_keys()
        f_table_sha256(F_TABLE_BITS)
        if settings.cloud is None:
            raise InputError(
                "no cloud is set",
                where=str(PLACES.settings_path(folder)),
                remedy='Add a line such as cloud = "https://cloud.example".',
                number="A009",
            )
        office = Office(folder, settings, keyring, Journal.open(folder), progress or Progress(settings.id))
        client = CloudClient.of(settings, keyring.identity, patience=patience)
        client.observers.append(office.progress.note)
        casework = Casework(office, Room(folder))
        return cls(
            office,
            client,
            casework,
            OfferDesk(office, casework),
            ComputingDesk(office, casework, client.patience),
            StudyDesk(office, client, casework),
        )

    def run(self) -> None:
        """Work until stopped. Raises: InputError: another agent runs in the folder."""
        heartbeat = Heartbeat()
        with ExitStack() as held:
            with starting(full="A019", closed="A018", other="A090"):
                held.enter_context(locked(self.office.folder))
                held.callback(self.close)
                self._announce()
                self._on_disk(self.casework.resume)
                note_silence(self.office.journal, None)
            notify("READY=1", f"STATUS=working with {self.office.settings.cloud}")
            while not self.stop.is_set():
                with TRACES.span("agent turn"):
                    self._on_disk(self._turn)
                heartbeat.beat()

    def close(self) -> None:
        """Let go of the connection, the journal, and every thread and process."""
        notify("STOPPING=1")
        self.computing.room.close()
        self.client.http.close()
        self.office.keyring.close()
        self.office.journal.connection.close()

    def _announce(self) -> None:
        settings = self.office.settings
        self.office.progress.tell(f"agent {settings.id} works with {settings.cloud}", url=str(settings.cloud))
        self._check_own_certificate()
        if not self.office.keyring.holds_newest_epoch:
            self.office.progress.warn(
                "the federation has a newer key: import the newest bundle (`privet agent join`)"
            )

    def _check_own_certificate(self) -> None:
        """Raises: InputError: it is over or not yet valid, and no job is left that could be finished under it."""
        certificate, now = self.office.keyring.certificate, int(self.office.clock())
        if certificate is None or self.office.journal.jobs(JobStatus.ACTIVE):
            return
        if is_over(certificate, now):
            raise InputError(over_text(certificate), remedy=remedy(certificate), number="A015")
        early = early_text(certificate, now)
        if early:
            raise InputError(early, remedy="Set the clock, then start again.", number="A020")

    def _tell_of_certificate(self) -> None:
        """Tell a person, once, that the own certificate ends soon; and once more when it is over."""
        certificate = self.office.keyring.certificate
        told = None if certificate is None else notice(certificate, int(self.office.clock()))
        if told and told != self._told:
            self.office.progress.warn(told)
        self._told = told

    def _on_disk(self, work: Callable[[], None]) -> None:
        """Wait while the disk takes nothing, then go on from the journal: what was under way did not last."""
        try:
            if self._starts_over:
                start_over(self.casework)
                self._starts_over = False
            work()
        except (OSError, sqlite3.Error) as error:
            trouble = disk_trouble(error, self.office.folder)
            if trouble is None:
                raise
            self._starts_over = True
            self._pause(trouble, None)

    def _turn(self) -> None:
        """One round of the loop; trouble with the network or the database of records only delays it."""
        self.office.progress.request = ""
        self.studies.enforce()
        self.computing.begin_due()
        try:
            self._refresh()
            for answer in self.office.journal.answers():
                self.desk.act_on(answer)
            self.desk.reconsider()
            self._send_pending()
            self.studies.send_words()
            messages = self._poll(self._wait_for_computing())
            self.studies.enforce()
            self.studies.renew()
            for message in messages:
                self._take(message)
                self.studies.enforce()
                self._send_pending()
            lose(self.casework, self.client.forgotten)
        except TemporaryError as error:
            self._pause(error, error.retry_after_seconds)
        except PeerError as error:
            self._refreshed = -_REFRESH_SECONDS
            self._pause(error, None)
        else:
            self._recovered()

    def _wait_for_computing(self) -> int | None:
        """How long to wait at the inbox; while a secret job computes, the wait is here, for its thread.

        Also tells how far such jobs are: the hospital's people by its journal, the cloud by a report.
        """
        room = self.computing.room
        if not room.jobs:
            return ASKING_WAIT_SECONDS if self.office.journal.jobs(JobStatus.AWAITING) else None
        busy = room.is_busy
        while (news := room.next_news(self._look_seconds() if busy else 0.0)) is not None:
            busy = False
            self._tell_progress()
            self.computing.take_news(news)
            self._send_pending()
        self._tell_progress()
        return 0 if room.is_busy else ASKING_WAIT_SECONDS

    def _look_seconds(self) -> float:
        youngest = min((place.seconds for place in self.computing.room.jobs.values()), default=0.0)
        shortest, longest = COMPUTING_WAITS
        return shortest + (longest - shortest) * min(1.0, youngest / _MINUTE)

    def _tell_progress(self) -> None:
        """A report that does not arrive is not missed: the next one says it all again."""
        self.computing.note_phases()
        for report in self._teller.news(self.computing.room.jobs):
            with suppress(PeerError, TemporaryError):
                self.client.tell_progress(sign_progress(report, self.office.keyring.identity))

    def _pause(self, error: TemporaryError | PeerError, retry_after_seconds: float | None) -> None:
        """Wait, longer each time (rule A5); a person is told once."""
        if self._trouble is None:
            self.office.progress.warn(f"{error}; tries again until it works")
            self._trouble = FullJitter(self.client.patience)
            note_silence(self.office.journal, int(self.office.clock()))
        self.stop.wait(self._trouble.next_wait(retry_after_seconds))

    def _recovered(self) -> None:
        if self._trouble is not None:
            self.office.progress.tell("works with the cloud again")
            self._trouble = None
            note_silence(self.office.journal, None)

    # --- the cloud --------------------------------------------------------------------------------------------

    def _refresh(self) -> None:
        """Now and then, and after a refusal: the newest federation document, and a sign of life."""
        if time.monotonic() - self._refreshed < _REFRESH_SECONDS:
            return
        self.office.keyring.reread()
        self._tell_of_certificate()
        forget_old(self.office)
        self._renew_federation()
        wait = _REFRESH_SECONDS if self._register() else _UNREGISTERED_SECONDS
        self.studies.look_again()
        self.client.traffic.drain()
        self._refreshed = time.monotonic() + wait - _REFRESH_SECONDS

    def _register(self) -> bool:
        """Whether the cloud took the certificate. Where it did not, the poll tells whether this hospital may go on.

        While the authority's newest bundles are on their way, one side holds an older list of members than the other.
        """
        certificate, refusal = self.office.keyring.certificate, None
        try:
            if certificate is not None:
                self.client.register(encode_base64url(certificate.der), version("privet"))
        except PeerError as error:
            if error.code is not ErrorCode.UNKNOWN_AGENT:
                raise
            refusal = str(error)
        if refusal and refusal != self._unregistered:
            self.office.progress.warn(f"not registered: {refusal}", code=ErrorCode.UNKNOWN_AGENT.value)
        self._unregistered = refusal
        return refusal is None

    def _renew_federation(self) -> None:
        """Take the cloud's document if it is signed by the root and not older; otherwise keep the one held."""
        try:
            if self.office.keyring.renew(self.client.fetch_federation()):
                self.office.progress.tell("the federation document was renewed")
        except PeerError as error:
            self.office.progress.warn(
                f"the cloud's federation document was not taken: {error}", code=error.code.value
            )

    def _poll(self, wait_seconds: int | None) -> list[InboxMessage]:
        return self.client.poll(
            self.office.journal.cursor, wait_seconds=wait_seconds, seen=seen(self.casework)
        )

    def _send_pending(self) -> None:
        """The journal's bytes, in order, each until it is answered."""
        for message in self.office.journal.pending():
            if message.raw is None:
                continue
            start = time.perf_counter()
            try:
                receipt = self.client.post_message(message.raw, message.type, self._own_head(message))
            except PeerError as error:
                self._book(message.job, time.perf_counter() - start)
                self.casework.take_refusal(message, error)
                continue
            self._book(message.job, time.perf_counter() - start)
            self.casework.take_receipt(message, receipt)

    def _own_head(self, message: OutgoingMessage) -> SignedClaim | None:
        """Where the own log stands, signed, so that the cloud's log of the job holds it (protocol section 8)."""
        newest = self.office.journal.lasting_head()
        if newest is None:
            return None
        claim = JournalClaim(agent=self.office.own, message=message.sha256, number=newest[0], head=newest[1])
        return sign_claim(claim, self.office.keyring.identity)

    def _book(self, job: str, seconds: float) -> None:
        figures: Mapping[str, Any] = self.client.traffic.drain()
        self.casework.add_traffic(job, figures, seconds)

    # --- messages ---------------------------------------------------------------------------------------------

    def _take(self, message: InboxMessage) -> None:
        """One inbox message. A refused one is told and passed over: it will never become right."""
        try:
            sealed = unseal(message.raw, max_bytes=MAX_MESSAGE_BYTES)
            self._book(sealed.envelope.job, 0.0)
            self._dispatch(sealed, message.id)
        except PeerError as error:
            self.office.progress.warn(f"a message of the cloud was refused: {error}", code=error.code.value)
            self._pass_over(message, error)
        else:
            if self.office.journal.cursor < message.id:
                self._move_cursor(message.id)

    def _dispatch(self, sealed: Sealed, inbox_id: int) -> None:
        case = self.casework.cases.get(sealed.envelope.job)
        try:
            self._deal_with(sealed, inbox_id)
        except PeerError as error:
            # Perhaps a hospital that joined after the document held here: look once, then decide.
            if error.code is not ErrorCode.UNKNOWN_AGENT or (case is None and not _is_offer(sealed)):
                raise
            self._renew_federation()
            self._deal_with(sealed, inbox_id)

    def _deal_with(self, sealed: Sealed, inbox_id: int) -> None:
        case = self.casework.cases.get(sealed.envelope.job)
        if case is not None:
            self.casework.take(case, sealed, inbox_id)
            return
        entry = self.office.journal.job(sealed.envelope.job)
        if entry is None and _is_offer(sealed):
            self.desk.consider(sealed, inbox_id)
        elif entry is not None and entry.status is JobStatus.AWAITING:
            self.desk.hear(entry, sealed, inbox_id)

    def _pass_over(self, message: InboxMessage, reason: PeerError) -> None:
        journal = self.office.journal
        with journal.transaction():
            try:
                sealed = unseal(message.raw, max_bytes=MAX_MESSAGE_BYTES)
            except PeerError as error:
                journal.record("passed_over", code=error.code.value)
            else:
                journal.record(
                    "passed_over",
                    job=sealed.envelope.job,
                    type=sealed.envelope.type.value,
                    sha256=sealed.sha256,
                )
                if _is_offer(sealed):
                    self.desk.note_refused(sealed, reason)
            journal.move_cursor(message.id)

    def _move_cursor(self, inbox_id: int) -> None:
        with self.office.journal.transaction(durable=False):
            self.office.journal.move_cursor(inbox_id)


def _is_offer(sealed: Sealed) -> bool:
    return sealed.envelope.type is MessageType.JOB_OFFER
