"""What a browser holds, and what it must prove before it changes something.

- The session is a cookie that no script reads, that no other site's page can send along, and that ends with the
  browser. Over HTTPS its name begins with `__Host-`, so that no other host of the domain can set it.
- A form carries a token that follows from the session (HMAC-SHA-256): who cannot read the cookie cannot make it. Before
  anybody is signed in, a random cookie stands in for the session: nobody is signed in as somebody else unawares.
- Browsers say where a request comes from (`Sec-Fetch-Site`, `Origin`); another site is refused whatever it sends.
"""

from __future__ import annotations

import hmac
from typing import Final
from urllib.parse import urlsplit

from fastapi import Request
from starlette.responses import Response

from cloud_service.service.services import Services
from machine.browsers import hand_cookie
from shared.rng import random_token

FORM_TOKEN: Final = "form_token"  # noqa: S105 - the name of a field
_PURPOSE: Final = b"privet form v1"
_LONGEST: Final = 128
_LONGEST_PATH: Final = 500
_HOME: Final = "/"


def is_https(request: Request) -> bool:
    """Whether the browser speaks HTTPS, to this process or to the proxy in front of it."""
    services: Services = request.app.state.services
    return request.url.scheme == "https" or services.settings.behind_proxy


def _name(request: Request, what: str) -> str:
    return f"__Host-{what}" if is_https(request) else f"{what}-session"


def session_of(request: Request) -> str:
    """What the browser holds of a session; empty: nothing."""
    return request.cookies.get(_name(request, "privet"), "")[: _LONGEST + 1]


def open_session(request: Request, answer: Response, token: str) -> None:
    """Hand a session to the browser, until it is closed."""
    _set(request, answer, _name(request, "privet"), token)


def end_session(request: Request, answer: Response) -> None:
    """Take it back."""
    _delete(request, answer, _name(request, "privet"))


def form_token(request: Request) -> str:
    """What a form of ours carries. Before a sign-in `with_stranger` must have put its cookie on the way."""
    return _token(session_of(request) or _stranger(request))


def with_stranger(request: Request, answer: Response) -> Response:
    """The page to sign in goes out with the cookie that its form will be known by."""
    _set(request, answer, _name(request, "privet-form"), _stranger(request))
    return answer


def is_own_form(request: Request, given: str) -> bool:
    """Whether a form came from a page of ours, that this browser was shown."""
    held = session_of(request) or request.cookies.get(_name(request, "privet-form"), "")
    return bool(held) and is_same_site(request) and hmac.compare_digest(_token(held).encode(), given.encode())


def is_same_site(request: Request) -> bool:
    """Whether the browser says nothing against it. Old ones say no site; pages of ours send the origin `null`."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin, host = request.headers.get("origin", "null"), request.headers.get("host", "")
    # Without the port, which proxies leave out of the host's name; cookies are of all ports of a host as well.
    return origin == "null" or urlsplit(origin).hostname == urlsplit(f"//{host}").hostname


def safe_path(given: str) -> str:
    """Where to go on after a sign-in: a page of this cloud, or the first one. Never another host."""
    is_plain = given.isascii() and given.isprintable() and len(given) <= _LONGEST_PATH and "\\" not in given
    if not is_plain or not given.startswith("/") or given.startswith("//"):
        return _HOME
    return _HOME if given.startswith(("/v1/", "/sign-", "/assets/")) else given


def remember(request: Request, answer: Response, what: str, value: str, *, is_lax: bool = False) -> None:
    """A short word for the next page. `is_lax`: it is needed on the way back from another site."""
    _set(request, answer, _name(request, what), value, is_lax=is_lax)


def remembered(request: Request, what: str) -> str:
    """What was remembered; empty: nothing."""
    return request.cookies.get(_name(request, what), "")


def forget(request: Request, answer: Response, what: str) -> None:
    """Take it away."""
    _delete(request, answer, _name(request, what))


def _stranger(request: Request) -> str:
    """The cookie of a browser in which nobody is signed in: the one it has, or one for this request on."""
    held = request.cookies.get(_name(request, "privet-form"), "")
    if not hasattr(request.state, "stranger"):
        request.state.stranger = held if len(held) >= len(random_token()) else random_token()
    found: str = request.state.stranger
    return found


def _token(held: str) -> str:
    return hmac.digest(held.encode(), _PURPOSE, "sha256").hex()


def _set(request: Request, answer: Response, name: str, value: str, *, is_lax: bool = False) -> None:
    hand_cookie(answer, name, value, is_https=is_https(request), is_lax=is_lax)


def _delete(request: Request, answer: Response, name: str) -> None:
    answer.delete_cookie(name, path="/", secure=is_https(request), httponly=True, samesite="strict")
