"""Lists read a page, however many studies and jobs there are: in statements, in rows, and in time."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from shared.protocol.states import CloudState
from tests.integration.test_new_study_pages import text_of
from tests.support.browsing import Browser, with_session
from tests.support.clinic import SCHEMA
from tests.support.cloud_server import CloudUnderTest, running_cloud
from tests.support.many_rows import fill

PAGES = (
    "/",
    "/overview/live",
    "/studies",
    "/studies?shown=open&page=2",
    "/studies?shown=unanswered",
    "/studies?search=question+7",
    "/studies/copy-00001",
    "/jobs",
    "/jobs?state=FAILED",
    "/jobs?study=copy-00001",
    "/hospitals",
    "/people",
    "/audit",
)
NAMES = ("h1", "h2", "h3")
EVERY_ROLE = ["analyst", "auditor", "coordinator", "operator"]
MOST_ROWS = 700
"""A page of 100 lines, 50 jobs with three members each, and what stands around them."""


@dataclass
class Reading:
    """What a page asked of SQLite."""

    statements: int = 0
    rows: int = 0


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[CloudUnderTest]:
    with running_cloud(tmp_path / "cloud", hospitals=NAMES, bits=512) as running:
        running.study(SCHEMA)
        yield running


def _is_request() -> bool:
    """Whether this thread answers somebody; the others do the cloud's own work."""
    return threading.current_thread().name.startswith("AnyIO")


@contextmanager
def _watched(cloud: CloudUnderTest) -> Iterator[Reading]:
    """Count statements, and rows as the driver hands them out."""
    engine, told = cloud.services.database.engine, Reading()

    def row(_cursor: object, values: tuple[Any, ...]) -> tuple[Any, ...]:
        told.rows += _is_request()
        return values

    def checked_out(connection: Any, *_: object) -> None:
        connection.row_factory = row

    def checked_in(connection: Any, *_: object) -> None:
        if connection is not None:
            connection.row_factory = None

    def executed(*_: object) -> None:
        told.statements += _is_request()

    listeners = (
        (engine, "checkout", checked_out),
        (engine, "checkin", checked_in),
        (engine, "after_cursor_execute", executed),
    )
    for listener in listeners:
        event.listen(*listener)
    try:
        yield told
    finally:
        for listener in listeners:
            event.remove(*listener)


def _read(cloud: CloudUnderTest, browser: Browser) -> dict[str, Reading]:
    found = {}
    for path in PAGES:
        browser.get(path)  # what is kept in memory is there
        with _watched(cloud) as told:
            assert browser.get(path).status_code == 200, path
        found[path] = told
    return found


def test_a_list_reads_as_much_of_many_as_of_a_page(cloud: CloudUnderTest) -> None:
    job, browser = cloud.job(), with_session(cloud, "all", EVERY_ROLE, None)
    fill(cloud, study="study", job=job, studies=220, jobs=220)
    few = _read(cloud, browser)
    fill(cloud, study="study", job=job, studies=220, jobs=800, start=220)
    many = _read(cloud, browser)
    for path in PAGES:
        # A session's last use is noted now and then, which is two or three statements.
        assert many[path].statements <= few[path].statements + 3, (path, few[path], many[path])
        assert 0 < many[path].rows <= MOST_ROWS, (path, many[path])
    assert sum(told.rows for told in many.values()) <= 1.2 * sum(told.rows for told in few.values())
    _counts_are_those_of_all(cloud, browser)


def _counts_are_those_of_all(cloud: CloudUnderTest, browser: Browser) -> None:
    """The figures of the first page against what the whole lists say."""
    views, now = cloud.services.studies.all(), cloud.services.studies.clock()
    still_open = sum(
        view.closed is None and (view.document is None or view.document.expires >= now) for view in views
    )
    told = text_of(browser.get("/studies?shown=open").text)
    assert f"{still_open} studies in all" in told
    assert f"{still_open} Studies without all answers" in text_of(browser.get("/").text)
    living = cloud.services.jobs.page(study=None, state=CloudState.INVITING, before=None, limit=10_000)
    waiting = sum(bool(stored.job.waiting_for) for stored in living)
    assert f"{waiting} Jobs that wait for a hospital" in text_of(browser.get("/").text)
    assert f"{len(living) - waiting} Jobs at work" in text_of(browser.get("/").text)
    ids = [name for page in (1, 2) for name in _names(browser, f"/studies?shown=open&page={page}")]
    assert len(set(ids)) == len(ids) == 200


def _names(browser: Browser, path: str) -> list[str]:
    return re.findall(r'<th scope="row" class="wide"><a href="/studies/([a-z0-9-]+)"', browser.get(path).text)


@pytest.mark.long
@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
def test_pages_over_ten_thousand_jobs(
    tmp_path: Path, engine: str, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    """Prints milliseconds of this process's processors a page; of SQLite the database's are among them."""
    url = "" if engine == "sqlite" else request.getfixturevalue("postgres_url")
    with running_cloud(tmp_path / "cloud", url, hospitals=NAMES, bits=512) as cloud:
        cloud.study(SCHEMA)
        job, browser = cloud.job(), with_session(cloud, "all", EVERY_ROLE, None)
        fill(cloud, study="study", job=job, studies=5_000, jobs=10_000)
        for path in PAGES:
            spent, size = [], 0
            for _ in range(4):
                began, clock = time.process_time(), time.perf_counter()
                page = browser.get(path)
                spent.append((time.process_time() - began, time.perf_counter() - clock))
                assert page.status_code == 200
                size = len(page.content)
            cpu, wall = (1000 * min(one[place] for one in spent) for place in (0, 1))
            with capsys.disabled():
                print(f"{engine:10} {path:30} {cpu:6.0f} ms CPU {wall:6.0f} ms {size / 1000:6.0f} kB")
