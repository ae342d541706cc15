"""A page with one tree in it, served on loopback under the headers that every page has; for tests in a browser."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path

from shared.export.subject import Origin, Subject
from shared.tree.model import Leaf, Node, Split, Tree
from shared.tree.schema import Attribute, Schema
from shared.web.rendering import ASSETS_PATH, HEADERS, environment
from shared.web.tree_view import TreeView

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
_PAGE = """{% extends "page.html" %}{% from "tree.html" import tree_assets, tree_picture %}
{% block title %}Tree{% endblock %}{% block scripts %}{{ tree_assets() }}{% endblock %}
{% block content %}<h1>Tree</h1><h2>Picture</h2>{{ tree_picture(view, lit=lit) }}{% endblock %}"""
_KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def page(view: TreeView, lit: Sequence[int] = ()) -> str:
    """The page."""
    return environment("shared.web").from_string(_PAGE).render(view=view, lit=lit)


def full_tree(depth: int, ways: int, labels: Sequence[str] = ("well", "ill", "unsure")) -> TreeView:
    """Every path asks `depth` questions of `ways` answers each; counts are made up."""
    attributes = [Attribute(f"sign {n}", tuple(f"grade {v}" for v in range(ways))) for n in range(depth)]
    schema = Schema.create(attributes, "state", labels)

    def grown(level: int, number: int) -> Node:
        if level == depth:
            counts = tuple((number * (k + 3)) % (11 + k) for k in range(len(labels)))
            return Leaf(counts.index(max(counts)), counts)
        kids = tuple(grown(level + 1, number * ways + way) for way in range(ways))
        sums = tuple(map(sum, zip(*(kid.counts or () for kid in kids), strict=True)))
        return Split(level, kids, sums.index(max(sums)), sums)

    return TreeView(Subject.prepare(Tree(grown(0, 1)), schema, "counts", Origin(study="full")))


@contextmanager
def served(pages: Mapping[str, str]) -> Iterator[str]:
    """The pages by path, and the assets; the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, pages))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    def __init__(self, pages: Mapping[str, str], *arguments: object) -> None:
        self._pages = pages
        super().__init__(*arguments)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path.startswith(f"{ASSETS_PATH}/"):
            name = path.removeprefix(f"{ASSETS_PATH}/")
            body = files("shared.web").joinpath("static", *name.split("/")).read_bytes()
            self._answer(body, _KINDS[Path(name).suffix])
        else:
            self._answer(self._pages[path].encode(), "text/html; charset=utf-8")

    def _answer(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        for name, value in (HEADERS | {"Content-Type": kind, "Content-Length": str(len(body))}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        """Silent."""
