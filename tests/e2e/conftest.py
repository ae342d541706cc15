"""What every walk in a browser begins with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.support.chromium import opened_browser
from tests.support.sitemap import Site, opened_site


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Cloud and hospital with every kind of page, for one module."""
    with opened_site(tmp_path_factory.mktemp("site")) as site:
        yield site


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A headless Chromium, for one module."""
    with opened_browser() as browser:
        yield browser
