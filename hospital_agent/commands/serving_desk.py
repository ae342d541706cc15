"""The desk of a running agent: what it asks, counts and notes lies in the agent's folder."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hospital_agent.commands.predicting import readers_in

if TYPE_CHECKING:
    from hospital_agent.local_api import Desk, Outcome
    from hospital_agent.models import Shelf
    from hospital_agent.models.questions import Question
    from hospital_agent.settings import LocalSection

_ASK_SECONDS: Final = 20.0
_MAX_ANSWER_BYTES: Final = 2**26


def desk_in(folder: Path, shelf: Shelf, local: LocalSection) -> Desk:
    """The desk over the models of the agent in `folder`."""
    from hospital_agent.local_api import Desk, Library, Rates, SecretDesk
    from hospital_agent.models.counters import Counters
    from hospital_agent.models.names import Names
    from hospital_agent.models.predictions_log import PredictionsLog
    from hospital_agent.models.questions import Questions
    from hospital_agent.models.tallies import cabinet_of

    cabinet = cabinet_of(folder, shelf.identity_public, shelf.root)
    return Desk(
        Library(shelf, readers_in(folder), cabinet),
        Names(folder, time.time),
        Counters(folder, time.time),
        PredictionsLog(folder, time.time) if local.predictions_log else None,
        lambda: _states(folder),
        time.time,
        Rates(local.requests_per_second, time.monotonic),
        SecretDesk(Questions(folder, time.time), partial(_start, folder), partial(_outcome, folder)),
    )


def _start(folder: Path, question: Question) -> str:
    """Have the cloud start the job by which a shared tree is asked. Raises: PeerError, TemporaryError."""
    from hospital_agent.cloud import CloudClient
    from hospital_agent.keyring import Keyring
    from hospital_agent.settings import load_settings
    from shared.protocol.asking import sign_ask
    from shared.wire.asking import Ask

    settings, ring = load_settings(folder), Keyring.open(folder)
    client = CloudClient.of(
        settings, ring.identity, answer_seconds=min(settings.answer_seconds, _ASK_SECONDS)
    )
    ask = Ask(
        hospital=settings.id,
        study=question.study,
        model=question.model,
        question=question.id,
        records=len(question.rows),
        time=int(time.time()),
    )
    with client:
        return client.ask_shared(question.study, sign_ask(ask, ring.identity))


def _outcome(folder: Path, job: str) -> Outcome:
    """What the job of a question came to, by the journal and the classes that it left."""
    from hospital_agent.daemon.office import PREDICTIONS
    from hospital_agent.journal import JobStatus, Journal
    from hospital_agent.local_api import Outcome
    from hospital_agent.protection import Protection

    with Journal.open(folder) as journal:
        entry = journal.job(job)
    if entry is None or entry.status in (JobStatus.ACTIVE, JobStatus.AWAITING):
        return Outcome()
    if entry.status is not JobStatus.COMPLETE:
        return Outcome(
            failure=f"job {job}: {entry.status}, {entry.code or 'no code'}. {entry.reason or ''}".strip()
        )
    path = folder / PREDICTIONS / f"{job}.csv"
    raw = Protection.of(folder).read(path, max_bytes=_MAX_ANSWER_BYTES, remedy="Ask again.")
    return Outcome([line["class"] for line in csv.DictReader(io.StringIO(raw.decode()))])


def _states(folder: Path) -> Mapping[str, str]:
    from hospital_agent.journal import Journal, studies

    with Journal.open(folder) as journal:
        return {study: state.value for study, state in studies.states(journal).items()}
