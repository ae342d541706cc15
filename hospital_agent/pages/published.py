"""How good a tree is, as it left this house for the cloud: the very figures that a study publishes."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request
from starlette.responses import Response

from hospital_agent.pages.house import House, page
from hospital_agent.pages.problems import PageProblem
from hospital_agent.people.published import published_document, published_sentence, published_tables
from machine.browsers import json_file


def add(pages: FastAPI, house: House) -> None:
    """`/house/jobs/{job}/figures`, and the same as a file."""

    @pages.get("/house/jobs/{job}/figures")
    def figures(request: Request, job: str) -> Response:
        """The figures as tables, and whether they are those of the hash in the log."""
        document = _document(house, job)
        return page(
            request,
            "figures.html",
            active="jobs",
            job=job,
            document=document,
            sentence=published_sentence(document),
            tables=published_tables(document),
        )

    @pages.get("/house/jobs/{job}/figures.json")
    def file(job: str) -> Response:
        """As `privet agent figures --json`."""
        return json_file(_document(house, job), f"figures-{job}.json")


def _document(house: House, job: str) -> dict[str, Any]:
    """Raises: PageProblem: no such job. InputError: it is not complete, or its tree is not here."""
    with house.journal() as journal:
        if journal.job(job) is None:
            raise PageProblem(404, "no_job")
    return published_document(house.folder, job, house.log)
