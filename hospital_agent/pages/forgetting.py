"""Have a job that is over forgotten, on a page that says what stays."""

from __future__ import annotations

from functools import partial

from fastapi import FastAPI, Request
from starlette.responses import Response

from hospital_agent.journal import JobEntry
from hospital_agent.pages.confirming import Confirmation, Step, values_of
from hospital_agent.pages.guarding import Fields
from hospital_agent.pages.house import House, state_of
from hospital_agent.pages.problems import PageProblem
from hospital_agent.people.forgetting import check_forgettable, forget_job
from shared.texts import text


def add(pages: FastAPI, house: House) -> None:
    """`/house/jobs/{job}/forget`."""
    confirmation = Confirmation.of(pages, house)

    @pages.get("/house/jobs/{job}/forget")
    def confirm(request: Request, job: str) -> Response:
        """What goes and what stays."""
        return confirmation.show(request, _step(house, job))

    @pages.post("/house/jobs/{job}/forget")
    def forget(request: Request, job: str, fields: Fields) -> Response:
        """Do it."""
        return confirmation.take(
            request, partial(_step, house, job), fields, lambda person: _forget(house, person, job)
        )


def _step(house: House, job: str) -> Step:
    """Raises: InputError: it cannot be forgotten yet."""
    with house.journal() as journal:
        entry = journal.job(job)
        if entry is None:
            raise PageProblem(404, "no_job")
        check_forgettable(journal, entry)
    return Step(
        act="forget",
        back=f"/house/jobs/{job}",
        command=f"privet agent forget {house.folder} {job[:8]}",
        seen=state_of({"updated": entry.updated}),
        active="jobs",
        values=values_of(facts=_facts(entry)),
    )


def _facts(entry: JobEntry) -> list[tuple[str, str]]:
    return [(text("house.offer.job"), entry.job), (text("house.say.study"), entry.study)]


def _forget(house: House, person: str, job: str) -> str:
    with house.journal() as journal:
        entry = journal.job(job)
        if entry is not None:
            forget_job(journal, entry, person=person)
    return "/house/jobs"
