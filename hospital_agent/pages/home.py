"""The first page: what this agent does now, how it stands with the cloud, and what needs a person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from fastapi import FastAPI, Request
from starlette.responses import Response

from hospital_agent.pages.house import ENDED_JOBS, House, changed_part, page, state_of
from hospital_agent.pages.job_words import job_row
from hospital_agent.people.budgets import budget_document
from hospital_agent.protection import Protection
from shared.errors import InputError
from shared.protocol.waiting import from_document
from shared.texts import text

_ALL_PERCENT: Final = 100


@dataclass(frozen=True, slots=True)
class Need:
    """Something that a person should see to. `link`: where, if there is a page for it."""

    words: str
    link: str = ""
    label: str = ""


def add(pages: FastAPI, house: House) -> None:
    """`/`."""

    @pages.get("/")
    def home(request: Request) -> Response:
        """What this agent does now."""
        values = _now(house)
        return page(request, "home.html", active="home", **values, state_seen=state_of(values))

    @pages.get("/house/now")
    def now(request: Request, seen: str = "") -> Response:
        """The part of the first page that changes by itself; nothing while it is what was seen."""
        return changed_part(request, "home_now.html", seen, _now(house))


def _now(house: House) -> dict[str, Any]:
    status = house.status()
    jobs = [job_row(job) for job in reversed(status["jobs"])]
    return {
        "status": status,
        "silence": None if status["waiting"] is None else from_document(status["waiting"]).text,
        "needs": list(_needs(house, status)),
        "running": [job for job in jobs if job.is_running],
        "recent": [job for job in jobs if not job.is_running][:ENDED_JOBS],
        "policy": _policy(house),
    }


def _needs(house: House, status: Mapping[str, Any]) -> Iterator[Need]:
    if status["federation"] is None:
        yield Need(text("house.home.need.join"))
    for study in status["studies_waiting"]:
        yield Need(
            text("house.home.need.study", study=study), f"/house/studies/{study}", text("house.home.read_it")
        )
    for job in status["jobs"]:
        if job["status"] == "awaiting":
            yield Need(
                text("house.home.need.offer", study=job["study"]),
                f"/house/jobs/{job['job']}",
                text("house.home.read_it"),
            )
    if status["certificate_notice"]:
        yield Need(status["certificate_notice"])
    if status["federation"] is not None and not status["newest_key"]:
        yield Need(text("house.home.need.key"))
    yield from _needs_of_folder(house)
    yield from _spent(house)


def _needs_of_folder(house: House) -> Iterator[Need]:
    try:
        data = house.settings().data
        house.policy()
    except InputError as error:
        yield Need(str(error))
        return
    if data.path is None and data.url is None:
        yield Need(text("house.home.need.records"))
    elif data.path is not None and not data.path.is_file():
        yield Need(text("house.home.need.file"))
    try:
        if not Protection.of(house.folder).is_on:
            yield Need(text("house.home.need.protect", folder=house.folder))
    except InputError as error:
        yield Need(str(error))


def _spent(house: House) -> Iterator[Need]:
    """Budgets that are used up: of the present records, or of all together."""
    try:
        budget = budget_document(house.folder)
    except InputError:
        return
    whole = budget["limit"]["for"] == "all"
    used = (
        [budget["used_percent"]]
        if whole
        else [r["used_percent"] for r in budget["records"] if r["is_current"]]
    )
    if any(Decimal(str(percent)) >= _ALL_PERCENT for percent in used):
        yield Need(text("house.home.need.budget"), "/house/policy", text("house.home.all_rules"))


def _policy(house: House) -> Any:
    try:
        return house.policy()
    except InputError:
        return None
