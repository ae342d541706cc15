"""The use cases of one cloud process, and the background work beside them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from cloud_service.service import meters
from cloud_service.service.access import Access
from cloud_service.service.admission import Admission
from cloud_service.service.aftermath import Aftermath
from cloud_service.service.audits import Audits
from cloud_service.service.checked import CheckedContributions
from cloud_service.service.dossiers import Dossiers
from cloud_service.service.drafts import CLEAR_SECONDS, Drafts
from cloud_service.service.expiry import ENDINGS_SECONDS, Endings
from cloud_service.service.federation import Membership
from cloud_service.service.folder import CloudKeyPair
from cloud_service.service.governance import Governance
from cloud_service.service.hints import Hints
from cloud_service.service.history import History
from cloud_service.service.hospitals import Hospitals
from cloud_service.service.housekeeping import Housekeeper, Worker
from cloud_service.service.inbox import InboxDoor
from cloud_service.service.jobs import Jobs
from cloud_service.service.leases import RENEW_SECONDS, Leases
from cloud_service.service.ledgers import Ledgers
from cloud_service.service.messages import MessageDoor
from cloud_service.service.notifier import Notifier
from cloud_service.service.people import People, build_people
from cloud_service.service.presence import Presence
from cloud_service.service.progress import ProgressDoor
from cloud_service.service.quality import Quality
from cloud_service.service.quotas import Quotas
from cloud_service.service.rates import Rates
from cloud_service.service.relay import CHECK_SECONDS, REQUESTS_FACTOR, Relay
from cloud_service.service.results import Results
from cloud_service.service.retention import RETENTION_SECONDS, Retention
from cloud_service.service.rsa_rotation import CLEARING_SECONDS, Clearing
from cloud_service.service.sight import Sight
from cloud_service.service.starting import note_start
from cloud_service.service.studies import Studies
from cloud_service.service.study_lists import StudyLists
from cloud_service.service.summing import Summer
from cloud_service.service.tickets import Tickets
from cloud_service.service.tokens import Tokens
from cloud_service.settings import Settings
from cloud_service.store.database import AuditUnavailableError, Database

SUM_SCAN_SECONDS = 2.0
HOUSEKEEPING_SECONDS = 1.0
STOP_SECONDS = 1.5
"""Work that takes longer is left: another replica, or the next start, does it again from the database."""


@dataclass(frozen=True, slots=True)
class Services:
    """Everything that `api` calls."""

    settings: Settings
    database: Database
    membership: Membership
    history: History
    notifier: Notifier
    messages: MessageDoor
    inbox: InboxDoor
    hospitals: Hospitals
    studies: Studies
    study_lists: StudyLists
    drafts: Drafts
    governance: Governance
    jobs: Jobs
    results: Results
    quality: Quality
    ledgers: Ledgers
    dossiers: Dossiers
    audits: Audits
    relay: Relay
    leases: Leases
    hints: Hints
    tickets: Tickets
    progress: ProgressDoor
    tokens: Tokens
    access: Access
    people: People
    sight: Sight
    summer: Summer
    housekeeper: Housekeeper
    workers: tuple[Worker, ...]

    def start(self) -> None:
        """Begin the background work, and put it down that this replica has begun and under which settings."""
        note_start(self.database, self.settings, self.history.clock())
        for worker in self.workers:
            worker.start()

    def stop(self) -> None:
        """End it, and close the database."""
        self.summer.is_stopping.set()
        for worker in self.workers:
            worker.end()
        end = time.monotonic() + STOP_SECONDS
        for worker in self.workers:
            worker.stop(max(0.0, end - time.monotonic()))
        with suppress(AuditUnavailableError):  # then they end by themselves
            self.leases.release_all()
        self.hints.end()
        self.housekeeper.presence.save(self.database)
        self.database.dispose()


def unix_time() -> int:
    """The clock of the product."""
    return int(time.time())


def build_services(
    settings: Settings,
    database: Database,
    keys: CloudKeyPair,
    membership: Membership,
    clock: Callable[[], int] = unix_time,
) -> Services:
    """Join the parts."""
    signer = keys.identity
    notifier = Notifier()
    aftermath = Aftermath(notifier, CheckedContributions())
    meters.watch(database)
    aftermath.observe = meters.count_state
    presence, rates = Presence(clock), Rates(settings.requests_per_second)
    tokens, access, people = build_people(settings, database, signer, rates, clock)
    admission = Admission(membership, clock)
    leases, hints = Leases(database, settings.replica_address), Hints(database, notifier)
    summer = Summer(database, membership, signer, aftermath, leases, clock)
    frames = Rates(settings.requests_per_second * REQUESTS_FACTOR)
    relay = Relay(database, admission, frames, presence, leases, notifier, clock)
    history = History(database, signer, aftermath, clock)
    retention = Retention(database, settings.retention_days, clock)
    quotas = Quotas(database, settings.limits)
    clearing = Clearing(database, keys, membership, clock)
    studies = Studies(database, membership, notifier, clock)
    drafts = Drafts(database, clock)
    governance = Governance(database, membership, admission, signer, aftermath, rates, presence, clock)
    endings = Endings(database, membership, clock)
    housekeeper = Housekeeper(database, signer, aftermath, presence, clock, lambda: hints.is_hearing)
    return Services(
        settings=settings,
        database=database,
        membership=membership,
        history=history,
        notifier=notifier,
        messages=MessageDoor(
            database, membership, admission, signer, aftermath, rates, presence, quotas, clock
        ),
        inbox=InboxDoor(database, admission, rates, presence, history, clock),
        hospitals=Hospitals(database, admission, presence, clock),
        studies=studies,
        study_lists=StudyLists(database, clock),
        drafts=drafts,
        governance=governance,
        jobs=Jobs(settings, database, membership, keys, aftermath, quotas, clock),
        results=Results(database),
        quality=Quality(database),
        ledgers=Ledgers(database),
        dossiers=Dossiers(database, membership, studies, governance, clock),
        audits=Audits(database, membership, signer, clock),
        relay=relay,
        leases=leases,
        hints=hints,
        tickets=Tickets(keys.identity, leases.me.replica, clock),
        progress=ProgressDoor(database, admission, signer, aftermath, rates, presence, clock),
        tokens=tokens,
        access=access,
        people=people,
        sight=Sight(database),
        summer=summer,
        housekeeper=housekeeper,
        workers=(
            Worker("sums", summer.sum_complete_rounds, SUM_SCAN_SECONDS, aftermath.sum_is_due),
            Worker("relay", relay.check, CHECK_SECONDS, threading.Event()),
            Worker("leases", relay.keep_homes, RENEW_SECONDS, threading.Event()),
            *hints.workers(),
            Worker("certificates", endings.tell, ENDINGS_SECONDS, threading.Event()),
            Worker("retention", retention.keep, RETENTION_SECONDS, threading.Event()),
            Worker("drafts", drafts.clear, CLEAR_SECONDS, threading.Event()),
            Worker("keys", clearing.clear, CLEARING_SECONDS, threading.Event()),
            Worker("housekeeping", housekeeper.keep, HOUSEKEEPING_SECONDS, threading.Event()),
        ),
    )
