"""Every endpoint for everybody: who may ask what, by one table, against a running cloud.

A new endpoint of the API needs a row here, or `test_every_endpoint_has_its_row` fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
from sqlalchemy import text

from cloud_service.service.permissions import PERMISSIONS, Permission, Role, caller_of
from cloud_service.service.refusals import ForbiddenError
from shared.ids import AgentId
from tests.support.access import HOSPITALS, INVITED, LETTERS, STRANGER, closed_study
from tests.support.clinic import NAMES as ATTRIBUTES
from tests.support.clinic import SCHEMA
from tests.support.cloud_server import CloudUnderTest, running_cloud

PASSWORD = "correct horse battery staple"

STUDY = {
    "id": "study",
    "question": "does it work?",
    "schema": SCHEMA,
    "synthetic": True,
    "publish_tree": True,
}
RECORD = {"record": dict(zip(ATTRIBUTES, "11111", strict=True))}
TOO_FEW = {"invited": ["h1", "h2"]}


@dataclass(frozen=True)
class Row:
    """`who`: roles that may, by letter: operator, coordinator, steward of an invited hospital, analyst, auditor (U).

    `answer`: to them. `stranger`: to the steward of a hospital that is not invited. All others are forbidden, and
    nobody gets in without a living token. `body`: what is sent, such that an answer is the same each time.
    """

    who: str
    answer: int
    stranger: int
    body: Any = None


@dataclass(frozen=True)
class Same:
    """Whoever asks, and with whatever token, the answer is this: agents prove who they are by signatures."""

    status: int
    code: str | None = None
    body: Any = field(default_factory=dict)


TABLE: Mapping[tuple[str, str], Row | Same] = {
    # people
    ("GET", "/v1/hospitals"): Row("OCSAU", 200, 200),
    ("GET", "/v1/studies"): Row("OCSAU", 200, 200),
    ("POST", "/v1/studies"): Row("C", 201, 403, STUDY | {"members": INVITED}),
    ("GET", "/v1/studies/{study_id}"): Row("OCSAU", 200, 404),
    ("POST", "/v1/studies/{study_id}/close"): Row("C", 200, 403),
    ("POST", "/v1/studies/{study_id}/jobs"): Row("C", 422, 403, TOO_FEW),
    ("GET", "/v1/jobs"): Row("OCSAU", 200, 200),
    ("GET", "/v1/jobs/{job_id}"): Row("OCSAU", 200, 404),
    ("POST", "/v1/jobs/{job_id}/cancel"): Row("C", 409, 403),
    ("GET", "/v1/jobs/{job_id}/events"): Row("OCSAU", 200, 404),
    ("GET", "/v1/jobs/{job_id}/traffic"): Row("OCSAU", 200, 404),
    ("GET", "/v1/jobs/{job_id}/result"): Row("CSAU", 200, 404),
    ("GET", "/v1/jobs/{job_id}/evaluation"): Row("CSAU", 200, 404),
    ("GET", "/v1/jobs/{job_id}/tree"): Row("SA", 200, 404),
    ("POST", "/v1/jobs/{job_id}/predict"): Row("SA", 200, 404, RECORD),
    ("POST", "/v1/models/{job_id}/predict"): Row("SA", 200, 404, RECORD),
    ("GET", "/v1/models/{job_id}/card"): Row("SA", 200, 404),
    ("GET", "/v1/jobs/{job_id}/ledger"): Row("CSAU", 200, 404),
    ("GET", "/v1/jobs/{job_id}/audit"): Row("U", 200, 403),
    ("GET", "/v1/studies/{study_id}/dossier"): Row("CSAU", 200, 404),
    ("GET", "/v1/audit"): Row("U", 200, 403),
    ("GET", "/v1/people"): Row("OU", 200, 403),
    ("GET", "/v1/people/audit"): Row("U", 200, 403),
    ("GET", "/v1/audit/people"): Row("U", 200, 403),
    ("GET", "/v1/me"): Row("OCSAU", 200, 200),
    ("POST", "/v1/sign-out"): Row("OCSAU", 409, 409),  # they hold tokens, not sessions
    ("POST", "/v1/me/password"): Row(
        "OCSAU", 409, 409, {"password": "x", "new_password": "y"}
    ),  # nor passwords
    ("POST", "/v1/me/second-factor"): Row("OCSAU", 409, 409, {"password": "x"}),
    ("GET", "/metrics"): Row("O", 200, 403),
    # open to all, on the way in
    ("POST", "/v1/sign-in"): Same(422, "invalid_input"),
    ("GET", "/v1/sign-in/oidc"): Same(404, "not_found"),  # no identity provider is set
    ("GET", "/v1/sign-in/oidc/callback"): Same(422, "invalid_input"),
    ("GET", "/healthz"): Same(200),
    ("GET", "/readyz"): Same(200),
    ("GET", "/v1/federation"): Same(200),
    # agents
    ("POST", "/v1/hospitals"): Same(400, "malformed"),
    ("POST", "/v1/messages"): Same(400, "malformed"),
    ("GET", "/v1/inbox"): Same(422, "invalid_input"),
    ("GET", "/v1/agent/studies"): Same(422, "invalid_input"),
    ("GET", "/v1/agent/studies/{study}"): Same(422, "invalid_input"),
    ("POST", "/v1/agent/studies/{study}/answer"): Same(400, "malformed"),
    ("POST", "/v1/agent/studies/{study}/consent"): Same(400, "malformed"),
    ("POST", "/v1/agent/studies/{study}/ask"): Same(400, "malformed"),
    ("POST", "/v1/jobs/{job_id}/frames"): Same(422, "invalid_input"),
    ("GET", "/v1/jobs/{job_id}/frames"): Same(422, "invalid_input"),
    ("POST", "/v1/jobs/{job_id}/progress"): Same(400, "malformed"),
    ("GET", "/v1/jobs/{job_id}/relay"): Same(426, "upgrade_required"),
}

NOBODY = ("no token", "unknown", "expired", "revoked", "basic")


@dataclass
class World:
    """A cloud with one finished job of three of its four hospitals; `tokens`: by whose they are."""

    cloud: CloudUnderTest
    job: str
    tokens: dict[str, str]
    client: httpx2.Client

    def ask(self, who: str, method: str, path: str, body: Any = None) -> httpx2.Response:
        """A request as somebody sends it."""
        token = self.tokens[who]
        headers = {"authorization": token} if token else {}
        asked = path.format(job_id=self.job, study_id="study", study="study")
        parts = {} if method == "GET" else {"json": body}
        return self.client.request(method, asked, headers=headers, **parts)


def _tokens(cloud: CloudUnderTest) -> dict[str, str]:
    create = cloud.services.tokens.create
    made = {
        role: create(role, [role], hospital="h1" if role == "steward" else None) for role in LETTERS.values()
    }
    made[STRANGER] = create("stranger", ["steward"], hospital="h9")
    made |= {"expired": create("expired", list(LETTERS.values())[:2]), "revoked": create("revoked")}
    cloud.services.tokens.revoke("revoked")
    with cloud.services.database.write() as connection:
        connection.execute(text("UPDATE api_tokens SET expires = 1 WHERE label = 'expired'"))
    bearers = {who: f"Bearer {token}" for who, token in made.items()}
    return bearers | {"no token": "", "unknown": "Bearer nonsense", "basic": "Basic YTpi"}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with running_cloud(tmp_path_factory.mktemp("access"), bits=512, hospitals=HOSPITALS) as cloud:
        job = closed_study(cloud)
        with httpx2.Client(base_url=cloud.base_url, timeout=30, trust_env=False) as client:
            yield World(cloud, job, _tokens(cloud), client)


def test_every_endpoint_has_its_row(world: World) -> None:
    document = httpx2.get(world.cloud.base_url + "/openapi.json", trust_env=False).json()
    there = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert there == set(TABLE)


def _expected(row: Row | Same, who: str) -> int:
    if isinstance(row, Same):
        return row.status
    if who in NOBODY:
        return 401
    if who == STRANGER:
        return row.stranger
    return row.answer if who in [LETTERS[letter] for letter in row.who] else 403


def test_everybody_gets_the_answer_of_the_table(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    wrong, cells = [], 0
    for (method, path), row in TABLE.items():
        for who in world.tokens:
            answer = world.ask(who, method, path, row.body)
            cells += 1
            wanted = _expected(row, who)
            if answer.status_code != wanted or not _is_as_said(row, answer):
                wrong.append(
                    f"{who}: {method} {path} gave {answer.status_code}, not {wanted}: {answer.text[:200]}"
                )
    assert not wrong, "\n".join(wrong)
    assert cells == len(TABLE) * (len(LETTERS) + 1 + len(NOBODY))
    with capsys.disabled():
        print(f"\naccess matrix: {len(TABLE)} endpoints x {len(world.tokens)} callers = {cells} cells")


def _is_as_said(row: Row | Same, answer: httpx2.Response) -> bool:
    """Whether the code fits the status, so that a 401 or 403 for another reason does not pass."""
    if isinstance(row, Same):
        return row.code is None or answer.json()["code"] == row.code
    codes = {401: "not_signed_in", 403: "forbidden", 404: "not_found"}
    return answer.status_code not in codes or answer.json()["code"] == codes[answer.status_code]


def test_the_table_can_fail(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A role with one permission too many is noticed."""
    changed = {**PERMISSIONS, Role.OPERATOR: PERMISSIONS[Role.OPERATOR] | {Permission.TREES_READ}}
    monkeypatch.setattr("cloud_service.service.permissions.PERMISSIONS", changed)
    row = TABLE["GET", "/v1/jobs/{job_id}/tree"]
    assert world.ask("operator", "GET", "/v1/jobs/{job_id}/tree").status_code != _expected(row, "operator")


def test_a_refusal_says_what_is_missing_and_who_has_it(world: World) -> None:
    detail = world.ask("operator", "GET", "/v1/jobs/{job_id}/tree").json()["detail"]
    assert detail == "this needs the permission trees:read, which these roles have: steward, analyst"


def test_a_stranger_sees_nothing_of_the_job_in_any_list(world: World) -> None:
    for who, seen in (("steward", [world.job]), ("coordinator", [world.job]), (STRANGER, [])):
        assert [job["id"] for job in world.ask(who, "GET", "/v1/jobs").json()["jobs"]] == seen
        studies = world.ask(who, "GET", "/v1/studies").json()["studies"]
        assert [study["id"] for study in studies] == ["study"] * len(seen)
    beyond = world.ask(STRANGER, "GET", "/v1/jobs?before={job_id}")
    unknown = world.ask(STRANGER, "GET", "/v1/jobs?before=" + "0" * 32)
    assert (beyond.status_code, beyond.content) == (404, unknown.content)


def test_a_job_of_others_is_answered_as_one_that_is_not_there(world: World) -> None:
    for path in ("/v1/jobs/{}", "/v1/jobs/{}/events", "/v1/jobs/{}/result", "/v1/jobs/{}/tree"):
        others, none = (world.ask(STRANGER, "GET", path.format(job)) for job in (world.job, "0" * 32))
        assert (others.status_code, others.content) == (404, none.content)


def test_an_invited_hospital_is_seen_from_its_first_job_on(world: World) -> None:
    world.cloud.study(SCHEMA, name="wider", members=[*INVITED, "h9"])
    assert world.ask(STRANGER, "GET", "/v1/studies/wider").status_code == 200
    job = world.cloud.job("wider", invited=[*INVITED, "h9"])
    assert world.ask(STRANGER, "GET", f"/v1/jobs/{job}").json()["id"] == job
    assert [one["id"] for one in world.ask(STRANGER, "GET", "/v1/jobs").json()["jobs"]] == [job]
    world.cloud.people.post(f"/v1/jobs/{job}/cancel")


@pytest.mark.parametrize("role", [Role.ANALYST, Role.AUDITOR])
def test_a_session_opens_what_its_role_does(world: World, role: Role) -> None:
    world.cloud.services.people.accounts.add(f"person-{role}", PASSWORD, [role], None)
    body = {"name": f"person-{role}", "password": PASSWORD}
    session = httpx2.post(world.cloud.base_url + "/v1/sign-in", json=body, trust_env=False).json()
    world.tokens["session"] = f"Bearer {session['token']}"
    for (method, path), row in TABLE.items():
        if isinstance(row, Row) and path != "/v1/sign-out" and not path.startswith("/v1/me/"):
            got = world.ask("session", method, path, row.body)
            assert got.status_code == _expected(row, role), (method, path, got.text)
    assert world.ask("session", "POST", "/v1/sign-out").status_code == 204
    assert world.ask("session", "GET", "/v1/me").status_code == 401
    del world.tokens["session"]


def test_a_single_permission_opens_one_thing(world: World) -> None:
    world.tokens["robot"] = "Bearer " + world.cloud.services.tokens.create("robot", ["jobs:read"])
    assert world.ask("robot", "GET", "/v1/jobs").status_code == 200
    assert world.ask("robot", "GET", "/v1/studies").status_code == 403
    del world.tokens["robot"]


def test_roles_have_no_more_than_they_need() -> None:
    may = {role: caller_of("x", [role], AgentId("h1")) for role in Role}
    for role, permission in (
        (Role.OPERATOR, Permission.TREES_READ),
        (Role.OPERATOR, Permission.JOBS_WRITE),
        (Role.ANALYST, Permission.JOBS_WRITE),
        (Role.ANALYST, Permission.AUDIT_READ),
        (Role.STEWARD, Permission.STUDIES_WRITE),
        (Role.COORDINATOR, Permission.TREES_READ),
        (Role.AUDITOR, Permission.TREES_READ),
    ):
        with pytest.raises(ForbiddenError, match=permission):
            may[role].require(permission)
    assert caller_of("x", ["a role of tomorrow"], None).permissions == frozenset()
