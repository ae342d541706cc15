"""Codes and states in words, and in the colour that stands beside the word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from cloud_service.store.jobs import StoredJob
from shared.protocol.states import CloudState
from shared.protocol.waiting import of_job
from shared.texts import has_text, text

GOOD: Final = "good"
WAIT: Final = "wait"
BAD: Final = "bad"
OVER: Final = "over"
"""Neither well nor ill: it is done with."""
_KINDS: Final = {CloudState.DONE: GOOD, CloudState.FAILED: BAD, CloudState.CANCELLED: BAD}


@dataclass(frozen=True, slots=True)
class Word:
    """A state as a template shows it: `{{ ui.state(word.text, word.kind) }}`."""

    text: str
    kind: str


_ANSWERS: Final = {"approved": GOOD, "pending": WAIT, "by_rules": GOOD, "declined": BAD, "withdrawn": BAD}


@dataclass(frozen=True, slots=True)
class JobLine:
    """A job in a list. `waiting`: one sentence; empty where nothing more is to come. Times: Unix seconds."""

    id: str
    study: str
    mode: str
    state: Word
    reason: str
    waiting: str
    waits_for: tuple[str, ...]
    created: int
    finished: int | None


def job_line(stored: StoredJob) -> JobLine:
    """A job in words."""
    job, waiting = stored.job, of_job(stored.job)
    return JobLine(
        id=job.manifest.job,
        study=stored.study,
        mode=mode_of(stored),
        state=state_of(stored),
        reason=code_in_words(job.failure) if job.failure else "",
        waiting="" if waiting is None else sentence(waiting.text),
        waits_for=tuple(map(str, job.waiting_for)),
        created=stored.created,
        finished=stored.finished,
    )


def state_of(stored: StoredJob) -> Word:
    """Where a job stands."""
    job = stored.job
    if job.paused_since is not None and not job.is_over:
        return Word(text("cloud.state.PAUSED"), WAIT)
    return Word(text(f"cloud.state.{job.state.value}"), _KINDS.get(job.state, WAIT))


def answer_word(state: str) -> Word:
    """What a hospital has said to a study."""
    return Word(text(f"cloud.answer.{state}"), _ANSWERS[state])


def mode_of(stored: StoredJob) -> str:
    """What kind of job it is."""
    manifest = stored.job.manifest
    return text("cloud.mode.tally" if manifest.tally is not None else f"cloud.mode.{manifest.profile}")


def code_in_words(code: str) -> str:
    """What a code of a refusal or of a failed job means; the code itself where a later version has sent it."""
    name = f"cloud.code.{code}"
    return text(name) if has_text(name) else code


def sentence(words: str) -> str:
    """What a program says, as a sentence: begun large, ended with a mark."""
    return words[:1].upper() + words[1:] + ("" if words.endswith((".", "!", "?")) else ".")


def act_in_words(act: str) -> str:
    """What was done, as logs name it."""
    name = f"cloud.act.{act}"
    return text(name) if has_text(name) else act.replace("_", " ")
