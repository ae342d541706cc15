"""Signing in by an identity provider: a real one over HTTP, and one that lies."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from pydantic import ValidationError
from sqlalchemy import text
from structlog.testing import capture_logs

from cloud_service.oidc_settings import OidcSettings
from cloud_service.service import provider as provider_module
from tests.support.cloud_server import CloudUnderTest, running_cloud
from tests.support.identity_provider import Provider, mock_provider

CALLBACK = "/v1/sign-in/oidc/callback"
ROLES = {
    "analysts": ["analyst"],
    "heads": ["coordinator"],
    "stewards": ["steward"],
    "both": ["analyst", "auditor"],
}


def settings_of(issuer: str) -> dict[str, Any]:
    return {
        "issuer": issuer,
        "client_id": "privet",
        "client_secret": "its-secret",
        "public_url": "http://127.0.0.1:9",  # the browser of these tests goes to the cloud's real port instead
        "roles": ROLES,
    }


@pytest.fixture(scope="module")
def shared_provider() -> Iterator[Provider]:
    with Provider.running() as running:
        yield running


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory, shared_provider: Provider) -> Iterator[CloudUnderTest]:
    oidc = settings_of(shared_provider.issuer)
    with running_cloud(
        tmp_path_factory.mktemp("oidc"), bits=512, hospitals=("h1", "h2", "h3"), oidc=oidc
    ) as found:
        yield found


@pytest.fixture
def provider(shared_provider: Provider, cloud: CloudUnderTest) -> Iterator[Provider]:
    """Honest again, and nobody waits because of the test before."""
    with cloud.services.database.write() as connection:
        connection.execute(text("DELETE FROM sign_in_attempts"))
    kept = dict(vars(shared_provider))
    shared_provider.claims, shared_provider.header, shared_provider.wrong = {}, {}, []
    yield shared_provider
    vars(shared_provider).update(kept | {"fetched_keys": shared_provider.fetched_keys})


class Browser:
    """Goes where it is sent, with its cookies; the callback at the cloud's real address."""

    def __init__(self, cloud: CloudUnderTest) -> None:
        self.http = httpx2.Client(base_url=cloud.base_url, trust_env=False, verify=False)

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def begin(self) -> str:
        """Where the cloud sends it."""
        answer = self.http.get("/v1/sign-in/oidc")
        assert answer.status_code == 303, answer.text
        return str(answer.headers["location"])

    def to_provider(self) -> str:
        """Where an own provider sends it back to: path and query."""
        back = self.http.get(self.begin()).headers["location"]
        parts = urlsplit(back)
        return f"{parts.path}?{parts.query}"

    def sign_in(self) -> httpx2.Response:
        return self.http.get(self.to_provider())


def attempt(cloud: CloudUnderTest) -> httpx2.Response:
    with Browser(cloud) as browser:
        return browser.sign_in()


def refused(answer: httpx2.Response) -> None:
    assert (answer.status_code, answer.json()["code"]) == (401, "not_signed_in"), answer.text


def test_the_real_flow_with_the_mock(tmp_path: Path) -> None:
    people = {"ana": {"groups": ["analysts", "choir"]}, "eve": {"groups": ["choir"]}}
    with (
        mock_provider(**people) as issuer,
        running_cloud(tmp_path, bits=512, hospitals=("h1", "h2", "h3"), oidc=settings_of(issuer)) as cloud,
        Browser(cloud) as browser,
    ):
        answers = []
        for name in people:
            login = httpx2.post(browser.begin(), data={"sub": name}, trust_env=False)
            parts = urlsplit(login.headers["location"])
            assert parts.path == CALLBACK
            answers.append(browser.http.get(f"{parts.path}?{parts.query}"))
        session = answers[0].json()
        assert (session["name"], session["roles"], session["hospital"]) == ("oidc:ana", ["analyst"], None)
        headers = {"authorization": f"Bearer {session['token']}"}
        assert browser.http.get("/v1/studies", headers=headers).status_code == 200
        assert browser.http.get("/v1/people", headers=headers).status_code == 403
        assert (answers[1].status_code, answers[1].json()["code"]) == (403, "forbidden")
        denied = httpx2.post(browser.begin(), data={"action": "deny"}, trust_env=False)
        refused(browser.http.get(f"{CALLBACK}?{urlsplit(denied.headers['location']).query}&state=none"))


def test_what_is_asked_of_the_provider(cloud: CloudUnderTest, provider: Provider) -> None:
    with Browser(cloud) as browser:
        parts = urlsplit(browser.begin())
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        cookie = browser.http.get("/v1/sign-in/oidc").headers["set-cookie"]
    assert asked.keys() == {
        "response_type",
        "client_id",
        "redirect_uri",
        "scope",
        "state",
        "nonce",
        "code_challenge",
        "code_challenge_method",
    }
    assert (asked["response_type"], asked["code_challenge_method"]) == ("code", "S256")
    assert asked["redirect_uri"] == "http://127.0.0.1:9" + CALLBACK
    assert {"httponly", "samesite=lax", "path=/v1/sign-in/oidc"} <= set(cookie.lower().split("; "))
    assert len({asked[name] for name in ("state", "nonce", "code_challenge")}) == 3


def test_an_honest_provider_gives_a_session(cloud: CloudUnderTest, provider: Provider) -> None:
    answer = attempt(cloud)
    assert answer.status_code == 200, answer.text
    assert (answer.json()["name"], provider.wrong) == ("oidc:ana", [])
    assert answer.headers["cache-control"] == "no-store"
    last = cloud.people.get("/v1/people/audit", params={"limit": 1000}).json()["records"][-1]["record"]
    assert (last["actor"], last["act"], last["scopes"]) == ("oidc:ana", "signed_in", "analyst")


LONG_AGO, FAR_AWAY = 1_600_000_000, 4_000_000_000
LIES: list[dict[str, Any]] = [
    {"iss": "https://another.example"},
    {"iss": None},
    {"aud": "another"},
    {"aud": ["another", "third"]},
    {"aud": None},
    {"aud": ["privet", "another"], "azp": "another"},
    {"nonce": "another"},
    {"nonce": None},
    {"exp": LONG_AGO},
    {"exp": None},
    {"exp": "tomorrow"},
    {"iat": FAR_AWAY},
    {"iat": None},
    {"nbf": FAR_AWAY},
    {"sub": None},
    {"sub": 7},
]


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: json.dumps(lie)[:40])
def test_a_claim_that_is_wrong(cloud: CloudUnderTest, provider: Provider, lie: dict[str, Any]) -> None:
    provider.claims = lie
    refused(attempt(cloud))
    assert provider.wrong == []  # the code was good: it was the token that did not pass


def _unsigned(token: str) -> str:
    header = base64.urlsafe_b64encode(b'{"alg":"none","typ":"JWT"}').rstrip(b"=").decode()
    return f"{header}.{token.split('.')[1]}."


def _edited(token: str) -> str:
    head, body, signature = token.split(".")
    claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    changed = json.dumps(claims | {"groups": ["heads"]}).encode()
    return f"{head}.{base64.urlsafe_b64encode(changed).rstrip(b'=').decode()}.{signature}"


def _without_signature(token: str) -> str:
    return token.rpartition(".")[0] + "."


@pytest.mark.parametrize(
    "forge", [_unsigned, _edited, _without_signature, lambda _: "nonsense", lambda _: ""]
)
def test_a_token_that_is_not_signed_as_it_stands(
    cloud: CloudUnderTest, provider: Provider, forge: Any
) -> None:
    provider.token = forge
    refused(attempt(cloud))


def test_a_token_signed_with_the_public_key_as_a_secret(cloud: CloudUnderTest, provider: Provider) -> None:
    provider.token = provider.signed_with_the_public_key
    refused(attempt(cloud))


def test_a_token_of_a_key_that_the_provider_does_not_show(cloud: CloudUnderTest, provider: Provider) -> None:
    with Provider.running() as other:
        provider.key = other.key
        refused(attempt(cloud))


def test_a_new_key_of_the_provider_is_fetched(cloud: CloudUnderTest, provider: Provider) -> None:
    assert attempt(cloud).status_code == 200
    before = provider.fetched_keys
    provider.shown = list(provider.shown)
    provider.rotate()
    assert attempt(cloud).status_code == 200
    assert provider.fetched_keys == before + 1
    assert attempt(cloud).status_code == 200
    assert provider.fetched_keys == before + 1


def test_a_state_is_of_one_browser_and_good_once(cloud: CloudUnderTest, provider: Provider) -> None:
    with Browser(cloud) as victim, Browser(cloud) as attacker:
        back = attacker.to_provider()
        refused(victim.http.get(back))  # without the cookie: nobody is signed in as the attacker
        victim.begin()
        refused(victim.http.get(back))  # with the cookie of another sign-in
        assert attacker.http.get(back).status_code == 200
        refused(attacker.http.get(back))  # a second time
        refused(attacker.http.get(CALLBACK + "?state=made-up&code=good-code"))
        back = attacker.to_provider()
        refused(attacker.http.get(back.replace("good-code", "bad-code")))
        assert provider.wrong == ["code"]
        back = attacker.to_provider()
        refused(attacker.http.get(back + "&iss=https://another.example"))


def test_made_up_states_leave_no_record(cloud: CloudUnderTest) -> None:
    def records() -> int:
        assert cloud.services is not None
        return len(cloud.services.people.log(-1, 1000))

    with Browser(cloud) as browser:
        before = records()
        for number in range(3):
            refused(browser.http.get(f"{CALLBACK}?state=made-up-{number}&code=good-code"))
        assert records() == before
        back = browser.to_provider()
        refused(browser.http.get(back + "&iss=https://another.example"))
        assert records() == before + 1


def test_any_replica_ends_what_another_began(cloud: CloudUnderTest, provider: Provider) -> None:
    other = cloud.second()
    with Browser(cloud) as browser:
        back = parse_qs(urlsplit(browser.to_provider()).query)
        cookie = browser.http.cookies["privet-sign-in"]
    assert other.people.oidc is not None
    found = other.people.oidc.finish(back["state"][0], back["code"][0], None, cookie, "127.0.0.1")
    other.database.dispose()
    assert found.caller.name == "oidc:ana"


def test_a_sign_in_takes_ten_minutes_at_most(cloud: CloudUnderTest, provider: Provider) -> None:
    with Browser(cloud) as browser:
        back = browser.to_provider()
        with cloud.services.database.write() as connection:
            connection.execute(text("UPDATE sign_in_states SET created = created - 601"))
        refused(browser.http.get(back))


MEANINGS: list[tuple[dict[str, Any], int, list[str], str | None]] = [
    ({"groups": ["both"]}, 200, ["analyst", "auditor"], None),
    ({"groups": "analysts"}, 200, ["analyst"], None),
    ({"groups": ["stewards"], "hospital": "h1"}, 200, ["steward"], "h1"),
    ({"groups": ["analysts"], "hospital": "h1"}, 200, ["analyst"], None),
    ({"groups": ["stewards"]}, 403, [], None),
    ({"groups": ["stewards"], "hospital": "H 1"}, 403, [], None),
    ({"groups": ["stewards"], "hospital": ["h1"]}, 403, [], None),
    ({"groups": ["stewards", "heads"], "hospital": "h1"}, 403, [], None),
    ({"groups": ["choir"]}, 403, [], None),
    ({"groups": None}, 403, [], None),
    ({"groups": {"analysts": 1}}, 403, [], None),
]


@pytest.mark.parametrize(("claims", "status", "roles", "hospital"), MEANINGS)
def test_roles_follow_from_claims(
    cloud: CloudUnderTest,
    provider: Provider,
    claims: dict[str, Any],
    status: int,
    roles: list[str],
    hospital: str | None,
) -> None:
    provider.claims = claims
    answer = attempt(cloud)
    assert answer.status_code == status, answer.text
    if status == 200:
        assert (answer.json()["roles"], answer.json()["hospital"]) == (roles, hospital)
    else:
        assert answer.json()["code"] == "forbidden"


def test_a_name_of_the_provider_is_never_one_of_ours(cloud: CloudUnderTest, provider: Provider) -> None:
    cloud.services.people.accounts.add("ana", "correct horse battery staple", ["auditor"], None)
    session = attempt(cloud).json()
    cloud.services.people.accounts.disable("ana")  # ends sessions of the local ana only
    headers = {"authorization": f"Bearer {session['token']}"}
    assert (
        httpx2.get(cloud.base_url + "/v1/me", headers=headers, trust_env=False).json()["name"] == "oidc:ana"
    )


@pytest.mark.parametrize(
    "described",
    [
        {"issuer": "https://another.example"},
        {"token_endpoint": "http://login.example/token"},
        {"jwks_uri": "file:///etc/passwd"},
        {"authorization_endpoint": None},
    ],
)
def test_a_provider_that_describes_itself_wrongly_is_not_used(described: dict[str, Any]) -> None:
    with Provider.running() as liar:
        known = provider_module.Provider(OidcSettings(**settings_of(liar.issuer)))
        assert known.endpoint("jwks_uri") == liar.issuer + "/jwks"
        liar.described = described
        with pytest.raises(provider_module.ProviderError, match="cannot be used now"):
            provider_module.Provider(OidcSettings(**settings_of(liar.issuer))).endpoint("jwks_uri")


def test_a_provider_that_is_not_there_is_told_as_such(tmp_path: Path) -> None:
    away = settings_of("http://127.0.0.1:9")
    with running_cloud(tmp_path, bits=512, hospitals=("h1", "h2", "h3"), oidc=away) as cloud:
        answer = httpx2.get(cloud.base_url + "/v1/sign-in/oidc", trust_env=False)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "10")
    assert answer.json()["code"] == "provider_unavailable"


@pytest.mark.usefixtures("every_log_line")
def test_no_code_state_secret_or_token_in_a_log(
    cloud: CloudUnderTest, provider: Provider, capfd: pytest.CaptureFixture[str]
) -> None:
    tokens: list[str] = []
    provider.token = lambda token: tokens.append(token) or token  # type: ignore[func-returns-value]
    with capture_logs() as lines, Browser(cloud) as browser:
        back = browser.to_provider()
        session = browser.http.get(back).json()["token"]
        state = parse_qs(urlsplit(back).query)["state"][0]
        refused(browser.http.get(back))
        cookie = browser.http.cookies.get("privet-sign-in", "")
    said = json.dumps(lines, default=str) + "".join(capfd.readouterr())
    assert CALLBACK in said
    hidden = [session, state, "its-secret", "good-code", *tokens, *([cookie] if cookie else [])]
    assert not [one for one in hidden if one in said]
    kept = b"".join(path.read_bytes() for path in cloud.folder.iterdir() if path.is_file())
    assert not [one for one in hidden if one.encode() in kept]


BAD_SETTINGS: list[dict[str, Any]] = [
    {"issuer": "http://login.example.org"},
    {"issuer": "login.example.org"},
    {"issuer": "https://login.example.org?x=1"},
    {"public_url": "http://privet.example.org"},
    {"roles": {}},
    {"roles": {"x": ["emperor"]}},
    {"scope": "profile"},
    {"surplus": 1},
]


@pytest.mark.parametrize("change", BAD_SETTINGS)
def test_settings_that_are_not_safe(change: dict[str, Any]) -> None:
    good = settings_of("https://login.example.org")
    assert "its-secret" not in repr(OidcSettings(**good))
    with pytest.raises(ValidationError):
        OidcSettings(**(good | change))


def test_a_browser_that_began_at_a_page_ends_with_a_session_in_its_cookie(
    cloud: CloudUnderTest, provider: Provider
) -> None:
    provider.claims["groups"] = ["analysts"]
    with Browser(cloud) as browser:
        browser.http.headers["accept"] = "text/html"
        assert 'href="/sign-in/provider?next=/jobs"' in browser.http.get("/sign-in?next=/jobs").text
        sent = browser.http.get("/sign-in/provider?next=/jobs")
        back = urlsplit(browser.http.get(sent.headers["location"]).headers["location"])
        handed = browser.http.get(f"{back.path}?{back.query}").headers["location"]
        assert handed == f"/sign-in/provider/finish?{back.query}"
        page = browser.http.get(handed)
        assert '<meta http-equiv="refresh" content="0;url=/jobs">' in page.text
        assert browser.http.get("/jobs").status_code == 200
        again = browser.http.get(handed)  # a code and a state count once
        assert (again.status_code, "did not confirm who you are" in again.text) == (401, True)


def test_a_page_cannot_be_made_to_end_a_sign_in_that_another_browser_began(
    cloud: CloudUnderTest, provider: Provider
) -> None:
    provider.claims["groups"] = ["analysts"]
    with Browser(cloud) as mallory, Browser(cloud) as victim:
        victim.http.headers["accept"] = "text/html"
        sent = mallory.http.get("/sign-in/provider")
        back = urlsplit(mallory.http.get(sent.headers["location"]).headers["location"])
        lured = victim.http.get(f"/sign-in/provider/finish?{back.query}")
        assert lured.status_code == 401
        assert "privet-session" not in victim.http.cookies
