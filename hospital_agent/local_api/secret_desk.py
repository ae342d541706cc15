"""Questions to a tree that stays shared: a job of purpose `predict` answers, and the caller fetches its answer.

What is asked stays in this house: the request to the cloud names the tree only, and the records go out as shares of
the job. So the records are checked here first, and none is taken that a shared tree has no branch for.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from hospital_agent.local_api.problems import RefusedError
from hospital_agent.models import Answers, Record
from hospital_agent.models.questions import Question, Questions
from shared.errors import InputError, PeerError, TemporaryError
from shared.texts import text
from shared.tree.answering import answer_document
from shared.tree.prediction import Prediction, Value, value_code, value_number
from shared.tree.schema import Attribute

MOST_WAIT_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 0.2
_MOST_WAITING: Final = 16
"""Who waits holds a thread of the server, which has 40; whoever comes then is told at once that the job still runs."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a job came to so far. `classes`: None while it runs; `failure`: why it will give none, empty otherwise."""

    classes: Sequence[str] | None = None
    failure: str = ""


@dataclass(slots=True)
class SecretDesk:
    """`start`: has the job begun, and gives its id; raises PeerError or TemporaryError. `outcome`: of a job."""

    questions: Questions
    start: Callable[[Question], str]
    outcome: Callable[[str], Outcome]
    clock: Callable[[], float] = field(default=time.monotonic)
    _waiting: threading.Semaphore = field(
        default_factory=lambda: threading.Semaphore(_MOST_WAITING), repr=False
    )

    def ask(self, answers: Answers, records: Sequence[Record], *, caller: str) -> Question:
        """Begin a job about records in the study's words.

        Raises: InputError: a value that the schema does not list, or too many open questions. RefusedError: the cloud
            did not start the job, and what to do.
        """
        schema, model = answers.schema, answers.model
        rows = [
            _row(number, record, schema.attributes, answers.names) for number, record in enumerate(records, 1)
        ]
        columns = [attribute.name for attribute in schema.attributes]
        question = self.questions.new(model.manifest.study, model.id, caller, columns, rows)
        try:
            job = self.start(question)
        except PeerError as error:
            self.questions.put(replace(question, state="failed", reason=str(error)))
            raise RefusedError(
                409,
                error.code.value,
                f"The cloud does not start the job: {error}",
                remedy="The study's document says whether and how often hospitals may ask by themselves; the cloud "
                "must have it switched on as well (setting agents_may_ask). The coordinator can start such a job: "
                "privet cloud job create --mode gain-ratio --ask.",
            ) from None
        except TemporaryError as error:
            kept = self.questions.put(replace(question, state="failed", reason=str(error)))
            if kept.job is not None:  # the answer was lost, but the job's offer has come
                return kept
            raise RefusedError(503, "cloud_unreachable", str(error), remedy="Ask again in a while.") from None
        return self.questions.put(replace(question, state="running", job=job))

    def look(self, question_id: str, wait: float = 0.0) -> Question | None:
        """Where a question stands, after up to `wait` seconds; None: unknown, or its answer was kept long enough."""
        ends = self.clock() + min(wait, MOST_WAIT_SECONDS)
        question = self._now(question_id)
        if not self._waiting.acquire(blocking=False):
            return question
        try:
            while question is not None and not question.is_over and self.clock() < ends:
                time.sleep(_LOOK_SECONDS)
                question = self._now(question_id)
        finally:
            self._waiting.release()
        return question

    def _now(self, question_id: str) -> Question | None:
        question = self.questions.get(question_id)
        if question is None or question.is_over:
            return question
        question = self.questions.give_up(question)
        if question.job is None or question.is_over:
            return question
        outcome = self.outcome(question.job)
        if outcome.failure:
            return self.questions.put(replace(question, state="failed", reason=outcome.failure))
        if outcome.classes is None:
            return question
        if len(outcome.classes) != len(question.rows):
            reason = "the job answered another number of records than were asked about"
            return self.questions.put(replace(question, state="failed", reason=reason))
        return self.questions.put(replace(question, state="done", answers=tuple(outcome.classes)))


def question_document(question: Question, head: Mapping[str, Any]) -> dict[str, Any]:
    """A question as programs are shown it. Args: head: what stands above predictions of its model."""
    told = {"id": question.id, "state": question.state, "job": question.job, "model": question.model}
    place = {"at": f"/v1/predictions/{question.id}"}
    if question.state == "failed":
        return told | place | {"reason": question.reason}
    if question.state != "done":
        return told | place
    return {**head, **told, **place, "predictions": [_answer(label) for label in question.answers]}


def _answer(label: str) -> dict[str, Any]:
    document = answer_document(Prediction(label, ()))
    note = text("held.no_path")
    return document | {"path": "", "explanation": f"{label}. {note}", "note": note}


def _row(
    number: int, record: Record, attributes: Sequence[Attribute], names: frozenset[str]
) -> tuple[str, ...]:
    foreign = next((name for name in record if name not in names), None)
    if foreign is not None:
        raise InputError(
            "the study has no such attribute", where=f"record {number}, attribute {foreign[:200]!r}"
        )
    return tuple(_text(number, attribute, record.get(attribute.name)) for attribute in attributes)


def _text(number: int, attribute: Attribute, value: Value) -> str:
    """The value as the schema lists it. Raises: InputError: a shared tree has no branch for it."""
    where = f"record {number}, attribute {attribute.name!r}"
    try:
        if attribute.fixed_point is not None:
            given = value_number(attribute, value)
            if given is not None:
                attribute.code_of(str(given))
                return format(given, "f")
        else:
            code, _ = value_code(attribute, value)
            if code is not None:
                return attribute.values[code] if attribute.cuts is None else _number(value)
    except InputError as error:
        raise InputError(str(error), where=f"record {number}") from None
    raise InputError(
        "no value that the schema lists, and a shared tree has no answer without one",
        where=where,
        remedy="Give the attribute a value that the schema lists.",
    )


def _number(value: Value) -> str:
    return "" if value is None else str(value).strip()
