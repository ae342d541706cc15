"""Waiting for the job that asks a shared tree: a few may, so that the server goes on answering everybody else."""

from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hospital_agent.local_api import secret_desk
from hospital_agent.local_api.problems import RefusedError
from hospital_agent.local_api.secret_desk import Outcome, SecretDesk
from hospital_agent.models import Answers
from hospital_agent.models.questions import Question, Questions
from shared.errors import ErrorCode, PeerError, TemporaryError
from shared.tree.schema import Attribute, Schema

SCHEMA = Schema.create([Attribute("sex", ("f", "m"), treat_as="equality")], "ill", ["no", "yes"])


class Job:
    """A job that runs until `ended` is set, and counts which thread has looked at it how often."""

    def __init__(self) -> None:
        self.ended, self.is_waited_for = threading.Event(), threading.Event()
        self.looks: Counter[int] = Counter()

    def outcome(self, _job: str) -> Outcome:
        own = threading.get_ident()
        self.looks[own] += 1
        if self.looks[own] > 1:
            self.is_waited_for.set()
        return Outcome(["ill"]) if self.ended.is_set() else Outcome()


def test_one_too_many_is_told_at_once_that_the_job_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secret_desk, "_MOST_WAITING", 1)
    monkeypatch.setattr(secret_desk, "_LOOK_SECONDS", 0.01)
    questions, job = Questions(tmp_path, time.time), Job()
    asked = questions.new("s", "m", "ward", ["sex"], [["f"]])
    questions.put(replace(asked, state="running", job="j"))
    desk = SecretDesk(questions, lambda _question: "j", job.outcome)
    waited: list[Question | None] = []
    waiting = threading.Thread(target=lambda: waited.append(desk.look(asked.id, 30.0)))
    waiting.start()
    try:
        assert job.is_waited_for.wait(10)
        told = desk.look(asked.id, 30.0)
        assert told is not None
        assert told.state == "running"
        assert job.looks[threading.get_ident()] == 1
    finally:
        job.ended.set()
        waiting.join()
    assert [question.answers for question in waited if question is not None] == [("ill",)]
    assert desk.look(asked.id, 30.0) == waited[0]


def answers() -> Answers:
    """What a desk looks at of a model."""
    model = SimpleNamespace(id="ab" * 16, manifest=SimpleNamespace(study="s"))
    parts: dict[str, Any] = {"schema": SCHEMA, "model": model, "names": frozenset({"sex"})}
    return cast(Answers, SimpleNamespace(**parts))


def test_a_question_whose_offer_came_does_not_hang_on_the_clouds_answer(tmp_path: Path) -> None:
    questions, job = Questions(tmp_path, time.time), Job()

    def lost(question: Question) -> str:
        assert questions.claim(question.id, "cd" * 16) is not None  # as the daemon does with the offer
        raise TemporaryError("no answer within 20 s")

    asked = SecretDesk(questions, lost, job.outcome).ask(answers(), [{"sex": "f"}], caller="ward")
    assert (asked.state, asked.job, asked.rows) == ("running", "cd" * 16, (("f",),))
    job.ended.set()
    done = SecretDesk(questions, lost, job.outcome).look(asked.id)
    assert done is not None
    assert (done.state, done.answers, done.rows) == ("done", ("ill",), ())


def test_a_refusal_says_what_allows_it_and_keeps_no_record(tmp_path: Path) -> None:
    questions = Questions(tmp_path, time.time)

    def refused(_question: Question) -> str:
        raise PeerError(ErrorCode.POLICY_PROFILE, "no more today")

    def unreachable(_question: Question) -> str:
        raise TemporaryError("no way")

    for start, status in ((refused, 409), (unreachable, 503)):
        with pytest.raises(RefusedError) as found:
            SecretDesk(questions, start, Job().outcome).ask(answers(), [{"sex": "f"}], caller="ward")
        assert found.value.status == status
    assert [(one.state, one.rows) for one in questions.all()] == [("failed", ())] * 2


def test_what_is_over_stays_so_and_a_job_that_is_known_is_not_forgotten(tmp_path: Path) -> None:
    questions = Questions(tmp_path, time.time)
    asked = questions.new("s", "m", "ward", ["sex"], [["f"]])
    claimed = questions.claim(asked.id, "j")
    assert questions.put(replace(asked, state="failed", reason="no answer")) == claimed
    done = questions.put(replace(asked, state="done", job="j", answers=("ill",)))
    assert questions.put(replace(asked, state="running", job="j")) == done == questions.get(asked.id)


def test_many_may_change_one_question_at_once(tmp_path: Path) -> None:
    asked = Questions(tmp_path, time.time).new("s", "m", "ward", ["sex"], [["f"]])
    begin, failures = threading.Barrier(8), []

    def change() -> None:
        begin.wait()
        try:
            for _ in range(5):  # of the daemon and of each thread of the local API
                Questions(tmp_path, time.time).put(replace(asked, state="running", job="j"))
        except OSError as error:
            failures.append(error)

    threads = [threading.Thread(target=change) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
