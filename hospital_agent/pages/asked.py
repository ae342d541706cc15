"""A patient about whom a tree that stays shared was asked: the job runs, and then there is its answer, for an hour."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request
from starlette.responses import Response

from hospital_agent.pages.house import House, changed_part, page, state_of
from hospital_agent.pages.job_words import JobRow, job_row
from hospital_agent.people.standings import job_document
from shared.errors import InputError


def add(pages: FastAPI, house: House) -> None:
    """`/house/asked/{question}`."""

    @pages.get("/house/asked/{question}")
    def one(request: Request, question: str) -> Response:
        """How far the job is, or what it answered."""
        values = _values(house, question)
        return page(request, "asked.html", active="models", **values, state_seen=state_of(values))

    @pages.get("/house/asked/{question}/now")
    def now(request: Request, question: str, seen: str = "") -> Response:
        """The part of the page that changes by itself."""
        return changed_part(request, "asked_now.html", seen, _values(house, question))


def _values(house: House, question_id: str) -> dict[str, Any]:
    """Raises: RefusedError: there is no such question, or its answer was kept long enough."""
    question = house.desk.shared_answer(question_id, 0.0)
    document = house.desk.shared_document(question)
    return {
        "question": question.id,
        "state_word": question.state,
        "asked_at": question.asked,
        "reason": question.reason,
        "job": question.job,
        "row": _row(house, question.job),
        "model": question.model,
        "class_name": _class_name(house, question.model),
        "answers": [str(each["class"]) for each in document.get("predictions", ())],
        "notice": document.get("notice", ""),
    }


def _row(house: House, job: str | None) -> JobRow | None:
    """The job that answers; None until this agent has heard of it."""
    if job is None:
        return None
    with house.journal() as journal:
        entry = journal.job(job)
        return None if entry is None else job_row(job_document(entry, journal.waiting_types()))


def _class_name(house: House, model: str) -> str:
    """What the tree answers; empty where the model was removed meanwhile."""
    try:
        return house.library.answers(model).schema.class_name
    except InputError:
        return ""
