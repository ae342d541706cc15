"""Requests drawn from each server's own description, against servers that run: everything answered is as described.

Checks of schemathesis, all: no error of ours, statuses, content types, headers and bodies as described, unknown methods
refused, credentials not ignored, invalid data refused, valid data taken, nothing found after it was deleted.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cloud_service.service.permissions import Role
from hospital_agent.local_api import Desk, Library, create_app, serving
from hospital_agent.models import Shelf
from hospital_agent.models.counters import Counters
from hospital_agent.models.names import Change, Names
from hospital_agent.settings import LocalSection
from tests.support import described
from tests.support.clinic import SCHEMA, dealt
from tests.support.cloud_server import CloudUnderTest, running_cloud
from tests.support.http_hospital import hospitals_of, run_together
from tests.support.models import model_of, parties

pytestmark = pytest.mark.xdist_group("described")

INVITED = ["h1", "h2", "h3"]
TOKEN = "t" * 32
EVERYTHING = [role for role in Role if role is not Role.STEWARD]
SIGNED = (
    "/v1/inbox",
    "/v1/messages",
    "/v1/hospitals",
    "/v1/jobs/{job_id}/frames",
    "/v1/jobs/{job_id}/progress",
)
STUDIES = ("/v1/agent/studies", "/v1/agent/studies/{study}")
BEYOND_SCHEMA = (
    *SIGNED,
    *STUDIES,
    *(STUDIES[1] + end for end in ("/answer", "/ask", "/consent")),
    "/v1/jobs/{job_id}/relay",  # a WebSocket
    "/v1/jobs/{job_id}/predict",  # a record must fit the study's attributes
    "/v1/models/{job_id}/predict",  # so here
    "/v1/studies",  # an attribute has either values or a range
    "/v1/studies/{study_id}/jobs",  # options go together with modes
    "/v1/me/password",
)
ROUNDS = "examples,coverage,fuzzing,stateful"


@contextmanager
def busy_cloud(folder: Path, database_url: str = "") -> Iterator[tuple[CloudUnderTest, dict[str, str]]]:
    """A cloud with an open study and a job that came to a tree; with it the values of paths' parameters."""
    limits = {"requests_per_second": 10_000.0, "max_wait_seconds": 0.1}
    with running_cloud(folder, database_url, bits=512, **limits) as cloud:
        cloud.study(SCHEMA, publish_tree=True, members=INVITED)
        with hospitals_of(cloud, dealt(*INVITED)) as hospitals:
            job = cloud.job(invited=INVITED)
            run_together(hospitals)
        yield cloud, {"path.job_id": job, "path.study_id": "study", "path.study": "study"}


def token_of(cloud: CloudUnderTest, *roles: Role) -> str:
    """A token of these roles."""
    hospital = "h1" if Role.STEWARD in roles else None
    return cloud.services.tokens.create("-".join(roles) + "-fuzz", list(roles), hospital=hospital)


def test_the_cloud_answers_as_it_is_described(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with busy_cloud(tmp_path / "cloud") as (cloud, parameters):
        token = token_of(cloud, *EVERYTHING)
        found = described.check(
            tmp_path / "drawn",
            cloud.base_url,
            parameters=parameters,
            beyond_schema=BEYOND_SCHEMA,
            token=token,
        )
    assert found.faults == [], found.text
    assert found.requests >= 80
    with capsys.disabled():
        print(f"\nschemathesis over the cloud: {found.requests} requests")


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_the_cloud_answers_every_role_as_it_is_described(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    total = 0
    with busy_cloud(tmp_path / "cloud", request.getfixturevalue(f"{kind}_url")) as (cloud, parameters):
        callers = {role: token_of(cloud, role) for role in Role}
        callers |= {"everything": token_of(cloud, *EVERYTHING), "nobody": None}  # type: ignore[dict-item]
        for number, (who, token) in enumerate(callers.items()):
            found = described.check(
                tmp_path / who,
                cloud.base_url,
                parameters=parameters,
                beyond_schema=BEYOND_SCHEMA,
                token=token,
                phases=ROUNDS if who == "everything" else "examples,fuzzing",
                examples=20,
                seed=number,
            )
            assert found.faults == [], (who, found.text)
            total += found.requests
            with capsys.disabled():
                print(f"\nschemathesis over the cloud, {kind}, {who}: {found.requests} requests")
    assert total > 5000


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    members, folder = parties(), tmp_path / "models"
    folder.mkdir(mode=0o700)
    shelf = Shelf(folder, members.identities["h1"].public, members.root)
    shelf.put(model_of(members), members.identities["h1"])
    return shelf


@pytest.mark.parametrize(
    ("token", "phases"),
    [
        (None, "fuzzing"),
        pytest.param(None, ROUNDS, marks=pytest.mark.long),
        pytest.param(TOKEN, ROUNDS, marks=pytest.mark.long),
    ],
)
def test_the_local_api_answers_as_it_is_described(
    token: str | None, phases: str, tmp_path: Path, shelf: Shelf, capsys: pytest.CaptureFixture[str]
) -> None:
    names = Names(tmp_path, time.time)
    (model,) = shelf.ids()
    names.change("ward-3", Change(1, "nurse", "pinned", model, str(shelf.get(model).tree_sha256)))
    desk = Desk(Library(shelf), names, Counters(tmp_path, time.time), clock=time.time)
    app = create_app(desk.library, lambda: {"agent": "h1"}, token, desk=desk)
    with serving(app, LocalSection(port=0)) as url:
        found = described.check(
            tmp_path / "drawn",
            url,
            parameters={"path.model_id": next(iter(shelf.ids())), "path.name": "ward-3"},
            beyond_schema=(
                "/predict",
                "/v1/models/{model_id}/predict",
            ),  # a record must fit the model's attributes
            token=token,
            phases=phases,
            examples=5 if phases == "fuzzing" else 200,
        )
    assert found.faults == [], found.text
    with capsys.disabled():
        print(f"\nschemathesis over the local API: {found.requests} requests")


def test_what_is_not_as_described_is_found(tmp_path: Path, shelf: Shelf) -> None:
    """A control: a server whose health is a problem it never mentioned."""
    app = create_app(Library(shelf), lambda: {"agent": "h1"}, None)

    @app.get("/ill")
    def ill() -> dict[str, str]:
        raise RuntimeError("ill")

    with serving(app, LocalSection(port=0)) as url:
        found = described.check(tmp_path / "drawn", url, parameters={})
    assert any("Server error" in fault and "GET /ill" in fault for fault in found.faults), found.faults
