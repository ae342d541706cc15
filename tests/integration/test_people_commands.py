"""`privet cloud person` and `privet cloud token` as an operator uses them."""

from __future__ import annotations

import base64
import io
import json
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP

from privet.__main__ import run
from tests.support.clinic import SCHEMA
from tests.support.programs import Founded, real_federation

PASSWORD = "correct horse battery staple"
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path, capsys: Capture) -> Path:
    made = tmp_path / "cloud"
    assert privet(capsys, "cloud", "init", made)[0] == 0
    assert privet(capsys, "cloud", "migrate", made)[0] == 0
    return made


def privet(capsys: Capture, *words: object) -> tuple[int, dict[str, Any]]:
    code = run([*map(str, words), "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Pipes a line into standard input."""
    return lambda line: monkeypatch.setattr(sys, "stdin", io.StringIO(line + "\n"))


def test_accounts_from_first_to_last(folder: Path, capsys: Capture, typed: Any) -> None:
    person = ("cloud", "person")
    typed(PASSWORD)
    code, made = privet(
        capsys,
        *person,
        "add",
        folder,
        "--name",
        "ana",
        "--role",
        "coordinator",
        "--role",
        "analyst",
        "--password-stdin",
    )
    assert (code, made["roles"], made["has_second_factor"]) == (0, ["analyst", "coordinator"], False)
    _, listed = privet(capsys, *person, "list", folder)
    assert [one["name"] for one in listed["people"]] == ["ana"]
    _, changed = privet(
        capsys, *person, "change", folder, "--name", "ana", "--role", "steward", "--hospital", "h1"
    )
    assert (changed["roles"], changed["hospital"]) == (["steward"], "h1")
    assert privet(capsys, *person, "disable", folder, "--name", "ana")[1]["disabled"] > 0
    assert privet(capsys, *person, "enable", folder, "--name", "ana")[1]["disabled"] is None
    assert privet(capsys, *person, "reset-second-factor", folder, "--name", "ana")[0] == 0
    typed("another " + PASSWORD)
    assert privet(capsys, *person, "reset-password", folder, "--name", "ana", "--password-stdin")[0] == 0
    assert run(["cloud", "person", "list", str(folder)]) == 0
    assert "ana: steward of h1; no second factor yet" in capsys.readouterr().out
    typed(PASSWORD)
    add = ["cloud", "person", "add", str(folder), "--name", "eva", "--role", "steward", "--hospital", "h9"]
    assert run([*add, "--password-stdin"]) == 0
    assert "no hospital h9 has registered here so far" in capsys.readouterr().out
    files = b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())
    assert (PASSWORD.encode() in files, b"$argon2id$" in files) == (False, True)


def test_what_is_refused_and_said(folder: Path, capsys: Capture, typed: Any) -> None:
    add = ("cloud", "person", "add", folder, "--name", "ana", "--password-stdin")
    for password, role, said in (
        ("short", "analyst", "12 to 256"),
        ("password12345", "analyst", "commonest"),
        (PASSWORD, "steward", "one hospital"),
    ):
        typed(password)
        code, found = privet(capsys, *add, "--role", role)
        assert (code, said in found["detail"]) == (3, True), found
        assert password not in json.dumps(found)
    assert privet(capsys, *add, "--role", "emperor")[0] == 2
    code, found = privet(capsys, *add[:-1], "--role", "analyst")  # no terminal to ask at
    assert (code, "--password-stdin" in found["remedy"]) == (3, True)
    code, found = privet(capsys, "cloud", "person", "disable", folder, "--name", "ben")
    assert (code, "privet cloud person list" in found["remedy"]) == (3, True)


def test_tokens_have_roles_and_an_end(folder: Path, capsys: Capture) -> None:
    create = ("cloud", "token", "create", folder, "--label")
    code, refused = privet(capsys, *create, "plain")
    assert (code, refused["where"]) == (3, "--role"), "nobody gets rights by leaving something out"
    assert all(
        role in refused["remedy"] for role in ("operator", "coordinator", "steward", "analyst", "auditor")
    )
    _, plain = privet(capsys, *create, "plain", "--role", "analyst", "--role", "coordinator")
    assert (sorted(plain["scopes"]), plain["days"]) == (["analyst", "coordinator"], 90)
    _, robot = privet(capsys, *create, "robot", "--permission", "jobs:read", "--days", "7")
    assert robot["scopes"] == ["jobs:read"]
    _, guard = privet(capsys, *create, "guard", "--role", "steward", "--hospital", "h1")
    assert guard["hospital"] == "h1"
    assert privet(capsys, *create, "long", "--days", "367")[0] == 3
    assert privet(capsys, *create, "wrong", "--permission", "trees:fell")[0] == 3
    assert privet(capsys, "cloud", "token", "revoke", folder, "robot")[0] == 0
    assert privet(capsys, "cloud", "token", "revoke", folder)[0] == 3
    _, listed = privet(capsys, "cloud", "token", "list", folder)
    ages = {one["label"]: (one["expires"] - one["created"]) // 86_400 for one in listed["tokens"]}
    assert ages == {"plain": 90, "robot": 7, "guard": 90}
    assert [one["label"] for one in listed["tokens"] if one["revoked"]] == ["robot"]


@pytest.mark.long
def test_from_the_first_account_to_a_study_at_a_serving_cloud(
    founded_federation: Founded, tmp_path: Path, typed: Any, capsys: Capture
) -> None:
    """What a coordinator does on the first day: programs as processes, the account by command, all else over HTTP."""
    with real_federation(founded_federation, tmp_path) as federation:
        typed(PASSWORD)
        add = ("cloud", "person", "add", federation.cloud_folder, "--name", "cora", "--role", "coordinator")
        assert privet(capsys, *add, "--password-stdin")[0] == 0  # beside the serving cloud
        with httpx2.Client(base_url=f"http://127.0.0.1:{federation.port}", trust_env=False) as browser:
            login = {"name": "cora", "password": PASSWORD}
            shown = browser.post("/v1/sign-in", json=login).json()["second_factor"]
            secret = parse_qs(urlsplit(shown).query)["secret"][0]
            code = TOTP(base64.b32decode(secret), 6, SHA1(), 30).generate(time.time()).decode()
            token = browser.post("/v1/sign-in", json=login | {"code": code}).json()["token"]
            browser.headers["authorization"] = f"Bearer {token}"
            study = {"id": "first", "question": "does it work?", "schema": SCHEMA}
            assert browser.post("/v1/studies", json=study).status_code == 201
            assert browser.get("/v1/people").status_code == 403
            assert (
                privet(capsys, "cloud", "person", "disable", federation.cloud_folder, "--name", "cora")[0]
                == 0
            )
            assert browser.get("/v1/studies").status_code == 401
        told = federation.cloud.told
    assert "/v1/sign-in" in told
    assert not [hidden for hidden in (PASSWORD, secret, code, token) if hidden in told]
