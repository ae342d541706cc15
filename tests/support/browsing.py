"""A browser without a screen: it keeps cookies, fills in the forms of the cloud's pages, and follows nothing by itself.

browser = signed_in(cloud, "coordinator")
browser.get("/studies"); browser.post("/studies/study/close")
"""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from urllib.parse import parse_qs, urlsplit

import httpx2
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP

from tests.support.cloud_server import CloudUnderTest

PASSWORD = "correct horse battery staple"
FIELD = "form_token"
COOKIE = "privet-session"
_TOKEN = re.compile(rf'name="{FIELD}" value="([0-9a-f]{{64}})"')


@dataclass
class Browser:
    """Asks for pages as a browser does. `token`: of the forms of the page that was seen last."""

    client: httpx2.Client
    token: str = ""

    @property
    def session(self) -> str:
        """What the browser holds of a session; empty: nothing."""
        return self.client.cookies.get(COOKIE) or ""

    def get(self, path: str, **headers: str) -> httpx2.Response:
        """A page."""
        answer = self.client.get(path, headers={"sec-fetch-site": "same-origin", **headers})
        if found := _TOKEN.search(answer.text):
            self.token = found[1]
        return answer

    def beginning(self, path: str) -> httpx2.Response:
        """How an answer begins that may have no end; the whole of a refusal."""
        with self.client.stream("GET", path, headers={"sec-fetch-site": "same-origin"}) as answer:
            if answer.status_code >= 300:
                answer.read()
        return answer

    def post(self, path: str, fields: Mapping[str, str] = {}, **headers: str) -> httpx2.Response:
        """A form, with the token of the last page unless another is given."""
        form = {FIELD: self.token, **fields}
        answer = self.client.post(path, data=form, headers={"sec-fetch-site": "same-origin", **headers})
        if found := _TOKEN.search(answer.text):
            self.token = found[1]
        return answer

    def sign_in(
        self, name: str, code: str = "", *, following: str = "/", password: str = PASSWORD
    ) -> httpx2.Response:
        """Fill in the page to sign in."""
        self.get(f"/sign-in?next={following}")
        fields = {"name": name, "password": password, "code": code, "next": following}
        return self.post("/sign-in", fields)


def browser_of(cloud: CloudUnderTest) -> Browser:
    """A new one, in which nobody is signed in."""
    client = httpx2.Client(
        base_url=cloud.base_url,
        timeout=30,
        trust_env=False,
        headers={"accept": "text/html"},
        limits=httpx2.Limits(max_keepalive_connections=0),  # so that nobody has to close it
    )
    return Browser(client)


def address_in(page: str) -> str:
    """The address of a second factor that a page shows."""
    found = re.search(r"otpauth://[^<\s]+", page)
    assert found is not None, page
    return unescape(found[0])


def code_of(address: str, moment: float | None = None) -> str:
    """The code that an authenticator app shows for an address."""
    secret = parse_qs(urlsplit(address).query)["secret"][0]
    key = base64.b32decode(secret + "=" * (-len(secret) % 8))
    return TOTP(key, 6, SHA1(), 30).generate(time.time() if moment is None else moment).decode()


def with_session(cloud: CloudUnderTest, name: str, roles: Sequence[str], hospital: str | None) -> Browser:
    """Somebody who holds a session without having signed in, and has seen a page; quick, for tables of many."""
    sessions = cloud.services.people.sign_in.sessions
    with cloud.services.database.write() as connection:
        found = sessions.open(connection, name, " ".join(roles), hospital)
    browser = browser_of(cloud)
    browser.client.cookies.set(COOKIE, found.token)
    browser.get("/account")
    return browser
