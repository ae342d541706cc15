"""Secret jobs between the daemon and their threads: begun, told of, and journalled when they come to their result."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hospital_agent.cloud import Patience
from hospital_agent.computing.member import Finished
from hospital_agent.computing.room import News, Room
from hospital_agent.daemon.casework import Case, Casework
from hospital_agent.daemon.office import Office
from hospital_agent.daemon.secret_work import tally_of, work_of
from hospital_agent.daemon.steps import Stopwatch, carry_out
from shared.errors import InputError, InternalError, JobCode
from shared.protocol.participant import computed
from shared.protocol.participation import to_json
from shared.protocol.states import AgentState
from shared.texts import text


@dataclass(frozen=True, slots=True)
class ComputingDesk:
    """For one agent. `patience`: with the cloud's relay."""

    office: Office
    casework: Casework
    patience: Patience

    @property
    def room(self) -> Room:
        """Where the threads are."""
        return self.casework.room

    def begin_due(self) -> None:
        """Give jobs to their threads; one that was interrupted goes on from its log."""
        while self.casework.due:
            case = self.casework.due.pop()
            if case.entry.job in self.casework.cases:
                self._begin(case)

    def _begin(self, case: Case) -> None:
        if case.snapshot is None:
            raise InternalError("computing needs the frozen records")
        try:
            self.room.begin(work_of(self.office, case.participation, case.snapshot, self.patience))
        except (InputError, InternalError) as error:
            self.casework.give_up(case, JobCode.CANCELLED, str(error))

    def take_news(self, news: News) -> None:
        """What the thread of a secret job came to."""
        case = self.casework.cases.get(news.job)
        if case is None or case.participation.state is not AgentState.COMPUTING:
            return  # it is over, or this hospital's part in it was done before
        if news.failure is not None:
            self.casework.give_up(case, news.failure.code, str(news.failure))
        elif news.finished is not None:
            self._state_result(case, news.finished)

    def _state_result(self, case: Case, finished: Finished) -> None:
        journal, keys = self.office.journal, self.casework.keys_of(case)
        step = computed(case.participation, finished.result, keys)
        outcome = carry_out(step, None, keys, self.office.keyring.identity, Stopwatch())
        self.casework.add(case.entry.job, tally_of(finished))
        entry = self.casework.booked(
            replace(case.entry, participation=to_json(outcome.participation), phase=text("step.computed"))
        )
        with journal.transaction():
            self.casework.remember_result(case, outcome.participation)
            journal.put_job(entry)
            for message in outcome.outgoing:
                journal.queue(message)
            journal.record(
                "computed",
                job=entry.job,
                result=finished.result.sha256,
                rounds=finished.rounds,
                opened=dict(finished.result.opened),
            )
        case.entry, case.participation = entry, outcome.participation
        self.office.progress.tell(entry.phase, job=entry.job, phase=entry.phase)

    def note_phases(self) -> None:
        """Where the computing stands, for this hospital's own people."""
        changed = []
        for job, place in self.room.jobs.items():
            case, told = self.casework.cases.get(job), text("step.computes", where=place.text())
            if case and case.participation.state is AgentState.COMPUTING and case.entry.phase != told:
                case.entry = replace(case.entry, phase=told)
                changed.append(case.entry)
        if changed:
            with self.office.journal.transaction(durable=False):
                for entry in changed:
                    self.office.journal.put_job(entry)
