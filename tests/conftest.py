"""Settings of every test: properties have no time limit, because machines are shared."""

from __future__ import annotations

import functools
import ssl
import time
from collections.abc import Iterator
from pathlib import Path

import httpcore2
import pytest
import structlog
from hypothesis import settings

from tests.support.databases import (
    database_url,
    empty_database_url,
    postgres_programs,
    postgres_server,
    postgres_url,
    sqlite_url,
)
from tests.support.programs import founded_federation

__all__ = [
    "database_url",
    "empty_database_url",
    "founded_federation",
    "postgres_programs",
    "postgres_server",
    "postgres_url",
    "sqlite_url",
]


SCREENSHOTS = Path(__file__).parents[1] / "dist" / "screenshots"
_BEGUN = time.time()


@pytest.hookimpl(tryfirst=True)  # before the workers' own hook reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With several workers, tests of one module that runs servers stay together: what they share is made once."""
    for item in items:
        if {"integration", "e2e"} & set(item.path.parts) and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Where pictures of pages are that this run took."""
    taken = [path for path in SCREENSHOTS.glob("*.png") if path.stat().st_mtime >= _BEGUN]
    if taken:
        terminalreporter.write_line(f"{len(taken)} screenshots in {SCREENSHOTS}")


_fresh_context = httpcore2.default_ssl_context
_kept_context = functools.cache(lambda: _fresh_context(_trust_env=False))


def _context(*, _trust_env: bool = True) -> ssl.SSLContext:
    return _fresh_context(_trust_env=True) if _trust_env else _kept_context()


# Tests make thousands of clients, most of them for plain HTTP on this machine, and each would read all of the system's
# authorities anew: a fifth of the CPU of tests at a running cloud.
httpcore2.default_ssl_context = _context


settings.register_profile("privet", deadline=None)
settings.load_profile("privet")


@pytest.fixture
def every_log_line() -> Iterator[None]:
    """Other tests of this process may have turned the log down."""
    before = structlog.get_config()
    structlog.reset_defaults()
    yield
    structlog.configure(**before)
