"""Waiting for the job that asks a shared tree: a few may, so that the server goes on answering everybody else."""

from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from hospital_agent.local_api import secret_desk
from hospital_agent.local_api.secret_desk import Outcome, SecretDesk
from hospital_agent.models.questions import Question, Questions


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
