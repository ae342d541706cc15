"""What a browser holds and proves, on requests as they come over HTTP, over HTTPS, and through a proxy."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from fastapi import Request
from starlette.responses import Response

from cloud_service.pages import browser


def request_of(*, scheme: str = "https", behind_proxy: bool = False, **headers: str) -> Request:
    settings = SimpleNamespace(behind_proxy=behind_proxy)
    app = SimpleNamespace(state=SimpleNamespace(services=SimpleNamespace(settings=settings)))
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {
        "type": "http",
        "app": app,
        "scheme": scheme,
        "method": "GET",
        "path": "/",
        "query_string": b"",
        "server": ("h", 80),
    }
    return Request({**scope, "headers": raw})


def cookie_of(answer: Response) -> set[str]:
    return set(answer.headers["set-cookie"].split("; "))


@pytest.mark.parametrize(("scheme", "behind_proxy"), [("https", False), ("http", True)])
def test_over_https_the_cookie_is_this_hosts_alone(scheme: str, behind_proxy: bool) -> None:
    answer = Response()
    browser.open_session(request_of(scheme=scheme, behind_proxy=behind_proxy), answer, "t")
    assert cookie_of(answer) == {"__Host-privet=t", "HttpOnly", "Path=/", "SameSite=strict", "Secure"}


def test_over_http_on_this_machine_it_has_another_name() -> None:
    answer = Response()
    browser.open_session(request_of(scheme="http"), answer, "t")
    assert cookie_of(answer) == {"privet-session=t", "HttpOnly", "Path=/", "SameSite=strict"}
    held = request_of(cookie="privet-session=t")
    assert (
        browser.session_of(held) == ""
    )  # over HTTPS, where another host could have set it, it is not looked at


@pytest.mark.parametrize("path", ["/", "/jobs", "/jobs?study=a&before=00", "/studies/x#answers"])
def test_pages_of_this_cloud_are_led_to(path: str) -> None:
    assert browser.safe_path(path) == path


@pytest.mark.parametrize(
    "path",
    [
        "",
        "jobs",
        "//evil.example",
        "///evil.example",
        "/\\evil.example",
        "https://evil.example/",
        "javascript:alert(1)",
        "/jobs\r\nSet-Cookie: a=b",
        "/\tevil",
        "/v1/me",
        "/sign-out",
        "/assets/privet.css",
        "/jöbs",
        "/" + "x" * 500,
    ],
)
def test_everything_else_leads_to_the_first_page(path: str) -> None:
    assert browser.safe_path(path) == "/"


@pytest.mark.parametrize(
    ("headers", "is_ours"),
    [
        ({"sec_fetch_site": "same-origin"}, True),
        ({"sec_fetch_site": "cross-site"}, False),
        ({"sec_fetch_site": "same-site"}, False),
        ({"sec_fetch_site": "none"}, False),
        ({"sec_fetch_site": "same-origin", "origin": "null"}, True),
        ({}, True),
        ({"origin": "null"}, True),
        ({"origin": "https://cloud.example", "host": "cloud.example"}, True),
        ({"origin": "https://cloud.example:8443", "host": "cloud.example:8443"}, True),
        ({"origin": "https://cloud.example:8443", "host": "cloud.example"}, True),  # as a proxy passes it on
        ({"origin": "https://cloud.example.evil", "host": "cloud.example"}, False),
        ({"origin": "https://evil.example", "host": "cloud.example"}, False),
    ],
)
def test_where_a_form_comes_from(headers: dict[str, str], is_ours: bool) -> None:
    request = request_of(**headers)  # type: ignore[arg-type]  # none of them is named like an argument
    assert browser.is_same_site(request) is is_ours


def test_a_token_follows_from_the_session_alone_and_does_not_tell_it() -> None:
    one, two = (request_of(cookie=f"__Host-privet={held}") for held in ("a" * 43, "b" * 43))
    tokens = [browser.form_token(one), browser.form_token(two)]
    assert tokens[0] == browser.form_token(request_of(cookie=f"__Host-privet={'a' * 43}"))
    assert [browser.is_own_form(one, token) for token in (*tokens, "", "a" * 43)] == [
        True,
        False,
        False,
        False,
    ]


def test_before_a_sign_in_a_form_is_known_by_a_cookie_of_its_own() -> None:
    request, answer = request_of(), Response()
    browser.with_stranger(request, answer)
    token = browser.form_token(request)
    held = answer.headers["set-cookie"].partition(";")[0]
    assert held.startswith("__Host-privet-form=")
    assert browser.is_own_form(request_of(cookie=held), token)
    assert not browser.is_own_form(request_of(), token)
    short = request_of(cookie="__Host-privet-form=x")  # nobody's guess takes the place of a random one
    assert browser.form_token(short) != browser.form_token(request_of(cookie="__Host-privet-form=x"))
