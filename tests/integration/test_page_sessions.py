"""Signing in with a browser: cookies, forms of strangers, sessions that ended, and where one is led."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress

import pytest
from sqlalchemy import text

from cloud_service.service.rates import RateLimitedError
from cloud_service.service.sessions import IDLE_SECONDS
from cloud_service.service.tokens import digest
from tests.support.browsing import (
    COOKIE,
    FIELD,
    PASSWORD,
    Browser,
    address_in,
    browser_of,
    code_of,
    with_session,
)
from tests.support.clinic import SCHEMA
from tests.support.cloud_server import CloudUnderTest, running_cloud


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CloudUnderTest]:
    with running_cloud(tmp_path_factory.mktemp("sessions"), bits=512) as found:
        found.study(SCHEMA, name="shut", question="shall it be shut?")
        found.services.people.accounts.add("beth", PASSWORD, ["analyst"], None)
        yield found


@pytest.fixture(scope="module")
def analyst(cloud: CloudUnderTest) -> Browser:
    return with_session(cloud, "ana", ["analyst"], None)


@pytest.fixture
def coordinator(cloud: CloudUnderTest) -> Browser:
    return with_session(cloud, "cora", ["coordinator"], None)


def set_cookies(headers: Mapping[str, str], name: str) -> str:
    """What an answer says of a cookie, in lower case."""
    found = [line for line in headers.get("set-cookie", "").split(", ") if line.startswith(name + "=")]
    return "; ".join(found).lower()


# --- signing in -------------------------------------------------------------------------------------------------


def test_a_second_factor_is_set_up_at_the_first_sign_in(cloud: CloudUnderTest) -> None:
    cloud.services.people.accounts.add("olga", PASSWORD, ["operator"], None)
    browser = browser_of(cloud)
    page = browser.sign_in("olga", following="/operations")
    address = address_in(page.text)
    assert (page.status_code, browser.session) == (200, "")
    assert '<svg xmlns="http://www.w3.org/2000/svg"' in page.text
    assert address not in str(page.url)
    code = code_of(address)
    landed = browser.post(
        "/sign-in", {"name": "olga", "password": PASSWORD, "code": code, "next": "/operations"}
    )
    assert (landed.status_code, landed.headers["location"]) == (303, "/operations")
    assert browser.get("/operations").status_code == 200


def test_whatever_was_wrong_gets_one_answer_and_keeps_where_one_was_going(cloud: CloudUnderTest) -> None:
    told = []
    for name, password in (("beth", "wrong"), ("nobody-here", "wrong")):
        browser = browser_of(cloud)
        page = browser.sign_in(name, following="/jobs", password=password)
        assert (page.status_code, browser.session) == (401, "")
        assert 'name="next" value="/jobs"' in page.text
        told.append(re.sub(rf'value="({name}|[0-9a-f]{{64}})"', "", page.text))
    assert told[0] == told[1]
    assert browser_of(cloud).sign_in("", password="").status_code == 422


def test_who_fails_too_often_is_told_how_long_to_wait(cloud: CloudUnderTest) -> None:
    with suppress(RateLimitedError):  # it is the page that must say so
        for _ in range(20):
            cloud.services.people.sign_in.attempts.begin("nobody-either", "192.0.2.1")
    page = browser_of(cloud).sign_in("nobody-either")
    assert (page.status_code, "Too many requests" in page.text) == (429, True)
    seconds = int(page.headers["retry-after"])
    assert re.search(rf"Try again in (?:{seconds} seconds|{-(-seconds // 60)} minutes)\.", page.text)
    with cloud.services.database.write() as connection:
        connection.execute(text("DELETE FROM sign_in_attempts"))


def test_the_cookie_is_for_this_site_and_no_script(cloud: CloudUnderTest) -> None:
    browser = browser_of(cloud)
    said = set_cookies(browser.sign_in("beth").headers, COOKIE)
    assert {"httponly", "samesite=strict", "path=/"} <= set(said.split("; "))
    assert "expires" not in said  # it ends with the browser
    assert "max-age" not in said
    assert "domain" not in said


def test_over_https_no_other_host_can_set_the_cookie(
    cloud: CloudUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cloud_service.pages.browser.is_https", lambda _request: True)
    browser = browser_of(cloud)
    page = browser.get("/sign-in")
    form = set_cookies(page.headers, "__Host-privet-form")
    held = {"cookie": page.headers["set-cookie"].partition(";")[0]}
    answer = browser.post("/sign-in", {"name": "beth", "password": PASSWORD, "code": ""}, **held)
    session = set_cookies(answer.headers, "__Host-privet")
    for said in (form, session):
        assert {"secure", "httponly", "samesite=strict", "path=/"} <= set(said.split("; ")), said


def test_a_session_that_was_there_before_is_not_gone_on_with(cloud: CloudUnderTest) -> None:
    """Whoever puts a session of theirs into another's browser learns nothing of what is done there."""
    mallory = with_session(cloud, "mallory", ["analyst"], None)
    browser = browser_of(cloud)
    browser.client.cookies.set(COOKIE, mallory.session)
    browser.get("/account")
    fields = {"name": "beth", "password": PASSWORD, "code": "", "next": "/"}
    assert browser.post("/sign-in", fields).status_code == 303
    kept = [one.value for one in browser.client.cookies.jar if one.name == COOKIE]
    assert mallory.session not in kept[-1:]
    assert mallory.get("/account").status_code == 303
    made_up = browser_of(cloud)
    made_up.client.cookies.set(COOKIE, "chosen-by-somebody-else")
    assert made_up.get("/account").headers["location"].startswith("/sign-in")


def test_programs_tokens_open_no_page(cloud: CloudUnderTest) -> None:
    browser = browser_of(cloud)
    browser.client.cookies.set(COOKIE, cloud.token)
    assert browser.get("/jobs").status_code == 303
    assert browser_of(cloud).get("/jobs", authorization=f"Bearer {cloud.token}").status_code == 303


def test_the_cookie_opens_nothing_of_the_api(analyst: Browser) -> None:
    """So no form of another site reaches it either."""
    assert analyst.get("/v1/jobs").status_code == 401


# --- where one is led -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "following",
    [
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "javascript:alert(1)",
        "/v1/me",
    ],
)
def test_nobody_is_led_to_another_place(cloud: CloudUnderTest, analyst: Browser, following: str) -> None:
    assert analyst.client.get("/sign-in", params={"next": following}).headers["location"] == "/"


def test_who_is_not_signed_in_comes_back_to_where_they_were(cloud: CloudUnderTest) -> None:
    browser = browser_of(cloud)
    answer = browser.get("/jobs?study=hostile&state=DONE")
    assert answer.headers["location"] == "/sign-in?next=%2Fjobs%3Fstudy%3Dhostile%26state%3DDONE"
    landed = browser.sign_in("beth", following="/jobs?study=hostile")
    assert landed.headers["location"] == "/jobs?study=hostile"


def test_a_link_on_another_site_leads_to_the_page_and_not_to_the_sign_in(cloud: CloudUnderTest) -> None:
    """The browser keeps a strict cookie back on the way here, and sends it when the page asks itself."""
    page = browser_of(cloud).get("/jobs", **{"sec-fetch-site": "cross-site"})
    assert page.status_code == 200
    assert '<meta http-equiv="refresh" content="0;url=/jobs">' in page.text


def test_a_part_of_a_page_makes_the_whole_page_load_anew(cloud: CloudUnderTest) -> None:
    answer = browser_of(cloud).get("/hospitals/live", **{"hx-request": "true"})
    assert (answer.status_code, answer.headers["hx-refresh"]) == (401, "true")


# --- how a session ends -----------------------------------------------------------------------------------------


def test_a_stolen_cookie_is_worth_nothing_after_the_sign_out(cloud: CloudUnderTest) -> None:
    browser = with_session(cloud, "fred", ["analyst"], None)
    thief = browser_of(cloud)
    thief.client.cookies.set(COOKIE, browser.session)
    assert thief.get("/jobs").status_code == 200
    answer = browser.post("/sign-out")
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")
    assert "You are signed out." in browser.get("/sign-in").text
    assert thief.get("/jobs").headers["location"].startswith("/sign-in")


def test_a_session_ends_when_its_time_is_over(cloud: CloudUnderTest) -> None:
    browser = with_session(cloud, "gina", ["analyst"], None)
    _age(cloud, browser, "seen", IDLE_SECONDS + 1)
    assert browser.get("/jobs").status_code == 303
    assert browser.post("/sign-out").headers["location"] == "/sign-in?ended=1"


def test_a_page_that_asks_by_itself_keeps_no_session_alive(cloud: CloudUnderTest) -> None:
    browser = with_session(cloud, "gert", ["analyst"], None)
    _age(cloud, browser, "seen", IDLE_SECONDS - 60)
    before = _seen(cloud, browser)
    assert browser.get("/hospitals/live").status_code == 200
    assert _seen(cloud, browser) == before
    assert browser.get("/hospitals").status_code == 200
    assert _seen(cloud, browser) > before


def test_another_password_ends_all_sessions(cloud: CloudUnderTest) -> None:
    cloud.services.people.accounts.add("hanna", PASSWORD, ["analyst"], None)
    browser = with_session(cloud, "hanna", ["analyst"], None)
    fields = {"password": PASSWORD, "new_password": "seven words of another kind", "again": "another"}
    assert browser.post("/account/password", fields).status_code == 422
    weak = {"password": PASSWORD, "new_password": "short", "again": "short"}
    assert "12" in browser.post("/account/password", weak).text
    answer = browser.post("/account/password", {**fields, "again": fields["new_password"]})
    assert answer.headers["location"] == "/sign-in"
    assert browser.get("/account").status_code == 303


def _age(cloud: CloudUnderTest, browser: Browser, what: str, seconds: int) -> None:
    change = text(f"UPDATE sessions SET {what} = {what} - :seconds WHERE sha256 = :sha256")
    with cloud.services.database.write() as connection:
        connection.execute(change, {"seconds": seconds, "sha256": digest(browser.session)})


def _seen(cloud: CloudUnderTest, browser: Browser) -> int:
    with cloud.services.database.read() as connection:
        query = text("SELECT seen FROM sessions WHERE sha256 = :sha256")
        return int(connection.scalar(query, {"sha256": digest(browser.session)}) or 0)


# --- forms that are not ours ------------------------------------------------------------------------------------


def test_a_form_of_nobody_knows_where_changes_nothing(cloud: CloudUnderTest, coordinator: Browser) -> None:
    other = with_session(cloud, "otto", ["coordinator"], None)
    path = "/studies/shut/close"
    for fields, headers in (
        ({FIELD: ""}, {}),
        ({FIELD: "0" * 64}, {}),
        ({FIELD: other.token}, {}),
        ({}, {"sec-fetch-site": "cross-site"}),
        ({}, {"sec-fetch-site": "same-site"}),
        ({}, {"sec-fetch-site": "none"}),
    ):
        token = coordinator.token
        answer = coordinator.post(path, fields, **headers)
        coordinator.token = token
        assert answer.status_code == 409, (fields, headers)
    plain = coordinator.client.post(
        path, data={FIELD: coordinator.token}, headers={"origin": "https://evil.example"}
    )
    assert plain.status_code == 409
    assert coordinator.client.post(path, json={FIELD: coordinator.token}).status_code == 400
    assert cloud.services.studies.get("shut").closed is None


def test_nobody_is_signed_in_by_a_form_of_another_site(cloud: CloudUnderTest) -> None:
    fields = {"name": "beth", "password": PASSWORD, "code": "", "next": "/"}
    without_cookie = browser_of(cloud)
    without_cookie.token = browser_of(cloud).get("/sign-in").text.partition(f'name="{FIELD}" value="')[2][:64]
    assert without_cookie.post("/sign-in", fields).status_code == 409
    browser = browser_of(cloud)
    browser.get("/sign-in")
    assert browser.post("/sign-in", fields, **{"sec-fetch-site": "cross-site"}).status_code == 409
    assert browser.session == ""


def test_a_form_without_end_is_cut_off(cloud: CloudUnderTest, coordinator: Browser) -> None:
    assert coordinator.post("/studies/shut/close", {"x": "y" * (2**20 + 1)}).status_code == 413
    assert browser_of(cloud).post("/sign-in", {"name": "x" * 2**13}).status_code == 413
    many = {f"x{number}": "" for number in range(5000)}
    assert coordinator.post("/studies/shut/close", many).status_code == 400
