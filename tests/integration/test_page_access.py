"""Every page for everybody: who may open what, by one table, against a running cloud.

A new page needs a row here, or `test_every_page_has_its_row` fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import pytest
from fastapi.routing import APIRoute

from cloud_service.pages.routing import ROUTERS
from cloud_service.service.permissions import PERMISSIONS, Permission, Role
from tests.support.access import HOSPITALS, INVITED, LETTERS, STRANGER, closed_study
from tests.support.browsing import Browser, with_session
from tests.support.clinic import SCHEMA
from tests.support.cloud_server import CloudUnderTest, running_cloud

EVERYBODY = "OCSAU"


@dataclass(frozen=True)
class Row:
    """`who`: roles that may, by letter: operator, coordinator, steward of an invited hospital, analyst, auditor (U).

    `answer`: to them. `stranger`: to the steward of a hospital that is not invited. All others are forbidden, and who
    is not signed in is led to the page to sign in. `fields`: of a form, such that the answer is the same each time.
    """

    who: str
    answer: int
    stranger: int
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Open:
    """A page on the way in or out, whoever asks: `tests/integration/test_page_sessions.py` walks through them."""


JOB = "/jobs/{job_id}"
STUDY = "/studies/{study_id}"
DRAFT = "/studies/new/{draft_id}"
STREAMS = (JOB + "/live",)
"""Answers without an end, of which only the beginning is looked at."""
TABLE: Mapping[tuple[str, str], Row | Open] = {
    ("GET", "/sign-in"): Open(),
    ("POST", "/sign-in"): Open(),
    ("GET", "/sign-in/provider"): Open(),
    ("GET", "/sign-in/provider/finish"): Open(),
    ("POST", "/sign-out"): Open(),
    ("GET", "/"): Row(EVERYBODY, 200, 200),
    ("GET", "/overview/live"): Row(EVERYBODY, 200, 200),
    ("GET", "/account"): Row(EVERYBODY, 200, 200),
    ("POST", "/account/password"): Row(EVERYBODY, 422, 422, {"new_password": "x", "again": "y"}),
    ("POST", "/account/second-factor"): Row(EVERYBODY, 422, 422),
    ("GET", "/hospitals"): Row(EVERYBODY, 200, 200),
    ("GET", "/hospitals/live"): Row(EVERYBODY, 200, 200),
    ("GET", "/studies"): Row(EVERYBODY, 200, 200),
    ("GET", STUDY): Row(EVERYBODY, 200, 404),
    ("GET", STUDY + "/close"): Row("C", 200, 403),
    ("POST", STUDY + "/close"): Row("C", 303, 403),
    ("GET", STUDY + "/document"): Row(EVERYBODY, 200, 404),
    ("GET", STUDY + "/contract"): Row(EVERYBODY, 404, 404),  # it has none
    ("GET", STUDY + "/dossier"): Row("CSAU", 200, 404),
    ("GET", STUDY + "/dossier.json"): Row("CSAU", 200, 404),
    # a new study, step by step; no draft of anybody has this id
    ("GET", "/studies/new"): Row("C", 200, 403),
    ("POST", "/studies/new"): Row("C", 422, 403),
    ("GET", DRAFT + "/{step}"): Row("C", 404, 403),
    ("POST", DRAFT + "/{step}"): Row("C", 404, 403),
    ("POST", DRAFT + "/compare"): Row("C", 404, 403),
    ("POST", DRAFT + "/create"): Row("C", 404, 403),
    ("POST", DRAFT + "/delete"): Row("C", 303, 403),
    ("GET", STUDY + "/jobs/new"): Row("C", 200, 403),
    ("POST", STUDY + "/jobs/new"): Row("C", 422, 403),
    ("GET", "/jobs"): Row(EVERYBODY, 200, 200),
    ("GET", "/people"): Row("OU", 200, 403),
    ("GET", "/audit"): Row("U", 200, 403),
    ("GET", "/audit/people"): Row("U", 200, 403),
    ("GET", "/audit/check"): Row("U", 200, 403),
    ("GET", "/audit/check/{log}"): Row("U", 200, 403),
    ("GET", "/audit/acts.ndjson"): Row("U", 200, 403),
    ("GET", "/audit/people.ndjson"): Row("U", 200, 403),
    ("GET", "/operations"): Row("O", 200, 403),
    # a job while it runs
    ("GET", JOB): Row(EVERYBODY, 200, 404),
    ("GET", JOB + "/now"): Row(EVERYBODY, 286, 404),  # the job is over: ask no more
    ("GET", JOB + "/live"): Row(EVERYBODY, 200, 404),
    ("GET", JOB + "/cancel"): Row("C", 200, 403),
    ("POST", JOB + "/cancel"): Row("C", 409, 403),
    # a job that is over
    ("GET", JOB + "/result"): Row("CSAU", 200, 404),
    ("GET", JOB + "/evaluation"): Row("CSAU", 200, 404),
    ("GET", JOB + "/evaluation/json"): Row("CSAU", 200, 404),
    ("GET", JOB + "/ledger"): Row("CSAU", 200, 404),
    ("GET", JOB + "/ledger/json"): Row("CSAU", 200, 404),
    ("GET", JOB + "/ledger/page"): Row("CSAU", 200, 404),
    ("GET", JOB + "/audit"): Row("U", 200, 403),
    ("GET", JOB + "/audit/file"): Row("U", 200, 403),
    ("GET", JOB + "/tree"): Row("SA", 200, 404),
    ("GET", JOB + "/rules"): Row("SA", 200, 404),
    ("GET", JOB + "/importance"): Row("SA", 200, 404),
    ("GET", JOB + "/downloads"): Row("SA", 200, 404),
    ("GET", JOB + "/downloads/{form}"): Row("SA", 200, 404),
    ("GET", JOB + "/compare"): Row("SA", 200, 404),
}


@dataclass
class World:
    """A cloud with one finished job of three of its four hospitals; `browsers`: by who is signed in there."""

    cloud: CloudUnderTest
    job: str
    browsers: dict[str, Browser]

    def ask(
        self, who: str, method: str, path: str, fields: Mapping[str, str] | None = None
    ) -> httpx2.Response:
        """A page or a form as somebody asks for it."""
        asked = path.format(
            job_id=self.job, study_id="study", form="json", draft_id="0" * 32, step="rules", log="acts"
        )
        browser = self.browsers[who]
        if method == "POST":
            return browser.post(asked, fields or {})
        return browser.beginning(asked) if path in STREAMS else browser.get(asked)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with running_cloud(tmp_path_factory.mktemp("pages"), bits=512, hospitals=HOSPITALS) as cloud:
        job = closed_study(cloud)
        browsers = {
            role: with_session(cloud, role, [role], "h1" if role == "steward" else None)
            for role in LETTERS.values()
        }
        browsers[STRANGER] = with_session(cloud, "stranger", ["steward"], "h9")
        browsers["nobody"] = with_session(cloud, "nobody", [], None)
        cloud.services.people.sign_in.sign_out(browsers["nobody"].session)
        yield World(cloud, job, browsers)


def test_every_page_has_its_row() -> None:
    there = {
        (method, route.path)
        for router in ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute)
        for method in route.methods or ()
    }
    assert there == set(TABLE)


def _expected(row: Row, who: str) -> int:
    if who == "nobody":
        return 303
    if who == STRANGER:
        return row.stranger
    return row.answer if who in [LETTERS[letter] for letter in row.who] else 403


def test_everybody_gets_the_answer_of_the_table(world: World) -> None:
    wrong = []
    for (method, path), row in TABLE.items():
        if isinstance(row, Open):
            continue
        for who in world.browsers:
            got = world.ask(who, method, path, row.fields)
            leads_in = not got.headers.get("location", "").startswith("/sign-in") or who == "nobody"
            if got.status_code != _expected(row, who) or not leads_in:
                wrong.append((who, method, path, got.status_code, _expected(row, who)))
    assert wrong == []


def test_the_table_can_fail(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = {**PERMISSIONS, Role.OPERATOR: PERMISSIONS[Role.OPERATOR] | {Permission.AUDIT_READ}}
    monkeypatch.setattr("cloud_service.service.permissions.PERMISSIONS", changed)
    row = TABLE["GET", "/audit"]
    assert isinstance(row, Row)
    assert world.ask("operator", "GET", "/audit").status_code != _expected(row, "operator")


def test_navigation_shows_only_what_opens(world: World) -> None:
    items = ["/", "/studies", "/jobs", "/hospitals", "/people", "/audit", "/operations"]
    for role in LETTERS.values():
        page = world.ask(role, "GET", "/").text
        shown = {path for path in items if f'<li><a href="{path}"' in page}
        opened = {path for path in items if world.ask(role, "GET", path).status_code == 200}
        assert shown == opened, role


def test_a_refusal_names_the_roles_that_may(world: World) -> None:
    page = world.ask("analyst", "GET", "/operations")
    assert page.status_code == 403
    assert "takes one of these roles: operator" in page.text


def test_a_stranger_sees_nothing_of_the_job_on_any_page(world: World) -> None:
    hidden = (world.job, world.job[:8], "does it work?")
    pages = [path for (method, path), row in TABLE.items() if isinstance(row, Row) and method == "GET"]
    for path in pages:
        text = world.ask(STRANGER, "GET", path).text
        assert not [word for word in hidden if word in text], path
    assert all(word in world.ask("steward", "GET", "/jobs").text for word in hidden[:2])


def test_what_is_of_others_is_answered_as_what_is_not_there(world: World) -> None:
    others = world.ask(STRANGER, "GET", "/studies/study")
    none = world.browsers[STRANGER].get("/studies/nothing")
    assert (others.status_code, none.status_code) == (404, 404)
    assert [line for line in others.text.splitlines() if "study" in line and "request" not in line] == [
        line for line in none.text.splitlines() if "study" in line and "request" not in line
    ]


@pytest.mark.long
def test_every_page_without_a_job_in_its_address_opens_on_postgres(tmp_path: Path, postgres_url: str) -> None:
    with running_cloud(tmp_path / "cloud", postgres_url, bits=512, hospitals=HOSPITALS) as cloud:
        cloud.study(SCHEMA, members=INVITED)
        cloud.job(invited=INVITED)
        paths = [path for (method, path), row in TABLE.items() if isinstance(row, Row) and method == "GET"]
        roles = [role for role in LETTERS.values() if role != "steward"]
        browser = with_session(cloud, "everybody", roles, None)
        for path in paths:
            if not any(place in path for place in ("{job_id}", "{draft_id}", "/contract")):
                page = browser.get(path.format(study_id="study", log="acts"))
                assert page.status_code == 200, (path, page.text)
        for path in ("/studies/%00", "/jobs/%00", "/studies/new/%00/rules"):
            assert browser.get(path).status_code == 404, path
