"""Every page there is, in a federation where each has something to show.

`CLOUD` and `HOUSE` say of every GET route of the pages how it is visited: `Visit` (addresses to look at), `Inside` (a
part, a stream or a file that other pages bring), `Elsewhere` (leads away; which test follows it).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from cloud_service.pages.routing import ROUTERS
from hospital_agent.journal import JobStatus
from hospital_agent.keyring import Keyring
from hospital_agent.local_api.desk import Desk
from hospital_agent.models import shelf_of
from hospital_agent.pages import House
from hospital_agent.pages.front import create_pages
from hospital_agent.people.naming import Naming
from hospital_agent.people.stewards import Stewards
from tests.integration.test_new_study_pages import STEPS, filled
from tests.support.browsing import PASSWORD, with_session
from tests.support.clinic import SCHEMA
from tests.support.federation import OPEN_POLICY, LocalFederation, local_federation
from tests.support.house import serving_pages
from tests.support.stages import STEWARD, THREE, tables_of_clinic

TOKEN: Final = "a token of more than thirty-two characters"
ROLES: Final = ("operator", "coordinator", "steward", "analyst", "auditor")
ASKING: Final = OPEN_POLICY.replace("automatic", "ask")


@dataclass(frozen=True, slots=True)
class Visit:
    """Addresses to look at, with `{job}` (finished), `{waiting}`, `{study}`, `{draft}` in them; what they answer."""

    addresses: tuple[str, ...]
    status: int = 200


@dataclass(frozen=True, slots=True)
class Inside:
    """No page of its own: a part of one, a stream or a file. `why` says which."""

    why: str


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Leads to another place; `test` follows it."""

    test: str


Kind = Visit | Inside | Elsewhere
PART, STREAM, FILE = Inside("part"), Inside("stream"), Inside("file")


def _visit(*addresses: str, status: int = 200) -> Visit:
    return Visit(addresses, status)


CLOUD: Final[Mapping[str, Kind]] = {
    "/sign-in": _visit("/sign-in"),
    "/sign-in/provider": Elsewhere("test_page_sessions"),
    "/sign-in/provider/finish": Elsewhere("test_page_sessions"),
    "/": _visit("/"),
    "/overview/live": PART,
    "/account": _visit("/account"),
    "/hospitals": _visit("/hospitals"),
    "/hospitals/live": PART,
    "/studies": _visit("/studies"),
    "/studies/new": _visit("/studies/new"),
    "/studies/new/{draft_id}/{step}": _visit(*(f"{{draft}}/{step}" for step in (*STEPS, "summary"))),
    "/studies/{study_id}": _visit("/studies/{study}"),
    "/studies/{study_id}/close": _visit("/studies/{study}/close"),
    "/studies/{study_id}/document": FILE,
    "/studies/{study_id}/contract": FILE,
    "/studies/{study_id}/dossier": FILE,
    "/studies/{study_id}/dossier.json": FILE,
    "/studies/{study_id}/jobs/new": _visit("/studies/{study}/jobs/new"),
    "/jobs": _visit("/jobs", "/jobs?study={study}"),
    "/people": _visit("/people"),
    "/audit": _visit("/audit"),
    "/audit/people": _visit("/audit/people"),
    "/audit/check": _visit("/audit/check"),
    "/audit/check/{log}": _visit("/audit/check/acts"),
    "/audit/acts.ndjson": FILE,
    "/audit/people.ndjson": FILE,
    "/operations": _visit("/operations"),
    "/jobs/{job_id}": _visit("/jobs/{job}", "/jobs/{waiting}"),
    "/jobs/{job_id}/now": PART,
    "/jobs/{job_id}/live": STREAM,
    "/jobs/{job_id}/cancel": _visit("/jobs/{waiting}/cancel"),
    "/jobs/{job_id}/result": _visit("/jobs/{job}/result"),
    "/jobs/{job_id}/evaluation": _visit("/jobs/{job}/evaluation"),
    "/jobs/{job_id}/evaluation/json": FILE,
    "/jobs/{job_id}/ledger": _visit("/jobs/{job}/ledger"),
    "/jobs/{job_id}/ledger/json": FILE,
    "/jobs/{job_id}/ledger/page": FILE,
    "/jobs/{job_id}/audit": _visit("/jobs/{job}/audit"),
    "/jobs/{job_id}/audit/file": FILE,
    "/jobs/{job_id}/tree": _visit("/jobs/{job}/tree"),
    "/jobs/{job_id}/rules": _visit("/jobs/{job}/rules"),
    "/jobs/{job_id}/importance": _visit("/jobs/{job}/importance"),
    "/jobs/{job_id}/downloads": _visit("/jobs/{job}/downloads"),
    "/jobs/{job_id}/downloads/{form}": FILE,
    "/jobs/{job_id}/compare": _visit("/jobs/{job}/compare", "/jobs/{job}/compare?other={second}"),
}
"""By the path of the route."""
CLOUD_FAULTS: Final = (
    _visit("/no-such-page", "/studies/none", "/jobs/none", "/jobs/none/tree", status=404),
    _visit("/studies/new/00000000000000000000000000000000/rules", "/jobs/{waiting}/result", status=404),
)
"""Pages that say what went wrong."""
HOUSE: Final[Mapping[str, Kind]] = {
    "/": _visit("/"),
    "/house/now": PART,
    "/house/sign-in": Elsewhere("test_every_page"),
    "/house/studies": _visit("/house/studies"),
    "/house/studies/{study}": _visit("/house/studies/{study}"),
    "/house/studies/{study}/check": PART,
    "/house/studies/{study}/{action}": _visit(
        "/house/studies/{study}/approve", "/house/studies/{study}/decline"
    ),
    "/house/studies/{study}/consent": _visit("/house/studies/{study}/consent"),
    "/house/jobs": _visit("/house/jobs"),
    "/house/jobs/{job}/forget": _visit("/house/jobs/{job}/forget"),
    "/house/jobs/{job}": _visit("/house/jobs/{job}", "/house/jobs/{waiting}"),
    "/house/jobs/{job}/now": PART,
    "/house/jobs/{job}/figures": _visit("/house/jobs/{job}/figures"),
    "/house/jobs/{job}/figures.json": FILE,
    "/house/jobs/{job}/files/{name}": FILE,
    "/house/jobs/{job}/{said}": _visit("/house/jobs/{waiting}/approve", "/house/jobs/{waiting}/decline"),
    "/house/messages": _visit("/house/messages", "/house/messages?way=left&job={job}"),
    "/house/models": _visit("/house/models"),
    "/house/models/{model}": _visit("/house/models/{job}"),
    "/house/models/{model}/files/{form}": FILE,
    "/house/models/{model}/try": _visit("/house/models/{job}/try"),
    "/house/models/{model}/pin": _visit("/house/models/{second}/pin"),
    "/house/models/{model}/describe": _visit("/house/models/{job}/describe"),
    "/house/models/{model}/remove": _visit("/house/models/{second}/remove"),
    "/house/names": _visit("/house/names"),
    "/house/names/{name}": _visit("/house/names/{name}"),
    "/house/names/{name}/{act}": _visit(
        *(f"/house/names/{{name}}/{act}" for act in ("pin", "promote", "rollback", "unpin")),
        "/house/names/{quiet}/canary",
    ),
    "/house/asked/{question}": Elsewhere("test_house_shared"),
    "/house/asked/{question}/now": PART,
    "/house/records": _visit("/house/records"),
    "/house/records/now": PART,
    "/house/policy": _visit("/house/policy"),
}
HOUSE_FAULTS: Final = (
    _visit("/house/none", "/house/studies/none", "/house/jobs/none", status=404),
    _visit("/house/models/none", "/house/names/none", status=404),
    _visit("/house/names/{quiet}/promote", status=409),
)


@dataclass(frozen=True)
class Site:
    """`cloud`, `house`, `locked`: base addresses; the last is the house's with a token. `places`: for addresses."""

    cloud: str
    house: str
    locked: str
    session: str
    places: Mapping[str, str]


@contextmanager
def opened_site(folder: Path) -> Iterator[Site]:
    """Two finished jobs of one study, one that waits for its hospitals' word, a draft, and somebody with every role."""
    with local_federation(folder, THREE) as federation, ExitStack() as served:
        for name, path in tables_of_clinic(folder).items():
            federation.hospitals[name].configure(path)
            Stewards.of(federation.hospitals[name].folder).with_one(STEWARD, PASSWORD).save()
        study = federation.cloud.study(
            SCHEMA, publish_tree=True, disclosure="counts", tallies=["evaluation", "histogram"]
        )
        done = [_grown(federation, study, **rules) for rules in ({}, {"max_depth": 1})]
        house = federation.hospitals[THREE[0]].folder
        names = _named(federation, house, done)
        waiting = _asked(federation, study)
        browser = with_session(federation.cloud, "everybody", ROLES, None)
        places = names | {
            "job": done[0], "second": done[1], "waiting": waiting, "study": study, "draft": filled(browser)
        }  # fmt: skip
        yield Site(
            federation.cloud.base_url,
            served.enter_context(serving_pages(house)).rstrip("/"),
            served.enter_context(serving_pages(house, TOKEN)).rstrip("/"),
            browser.session,
            places,
        )
        browser.client.close()


def _grown(federation: LocalFederation, study: str, **rules: int) -> str:
    job = federation.cloud.job(study, invited=list(THREE), **rules)
    assert {entry.status for entry in federation.wait(job, THREE).values()} == {JobStatus.COMPLETE}
    return job


def _named(federation: LocalFederation, house: Path, jobs: Sequence[str]) -> dict[str, str]:
    """A name with a third tree on trial, and one without; so the second one's tree may be removed."""
    study = federation.hospitals[THREE[0]].entry(jobs[0]).study  # type: ignore[union-attr]
    tried = _grown(federation, study, max_depth=2)
    ring = Keyring.open(house)
    at = Naming(house, shelf_of(house, ring.identity.public, ring.hospital_trust().root), "ada")
    for name in ("ward", "quiet-ward"):
        at.pin(name, jobs[0])
    at.try_out("ward", tried, "10%")
    return {"name": "ward", "quiet": "quiet-ward"}


def _asked(federation: LocalFederation, study: str) -> str:
    """A job about which every hospital asks its people."""
    for hospital in federation.hospitals.values():
        hospital.allow(ASKING)
    job = federation.cloud.job(study, invited=list(THREE))
    federation.until(lambda: all(_awaits(federation, name, job) for name in THREE))
    return job


def _awaits(federation: LocalFederation, name: str, job: str) -> bool:
    entry = federation.hospitals[name].entry(job)
    return entry is not None and entry.status is JobStatus.AWAITING


def cloud_routes() -> set[str]:
    """Every GET route of the cloud's pages."""
    return {path for router in ROUTERS for path in _gets(router.routes)}


def house_routes() -> set[str]:
    """Every GET route of a hospital's pages, which need no agent to be listed."""
    return set(_gets(create_pages(House(Path(), cast(Desk, None), dict, "0")).routes))


def _gets(routes: Sequence[BaseRoute]) -> Iterator[str]:
    return (route.path for route in routes if isinstance(route, APIRoute) and "GET" in (route.methods or ()))
