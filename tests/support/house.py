"""A hospital's pages over its own folder, as its agent serves them, and a browser's part in talking to them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from hospital_agent.commands.jobs import status_document
from hospital_agent.commands.serving_desk import desk_in
from hospital_agent.keyring import Keyring
from hospital_agent.local_api import create_app, serving
from hospital_agent.models import shelf_of
from hospital_agent.pages import House, install
from hospital_agent.settings import LocalSection

_CSRF = re.compile(r'name="csrf" value="([0-9a-f]{64})"')


@contextmanager
def serving_pages(folder: Path, token: str | None = None) -> Iterator[str]:
    """The pages and the local API of the agent in `folder`; the base URL."""
    ring = Keyring.open(folder)
    shelf = shelf_of(folder, ring.identity.public, ring.hospital_trust().root)
    desk = desk_in(folder, shelf, LocalSection())

    def status() -> dict[str, Any]:
        return status_document(folder)

    app = create_app(desk.library, status, token, desk=desk)
    install(app, House(folder, desk, status, "0.0.0", token))
    with serving(app, LocalSection(port=0)) as url:
        try:
            yield url
        finally:
            desk.close()


@dataclass
class Browser:
    """Keeps cookies, and sends forms as a browser does: with what the page it has read gave it."""

    url: str
    http: httpx.Client = field(init=False)

    def __post_init__(self) -> None:
        self.http = httpx.Client(base_url=self.url, timeout=30)

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def get(self, path: str, status: int = 200) -> str:
        """A page's HTML."""
        answer = self.http.get(path)
        assert answer.status_code == status, answer.text
        return answer.text

    def post(self, path: str, form: str, status: int = 303, **fields: str) -> httpx.Response:
        """Send a form that stands on the page `form`, its hidden fields included."""
        answer = self.send(path, {**self.hidden(form), **fields})
        assert answer.status_code == status, answer.text
        return answer

    def hidden(self, form: str) -> dict[str, str]:
        """The hidden fields of the form that stands on this page."""
        return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', self.get(form)))

    def send(self, path: str, fields: Mapping[str, str]) -> httpx.Response:
        """A form as a browser posts it from one of our pages."""
        headers = {"Origin": self.url.rstrip("/"), "Sec-Fetch-Site": "same-origin"}
        return self.http.post(path, data=dict(fields), headers=headers)


def csrf_of(html: str) -> str:
    """What the page's forms carry."""
    found = _CSRF.search(html)
    assert found is not None
    return found[1]
