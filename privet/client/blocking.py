"""`Client`: the people's API, each method waiting for its answer. `awaiting` has the same methods to await."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self, TypeVar, Unpack

import httpx
import stamina

from privet.client import calls, conversations
from privet.client.access import Access
from privet.client.answers import (
    Event,
    Hospital,
    Job,
    JobSummary,
    Me,
    Prediction,
    PublishedTree,
    Result,
    Study,
    StudySummary,
)
from privet.client.calls import Call
from privet.client.carrying import (
    Carrier,
    Patience,
    answer_of,
    check_length,
    connection,
    given_up,
    request_of,
    retries,
    unanswered,
)
from privet.client.conversations import Pause, Progress, Steps
from privet.client.errors import BusyError, UnreachableError
from privet.client.rules import JobRules, StudyRules
from shared.errors import PrivetError
from shared.tree.schema import Schema

T = TypeVar("T")


class Client(Carrier):
    """A cloud's people's API, as one token may use it. Use as a context manager, or `close` it; threads may share it.

    Every method raises ApiError (refused), BusyError and UnreachableError (once the patience is over), and
    UnexpectedAnswerError. What must not be done twice is repeated only where it was certainly not done, and else raises
    OutcomeUnknownError.
    """

    def __init__(self, access: Access, patience: Patience | None = None) -> None:
        super().__init__(access, patience)
        self._http = httpx.Client(**connection(access))

    @classmethod
    def sign_in(
        cls,
        url: str,
        name: str,
        password: str,
        code: str = "",
        *,
        ca_file: str | Path | None = None,
        patience: Patience | None = None,
    ) -> Self:
        """A client for somebody with an account: eight hours, or half an hour without a request.

        Args: code: of the authenticator app, where the account has a second factor.
        Raises: NotSignedInError: something of it is wrong. SecondFactorError: the account needs a second factor first.
        """
        access = Access(url, None, None if ca_file is None else Path(ca_file))
        with cls(access, patience) as door:
            token = door._run(conversations.sign_in(name, password, code))
        return cls(replace(access, token=token), patience)

    def sign_out(self) -> None:
        """End the session at once. Raises: ConflictError: it is a token, which an operator revokes."""
        self._call(calls.sign_out())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __reduce__(self) -> NoReturn:
        """A pickle would hold the token."""
        raise TypeError("a client holds a token and is not pickled; make a new one where it is needed")

    def me(self) -> Me:
        """Whose token it is, and what it permits."""
        return self._call(calls.me())

    def hospitals(self) -> tuple[Hospital, ...]:
        """Every registered hospital."""
        return self._call(calls.hospitals())

    def studies(self) -> tuple[StudySummary, ...]:
        """Every study that this token sees."""
        return self._call(calls.studies())

    def study(self, study_id: str) -> Study:
        """A study with its rules, their meaning, and each hospital's answer."""
        return self._call(calls.study(study_id))

    def create_study(
        self, study_id: str, question: str, schema: Schema | Mapping[str, Any], **rules: Unpack[StudyRules]
    ) -> StudySummary:
        """Show a study to the hospitals that it invites. A study is never changed; the same again is answered alike."""
        return self._call(calls.create_study(study_id, question, schema, rules))

    def close_study(self, study_id: str) -> Study:
        """The study takes no more jobs, for good."""
        return self._call(calls.close_study(study_id))

    def start_job(self, study_id: str, **rules: Unpack[JobRules]) -> Job:
        """Invite a study's hospitals to grow one tree, or to count."""
        return self._call(calls.start_job(study_id, rules))

    def jobs(self, *, study: str | None = None, state: str | None = None) -> tuple[JobSummary, ...]:
        """All jobs, or those of a study or in a state, from the newest on."""
        return self._run(conversations.job_pages(study, state))

    def job(self, job_id: str) -> Job:
        """A job in full: its state, its members' answers, whom it waits for (`waiting`), and what it has cost."""
        return self._call(calls.job(job_id))

    def cancel(self, job_id: str) -> Job:
        """End a job without a tree. One that is cancelled already is shown as it is."""
        return self._run(conversations.cancel(job_id))

    def events(self, job_id: str, *, after: int = 0) -> Iterator[Event]:
        """A job's story as it happens, up to its end. Args: after: the id of the last event that is known."""
        while True:
            found = self._run(conversations.next_events(job_id, after))
            yield from found
            if conversations.is_last(found) or (not found and self.job(job_id).is_over):
                return
            after = found[-1].id if found else after

    def wait(self, job_id: str, *, timeout: float | None = None, progress: Progress | None = None) -> Job:
        """Until a job is done. Args: progress: is called with each event; `print` will do.

        Raises: JobFailedError: it ended without a tree. JobTimeoutError: not over after `timeout` seconds.
        """
        return self._run(conversations.wait(job_id, timeout, progress))

    def wait_for_result(
        self, job_id: str, *, timeout: float | None = None, progress: Progress | None = None
    ) -> Result:
        """Until every hospital of a job has attested its tree. Raises: as `wait`."""
        return self._run(conversations.wait_for_result(job_id, timeout, progress))

    def result(self, job_id: str) -> Result:
        """Who attested which tree."""
        return self._call(calls.result(job_id))

    def tree(self, job_id: str) -> PublishedTree:
        """The tree, where its study publishes it. Raises: NotPublishedError: it does not, or not yet."""
        return self._call(calls.tree(job_id))

    def predict(self, job_id: str, record: Mapping[str, str | int | float | None]) -> Prediction:
        """The published tree's answer. The record goes to the cloud: never send a patient's."""
        return self._call(calls.predict(job_id, record))

    def predict_many(
        self, job_id: str, records: Sequence[Mapping[str, str | int | float | None]]
    ) -> dict[str, Any]:
        """The published tree's answers, up to 10,000 at once, each with its path and what was missing; no patients'."""
        return self._call(calls.predict_many(job_id, records))

    def model_card(self, job_id: str) -> dict[str, Any]:
        """What a published tree is for, where it came from, and its limits."""
        return self._call(calls.model_card(job_id))

    def evaluation(self, job_id: str) -> dict[str, Any]:
        """Figures that the study publishes of a finished job: `importance` of a grown tree, and `evaluations`.

        Each has a `state`: none, kept, waiting, differ or published; `figures` is None unless all hospitals of the job
        sent the same. They are rounded under the study's floor.
        """
        return self._call(calls.evaluation(job_id))

    def ledger(self, job_id: str) -> dict[str, Any]:
        """Who learned what by a job, at most and in fact."""
        return self._call(calls.ledger(job_id))

    def dossier(self, study_id: str) -> dict[str, Any]:
        """Everything about a study for an ethics board."""
        return self._call(calls.dossier(study_id))

    def audit(self, job_id: str) -> bytes:
        """A job's log as signed lines, for `privet audit verify`."""
        return self._call(calls.audit(job_id))

    def _run(self, steps: Steps[T]) -> T:
        answer: Any = None
        refused: PrivetError | None = None
        while True:
            try:
                step = steps.send(answer) if refused is None else steps.throw(refused)
            except StopIteration as end:
                done: T = end.value
                return done
            answer = refused = None
            if isinstance(step, Pause):
                time.sleep(step.seconds)
                continue
            try:
                answer = self._call(step)
            except PrivetError as error:
                refused = error

    def _call(self, call: Call[T]) -> T:
        try:
            for attempt in stamina.retry_context(**retries(call, self._patience)):
                with attempt:
                    return self._once(call)
        except (BusyError, UnreachableError) as error:
            raise given_up(call, error) from None
        raise AssertionError("attempts end with an answer or an error")

    def _once(self, call: Call[T]) -> T:
        try:
            response = self._http.send(request_of(self._http, call, self._patience), stream=True)
            try:
                body = bytearray()
                for piece in response.iter_bytes():
                    body += piece
                    check_length(len(body))
            finally:
                response.close()
        except httpx.HTTPError as error:
            raise unanswered(self.access, error) from None
        return answer_of(call, response.status_code, response.headers, bytes(body))
