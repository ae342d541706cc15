"""Records that a tree which stays shared is asked about, from a program's request until the answer was fetched.

Each is one private file, sealed where the folder is encrypted. Records go when the job is over, answers after an hour.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

from hospital_agent.protection import Protection
from machine.files import make_private_folder
from shared.errors import InputError
from shared.rng import random_bytes
from shared.texts import text

QUESTIONS: Final = "questions"
KEPT_SECONDS: Final = 3600
MOST: Final = 100
_MAX_BYTES: Final = 2**26
_STARTING_SECONDS: Final = 30
"""The cloud answers within 20 seconds, or the question fails."""
_LONGEST_SECONDS: Final = 7 * 86_400
_ID_BYTES: Final = 16
_CHANGING: Final = threading.RLock()
"""The daemon, and every thread of the local API, may change the same question."""

QuestionState = Literal["starting", "running", "done", "failed"]


@dataclass(frozen=True, slots=True)
class Question:
    """One request. `columns` and `rows`: attributes and values as the study lists them, empty once it is over.

    `answers`: classes in the order of the rows. `reason`: of a failure. Times in Unix seconds.
    """

    id: str
    study: str
    model: str
    caller: str
    asked: int
    columns: tuple[str, ...] = field(repr=False)
    rows: tuple[tuple[str, ...], ...] = field(repr=False)
    state: QuestionState = "starting"
    job: str | None = None
    answers: tuple[str, ...] = field(default=(), repr=False)
    reason: str = ""
    over: int = 0

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come."""
        return self.state in ("done", "failed")


@dataclass(slots=True)
class Questions:
    """The folder of questions. `clock`: Unix seconds."""

    folder: Path
    clock: Callable[[], float]

    def new(
        self,
        study: str,
        model: str,
        caller: str,
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
    ) -> Question:
        """Keep a question that begins. Raises: InputError: too many are open."""
        with _CHANGING:
            self._tidy()
            if len(self._paths()) >= MOST:
                raise InputError(
                    f"{MOST} questions to shared trees are kept already",
                    where="predict",
                    remedy="Wait until some are answered, or ask several records in one request.",
                )
            asked = Question(
                random_bytes(_ID_BYTES).hex(),
                study,
                model,
                caller,
                int(self.clock()),
                tuple(columns),
                tuple(map(tuple, rows)),
            )
            self._write(asked)
        return asked

    def put(self, question: Question) -> Question:
        """Keep a change, of one that is over without its records. Returns: what is kept now.

        Somebody else may have been first: what is over stays so, and what waits for a job is not taken back to before.
        """
        with _CHANGING:
            kept = self.get(question.id)
            if kept is not None and (kept.is_over or (question.job is None and kept.job is not None)):
                return kept
            if question.is_over:
                question = replace(question, rows=(), over=question.over or int(self.clock()))
            self._write(question)
        return question

    def give_up(self, question: Question) -> Question:
        """A question that nobody will answer any more is over: its job was not learned, or came to no end for days."""
        waited = self.clock() - question.asked
        if question.state == "starting" and waited >= _STARTING_SECONDS:
            reason = text("held.no_job")
        elif question.state == "running" and waited >= _LONGEST_SECONDS:
            reason = text("held.no_end")
        else:
            return question
        return self.put(replace(question, state="failed", reason=reason))

    def get(self, question_id: str) -> Question | None:
        """A question, None if there is none of that id or it was too long ago."""
        if len(question_id) != 2 * _ID_BYTES or not question_id.isalnum():
            return None
        return self._read(self._path(question_id))

    def all(self) -> list[Question]:
        """All that are kept, oldest first."""
        found = [question for path in self._paths() if (question := self._read(path)) is not None]
        return sorted(found, key=lambda question: question.asked)

    def claim(self, question_id: str, job: str) -> Question | None:
        """The question that a job answers, by the wish in its manifest: from now on it waits for this very job.

        So it does not hang on the cloud's answer to the wish, which may be lost. None: there is no such question, it is
        over, or it waits for another job.
        """
        with _CHANGING:
            question = self.get(question_id)
            if question is None or question.is_over or question.job not in (None, job):
                return None
            return question if question.job == job else self.put(replace(question, state="running", job=job))

    def _tidy(self) -> None:
        for question in map(self.give_up, self.all()):
            if question.is_over and question.over < self.clock() - KEPT_SECONDS:
                self._path(question.id).unlink(missing_ok=True)

    def _paths(self) -> list[Path]:
        return [path for path in (self.folder / QUESTIONS).glob("*.json") if not path.name.startswith(".")]

    def _path(self, question_id: str) -> Path:
        return self.folder / QUESTIONS / f"{question_id}.json"

    def _write(self, question: Question) -> None:
        path = self._path(question.id)
        make_private_folder(path.parent)
        Protection.of(self.folder).write(path, json.dumps(asdict(question)).encode())

    def _read(self, path: Path) -> Question | None:
        if not path.is_file():
            return None
        raw = Protection.of(self.folder).read(path, max_bytes=_MAX_BYTES, remedy="Ask again.")
        data: dict[str, Any] = json.loads(raw)
        rows = tuple(tuple(row) for row in data["rows"])
        return Question(
            **{**data, "columns": tuple(data["columns"]), "rows": rows, "answers": tuple(data["answers"])}
        )
