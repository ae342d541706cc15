"""Consent to a difference of results, signed by a steward on a page of its own."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from fastapi import FastAPI, Request
from starlette.responses import Response

from hospital_agent.journal import studies as kept
from hospital_agent.journal.studies import StudyEntry
from hospital_agent.pages.confirming import Confirmation, Step, values_of
from hospital_agent.pages.guarding import Fields
from hospital_agent.pages.house import House, state_of
from hospital_agent.pages.problems import PageProblem
from hospital_agent.people.answering import read_hash, study_answers, takes_jobs
from shared.texts import text


def add(pages: FastAPI, house: House) -> None:
    """`/house/studies/{study}/consent`."""
    confirmation = Confirmation.of(pages, house)

    @pages.get("/house/studies/{study}/consent")
    def confirm(request: Request, study: str) -> Response:
        """What it means."""
        return confirmation.show(request, _step(house, study))

    @pages.post("/house/studies/{study}/consent")
    def consent(request: Request, study: str, fields: Fields) -> Response:
        """Sign it and let the agent bring it to the cloud."""
        return confirmation.take(
            request, partial(_step, house, study), fields, lambda person: _say(house, person, study, fields)
        )


def may_consent(entry: StudyEntry, now: float) -> bool:
    """Whether a consent could serve a job: the study is open, and this hospital has not turned away from it."""
    return takes_jobs(entry, now) and entry.answer not in kept.REFUSED


def _step(house: House, study: str) -> Step:
    with house.journal() as journal:
        entry = kept.study(journal, study)
    if entry is None:
        raise PageProblem(404, "no_study")
    if not may_consent(entry, house.clock()):
        raise PageProblem(409, "answered")
    facts = [(text("house.say.study"), entry.study), (text("house.say.document"), entry.sha256)]
    return Step(
        act="consent",
        back=f"/house/studies/{entry.study}",
        command=f"privet agent consent {house.folder} {entry.study}",
        seen=state_of({"document": entry.sha256}),
        active="studies",
        values=values_of(facts=facts, warnings=[text("answering.consent")], other=True),
    )


def _say(house: House, person: str, study: str, fields: Mapping[str, str]) -> str:
    """Raises: InputError: the other document's hash is none."""
    other = fields.get("other", "").strip()
    with study_answers(house.folder) as desk:
        entry = kept.find(desk.journal, study)
        desk.consent(entry, read_hash(other) if other else entry.sha256, person=person)
    return f"/house/studies/{study}"
