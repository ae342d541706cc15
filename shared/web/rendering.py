"""Templates to HTML.

Everything that comes from outside is escaped; a name that a template uses and nobody gives is an error, not a gap.
"""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, Final

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from shared.texts import text

ASSETS_PATH: Final = "/assets"
"""Where each program serves `shared/web/static`."""
CONTENT_SECURITY_POLICY: Final = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
"""No script or style inside a page, nothing from another host, in nobody's frame."""
HEADERS: Final = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""Of every page. Assets may be kept: their address changes with their content."""

_TYPED: Final = re.compile(r"`([^`\n]+)`")


@lru_cache(maxsize=4)
def environment(package: str) -> Environment:
    """Templates of a program's room and of this one. Args: package: the room, such as `cloud_service.pages`."""
    made = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("shared.web")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.update(text=text, asset=asset)
    made.filters.update(moment=moment, moment_iso=moment_iso, marked=marked)
    return made


def render(package: str, template: str, **values: Any) -> str:
    """A template with its values."""
    return environment(package).get_template(template).render(**values)


def asset(name: str) -> str:
    """The address of a file of `static`; it changes with the file, so that browsers may keep it."""
    return f"{ASSETS_PATH}/{name}?v={_version(name)}"


def marked(words: str) -> Markup:
    """Words of a program with what is typed set apart: terminals get it between backticks, pages as `<code>`."""
    return Markup(_TYPED.sub(r"<code>\1</code>", str(escape(words))))  # noqa: S704  (escaped just before)


def moment(unix_seconds: int) -> str:
    """A moment for people to read, in UTC."""
    return datetime.fromtimestamp(unix_seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def moment_iso(unix_seconds: int) -> str:
    """A moment for `<time datetime>`."""
    return datetime.fromtimestamp(unix_seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@lru_cache(maxsize=64)
def _version(name: str) -> str:
    place: Traversable = files("shared.web").joinpath("static", *name.split("/"))
    return hashlib.sha256(place.read_bytes()).hexdigest()[:12]
