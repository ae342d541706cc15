"""Local accounts at a real cloud: passwords, second factors, sessions, waits, and the people's log."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
import time_machine
from argon2 import PasswordHasher
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from sqlalchemy import text
from structlog.testing import capture_logs

from cloud_service.api import events
from cloud_service.service.attempts import ADDRESS_FREE, LONGEST_SECONDS, NAME_FREE, wait_after
from cloud_service.service.second_factor import SecondFactors
from shared.crypto import passwords
from shared.crypto.identity import IdentityKey
from shared.errors import InputError
from shared.protocol import audit_check
from shared.protocol.enrolment import fingerprint
from shared.wire.base import canonical_json
from tests.support.clinic import SCHEMA
from tests.support.cloud_server import CloudUnderTest, running_cloud
from tests.support.http_hospital import JSON

PASSWORD = "correct horse battery staple"
NOW = 1_796_100_000


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CloudUnderTest]:
    with running_cloud(tmp_path_factory.mktemp("sign-in"), bits=512, hospitals=("h1", "h2", "h3")) as cloud:
        yield cloud


@pytest.fixture
def cloud(running: CloudUnderTest, monkeypatch: pytest.MonkeyPatch) -> CloudUnderTest:
    """One cloud for all, that has forgotten the people of the test before; its hashes are quick."""
    with running.services.database.write() as connection:
        for table in ("people", "sessions", "sign_in_attempts", "people_audit"):
            connection.execute(text(f"DELETE FROM {table}"))
        connection.execute(text("DELETE FROM api_tokens WHERE label != 'test'"))
    quick = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    monkeypatch.setattr(passwords, "_HASHER", quick)
    monkeypatch.setattr(passwords, "_nobodys", lambda: NOBODYS)
    return running


NOBODYS = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash("nobody's")


def send(cloud: CloudUnderTest, name: str, password: str = PASSWORD, code: str = "") -> httpx2.Response:
    body = {"name": name, "password": password, "code": code}
    return httpx2.post(cloud.base_url + "/v1/sign-in", json=body, trust_env=False)


def code_of(address: str, now: int) -> str:
    secret = parse_qs(urlsplit(address).query)["secret"][0]
    key = base64.b32decode(secret + "=" * (-len(secret) % 8))
    return TOTP(key, 6, SHA1(), 30).generate(now).decode()


def enrolled(cloud: CloudUnderTest, name: str, role: str = "operator") -> str:
    """An account whose second factor is known and not yet used; its address."""
    cloud.services.people.accounts.add(name, PASSWORD, [role], "h1" if role == "steward" else None)
    answer = send(cloud, name)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["second_factor"])


def with_token(cloud: CloudUnderTest, token: str, path: str = "/v1/me") -> httpx2.Response:
    headers = {"authorization": f"Bearer {token}"}
    return httpx2.get(cloud.base_url + path, headers=headers, trust_env=False)


@pytest.fixture
def clock() -> Iterator[time_machine.Coordinates]:
    with time_machine.travel(NOW, tick=False) as traveller:
        yield traveller


def test_an_analyst_signs_in_and_out(cloud: CloudUnderTest) -> None:
    cloud.services.people.accounts.add("ana", PASSWORD, ["analyst"], None)
    answer = send(cloud, "ana")
    assert answer.headers["cache-control"] == "no-store"
    session = answer.json()
    assert (session["name"], session["roles"], session["hospital"]) == ("ana", ["analyst"], None)
    me = with_token(cloud, session["token"]).json()
    assert (me["name"], "trees:read" in me["permissions"], "jobs:write" in me["permissions"]) == (
        "ana",
        True,
        False,
    )
    headers = {"authorization": f"Bearer {session['token']}"}
    out = cloud.base_url + "/v1/sign-out"
    assert httpx2.post(out, headers=headers, trust_env=False).status_code == 204
    assert with_token(cloud, session["token"]).json()["code"] == "not_signed_in"
    assert httpx2.post(out, headers=headers, trust_env=False).status_code == 401
    assert cloud.people.post("/v1/sign-out").json()["code"] == "conflict"


def test_who_needs_a_second_factor_gets_it_once_and_uses_each_code_once(
    cloud: CloudUnderTest, clock: time_machine.Coordinates
) -> None:
    address = enrolled(cloud, "otto")
    assert address.startswith("otpauth://totp/Privet:otto?")
    again = send(cloud, "otto").json()["second_factor"]
    assert again != address  # not used yet: the older one is void
    assert send(cloud, "otto", code=code_of(address, NOW)).status_code == 401
    first = send(cloud, "otto", code=code_of(again, NOW))
    assert first.json()["roles"] == ["operator"]
    assert with_token(cloud, first.json()["token"]).status_code == 200
    assert send(cloud, "otto", code=code_of(again, NOW)).status_code == 401  # the same code again
    assert send(cloud, "otto", code=code_of(again, NOW - 30)).status_code == 401  # an older one, never used
    assert send(cloud, "otto").status_code == 401  # the address is not shown again
    clock.shift(30)
    assert send(cloud, "otto", code=code_of(again, NOW + 60)).status_code == 200  # one step ahead
    clock.shift(300)
    assert send(cloud, "otto", code=code_of(again, NOW + 330 - 60)).status_code == 401  # two steps behind
    assert send(cloud, "otto", code=code_of(again, NOW + 330)).status_code == 200


@pytest.mark.parametrize("role", ["operator", "coordinator", "steward"])
def test_roles_that_need_a_second_factor(cloud: CloudUnderTest, role: str) -> None:
    assert enrolled(cloud, f"{role}-1", role).startswith("otpauth:")


def test_one_answer_to_whatever_is_wrong(cloud: CloudUnderTest, clock: time_machine.Coordinates) -> None:
    address = enrolled(cloud, "otto")
    assert send(cloud, "otto", code=code_of(address, NOW)).status_code == 200
    cloud.services.people.accounts.add("gone", PASSWORD, ["analyst"], None)
    cloud.services.people.accounts.disable("gone")
    clock.shift(60)
    answers = [
        send(cloud, "nobody"),
        send(cloud, "otto", "wrong", code_of(address, NOW + 60)),
        send(cloud, "otto", PASSWORD, "000000"),
        send(cloud, "gone"),
    ]
    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.content for answer in answers}) == 1
    assert all("retry-after" not in answer.headers for answer in answers)


def test_failures_make_wait_and_waits_double(cloud: CloudUnderTest, clock: time_machine.Coordinates) -> None:
    cloud.services.people.accounts.add("ana", PASSWORD, ["analyst"], None)
    for name in ("ana", "nobody"):  # whether there is such a name or not
        assert [send(cloud, name, "wrong").status_code for _ in range(NAME_FREE)] == [401] * NAME_FREE
        refused = send(cloud, name)
        assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
        assert refused.headers["retry-after"] == "1"
    waits = []
    for _ in range(4):
        clock.shift(int(send(cloud, "ana").headers["retry-after"]))
        assert send(cloud, "ana", "wrong").status_code == 401
        waits.append(int(send(cloud, "ana").headers["retry-after"]))
    assert waits == [2, 4, 8, 16]
    clock.shift(16)
    assert send(cloud, "ana").status_code == 200
    assert send(cloud, "ana", "wrong").status_code == 401  # counted anew


def test_waits_are_bounded_and_addresses_have_their_own() -> None:
    assert [wait_after(n, NAME_FREE) for n in (0, 4, 5, 6, 13, 14, 99)] == [0, 0, 1, 2, 256, 300, 300]
    assert wait_after(10**9, ADDRESS_FREE) == LONGEST_SECONDS


def test_an_address_waits_whatever_names_it_tries(
    cloud: CloudUnderTest, clock: time_machine.Coordinates
) -> None:
    attempts = cloud.services.people.sign_in.attempts
    for number in range(ADDRESS_FREE):
        attempts.begin(f"guess-{number}", "127.0.0.1")
    assert send(cloud, "another").status_code == 429
    assert cloud.services.people.sign_in.attempts is attempts
    for number in range(ADDRESS_FREE):
        attempts.begin(f"guessed-{number}", f"2001:db8::{number:x}")
    with pytest.raises(Exception, match="too many attempts"):
        attempts.begin("another", "2001:db8::ffff:1")  # the same /64
    attempts.begin("another", "2001:db8:1::1")
    clock.shift(86_401)
    assert send(cloud, "another").status_code == 401


def test_a_session_ends_idle_or_old(cloud: CloudUnderTest, clock: time_machine.Coordinates) -> None:
    cloud.services.people.accounts.add("ana", PASSWORD, ["analyst"], None)
    idle, busy = send(cloud, "ana").json(), send(cloud, "ana").json()
    assert busy["expires"] == NOW + 8 * 3600
    for _ in range(15):
        clock.shift(29 * 60)
        assert with_token(cloud, busy["token"]).status_code == 200
    assert with_token(cloud, idle["token"]).status_code == 401
    clock.shift(29 * 60)
    assert with_token(cloud, busy["token"]).status_code == 200
    clock.shift(16 * 60)
    assert with_token(cloud, busy["token"]).status_code == 401


@pytest.mark.parametrize("change", ["disable", "reset_second_factor", "change", "reset_password"])
def test_a_change_of_an_account_ends_its_sessions(cloud: CloudUnderTest, change: str) -> None:
    accounts = cloud.services.people.accounts
    accounts.add("ana", PASSWORD, ["analyst"], None)
    accounts.add("ben", PASSWORD, ["analyst"], None)
    ana, ben = (send(cloud, name).json()["token"] for name in ("ana", "ben"))
    more: dict[str, tuple[Any, ...]] = {
        "change": (["auditor"], None),
        "reset_password": ("another " + PASSWORD,),
    }
    getattr(accounts, change)("ana", *more.get(change, ()))
    assert with_token(cloud, ana).status_code == 401
    assert with_token(cloud, ben).status_code == 200
    allowed = {"change": PASSWORD, "reset_password": "another " + PASSWORD, "reset_second_factor": PASSWORD}
    if change in allowed:
        assert send(cloud, "ana", allowed[change]).status_code == 200
    else:
        assert send(cloud, "ana").status_code == 401
        accounts.enable("ana")
        assert send(cloud, "ana").status_code == 200


def test_a_stream_ends_with_the_session(cloud: CloudUnderTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "_KEEP_ALIVE_SECONDS", 0.2)
    cloud.services.people.accounts.add("ana", PASSWORD, ["analyst"], None)
    token = send(cloud, "ana").json()["token"]
    cloud.study(SCHEMA, name="watched")
    headers = {"authorization": f"Bearer {token}", "accept": "text/event-stream"}
    url = f"{cloud.base_url}/v1/jobs/{cloud.job('watched')}/events"
    with httpx2.stream("GET", url, headers=headers, timeout=30, trust_env=False) as answer:
        lines = answer.iter_lines()
        while "still here" not in next(lines):
            pass  # it goes on while she is signed in
        cloud.services.people.accounts.disable("ana")
        for _ in lines:
            pass  # and comes to its end
    assert with_token(cloud, token).status_code == 401


def post_as(cloud: CloudUnderTest, token: str, path: str, body: dict[str, str]) -> httpx2.Response:
    headers = {"authorization": f"Bearer {token}"}
    return httpx2.post(cloud.base_url + path, json=body, headers=headers, trust_env=False)


def test_people_change_their_passwords(cloud: CloudUnderTest, clock: time_machine.Coordinates) -> None:
    cloud.services.people.accounts.add("ana", PASSWORD, ["analyst"], None)
    token, new = send(cloud, "ana").json()["token"], "another horse of another colour"
    path, body = "/v1/me/password", {"password": PASSWORD, "new_password": new}
    assert post_as(cloud, token, path, body | {"password": "wrong"}).status_code == 401
    weak = post_as(cloud, token, path, body | {"new_password": "password1234"})
    assert (weak.status_code, "password1234" in weak.text) == (422, False)
    assert post_as(cloud, token, path, body).status_code == 204
    assert with_token(cloud, token).status_code == 401
    assert send(cloud, "ana").status_code == 401
    token = send(cloud, "ana", new).json()["token"]
    for _ in range(NAME_FREE):
        post_as(cloud, token, path, body | {"password": "wrong"})
    assert post_as(cloud, token, path, body).status_code == 429


def test_whoever_need_not_may_add_a_second_factor(
    cloud: CloudUnderTest, clock: time_machine.Coordinates
) -> None:
    cloud.services.people.accounts.add("ana", PASSWORD, ["analyst"], None)
    token, path = send(cloud, "ana").json()["token"], "/v1/me/second-factor"
    assert post_as(cloud, token, path, {"password": "wrong"}).status_code == 401
    address = post_as(cloud, token, path, {"password": PASSWORD}).json()["second_factor"]
    assert send(cloud, "ana").status_code == 200  # it does not count before it was used
    assert send(cloud, "ana", code=code_of(address, NOW)).status_code == 200
    assert send(cloud, "ana").status_code == 401
    assert post_as(cloud, token, path, {"password": PASSWORD}).json()["code"] == "conflict"


def test_only_the_lab_may_do_without(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("lab")
    with running_cloud(folder, bits=512, hospitals=("h1", "h2", "h3"), require_second_factor=False) as lab:
        lab.services.people.accounts.add("cora", PASSWORD, ["coordinator"], None)
        assert send(lab, "cora").json()["roles"] == ["coordinator"]


BAD_BODIES = [b"{", b"[]", b"{}", b'{"name": "a"}', b'{"name": "a", "password": "planted-secret", "more": 1}']


@pytest.mark.parametrize("raw", BAD_BODIES)
def test_a_body_that_is_none(cloud: CloudUnderTest, raw: bytes) -> None:
    answer = httpx2.post(cloud.base_url + "/v1/sign-in", content=raw, headers=JSON, trust_env=False)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_input")
    assert "planted" not in answer.text


def test_a_long_body_is_not_read(cloud: CloudUnderTest) -> None:
    raw = b'{"name": "' + b"a" * 5000
    answer = httpx2.post(cloud.base_url + "/v1/sign-in", content=raw, headers=JSON, trust_env=False)
    assert answer.status_code == 413


@pytest.mark.usefixtures("every_log_line")
def test_no_password_token_or_code_in_a_log_an_error_or_the_database(
    cloud: CloudUnderTest, capfd: pytest.CaptureFixture[str], clock: time_machine.Coordinates
) -> None:
    with capture_logs() as lines:
        address = enrolled(cloud, "otto")
        code = code_of(address, NOW)
        token = send(cloud, "otto", code=code).json()["token"]
        planted = ["planted-password-in-vain", "planted-password-as-name"]
        texts = [send(cloud, "otto", planted[0]).text, send(cloud, planted[1]).text]
        texts += [with_token(cloud, token).text, with_token(cloud, token + "x").text]
    secret = parse_qs(urlsplit(address).query)["secret"][0]
    hidden = [PASSWORD, code, token, secret, *planted]
    said = json.dumps(lines, default=str) + "".join(capfd.readouterr()) + "".join(texts)
    assert "/v1/sign-in" in said  # it was listened to
    assert not [one for one in hidden if one in said]
    kept = b"".join(path.read_bytes() for path in sorted(cloud.folder.iterdir()) if path.is_file())
    assert b"$argon2id$" in kept  # and the database was read
    raw = base64.b32decode(secret + "=" * (-len(secret) % 8))
    assert not [one for one in [PASSWORD, token, secret, *planted] if one.encode() in kept]
    assert raw not in kept


def test_a_second_factor_opens_under_its_key_and_name_only() -> None:
    key = IdentityKey.generate()
    factors = SecondFactors(key)
    sealed, address = factors.create("ana")
    code = code_of(address, NOW)
    assert factors.step_of(sealed, "ana", code, NOW) == NOW // 30
    assert SecondFactors(key).step_of(sealed, "ana", f" {code} ", NOW) == NOW // 30  # another replica
    assert factors.step_of(sealed, "ben", code, NOW) is None
    assert SecondFactors(IdentityKey.generate()).step_of(sealed, "ana", code, NOW) is None
    assert factors.step_of(None, "ana", code, NOW) is None
    assert all(factors.step_of(sealed, "ana", bad, NOW) is None for bad in ("", "12345", "١٢٣٤٥٦", "\ud800"))


def test_the_log_says_who_did_what_and_is_chained(cloud: CloudUnderTest) -> None:
    accounts = cloud.services.people.accounts
    accounts.add("ana", PASSWORD, ["analyst"], None)
    token = send(cloud, "ana").json()["token"]
    send(cloud, "ana", "wrong")
    send(cloud, "not-a-name-here")
    httpx2.post(
        cloud.base_url + "/v1/sign-out", headers={"authorization": f"Bearer {token}"}, trust_env=False
    )
    accounts.change("ana", ["steward"], "h1")
    cloud.services.tokens.create("robot", ["jobs:read"], days=3)
    cloud.services.tokens.revoke("robot")
    records = cloud.people.get("/v1/people/audit").json()["records"]
    acts = [(entry["record"]["act"], entry["record"]["subject"]) for entry in records]
    assert acts == [
        ("person_added", "ana"),
        ("signed_in", "ana"),
        ("sign_in_refused", "ana"),
        ("sign_in_refused", "somebody unknown"),
        ("signed_out", "ana"),
        ("roles_changed", "ana"),
        ("token_created", "token robot"),
        ("token_revoked", "token robot"),
    ]
    assert (records[5]["record"]["scopes"], records[5]["record"]["hospital"]) == ("steward", "h1")
    head = bytes(32)
    for number, entry in enumerate(records):
        assert entry["number"] == entry["record"]["n"] == number
        head = hashlib.sha256(head + canonical_json(entry["record"])).digest()
        assert entry["hash"] == head.hex()
    exported = cloud.people.get("/v1/audit/people").content
    root = fingerprint(cloud.parties.root)
    log, findings = audit_check.check("people", exported, root)
    assert (log is not None and len(log.file.records), findings) == (len(records), [])
    edited = exported.replace(b"roles_changed", b"roles_changes")
    assert audit_check.check("people", edited, root)[1]
    rest = cloud.people.get("/v1/people/audit", params={"after": 4, "limit": 2}).json()["records"]
    assert rest == records[5:7]


def test_accounts_are_listed_without_secrets(cloud: CloudUnderTest) -> None:
    cloud.services.people.accounts.add("ana", PASSWORD, ["steward"], "h1")
    found = cloud.people.get("/v1/people").json()["people"]
    assert [(one["name"], one["roles"], one["hospital"]) for one in found] == [("ana", ["steward"], "h1")]
    assert found[0].keys() == {"name", "roles", "hospital", "has_second_factor", "created", "disabled"}


def test_a_token_ends(cloud: CloudUnderTest, clock: time_machine.Coordinates) -> None:
    token = cloud.services.tokens.create("short", ["analyst"], days=2)
    clock.shift(2 * 86_400 - 1)
    assert with_token(cloud, token).json()["name"] == "token short"
    clock.shift(1)
    ended = with_token(cloud, token)
    assert (ended.status_code, ended.content) == (401, with_token(cloud, "unknown").content)


def test_tokens_of_the_version_before_keep_what_they_could_do(cloud: CloudUnderTest) -> None:
    sha256 = hashlib.sha256(b"of-before").hexdigest()
    row = {"label": "old", "sha256": sha256, "created": cloud.services.tokens.clock()}
    with (
        cloud.services.database.write() as connection
    ):  # as a cloud of the version before writes it, on these tables
        connection.execute(
            text("INSERT INTO api_tokens (label, sha256, created) VALUES (:label, :sha256, :created)"), row
        )
    me = with_token(cloud, "of-before").json()
    assert me["roles"] == ["analyst", "coordinator"]


def test_the_hashes_of_the_product_are_slow_on_purpose() -> None:
    kept = passwords.hash_password(PASSWORD)
    assert kept.startswith("$argon2id$v=19$m=65536,t=3,p=4$")
    assert (passwords.is_password(kept, PASSWORD), passwords.is_password(kept, PASSWORD + " ")) == (
        True,
        False,
    )
    assert not passwords.is_password(None, PASSWORD)
    assert not passwords.is_outdated(kept)
    assert passwords.is_outdated(NOBODYS)


def test_a_hash_of_weaker_parameters_is_renewed(
    cloud: CloudUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud.services.people.accounts.add("ana", PASSWORD, ["analyst"], None)
    monkeypatch.setattr(passwords, "_HASHER", PasswordHasher(time_cost=2, memory_cost=8, parallelism=1))
    assert send(cloud, "ana").status_code == 200
    with cloud.services.database.read() as connection:
        assert "t=2" in connection.scalar(text("SELECT password FROM people"))
    assert send(cloud, "ana").status_code == 200


WEAK = [
    ("too short", "x"),
    ("a" * 257, "x"),
    ("abababababab", "x"),
    ("hospital-ana-hospital"[9:], "x"),
    ("Password1234", "x"),
    ("  PASSWORD 1!", "x"),
    ("ana-maria-ana 1", "ana-maria"),
]


@pytest.mark.parametrize(("password", "name"), WEAK)
def test_a_weak_password_is_refused(password: str, name: str) -> None:
    with pytest.raises(InputError) as refused:
        passwords.check_password(password, name)
    assert password not in str(refused.value)


def test_four_words_are_a_good_password() -> None:
    passwords.check_password(PASSWORD, "ana")
    passwords.check_password("hospital gate lantern fox", "fox")
