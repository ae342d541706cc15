"""A tree that stays shared, tried on a hospital's page: the form, the job that answers, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hospital_agent.journal import JobStatus
from shared.tree.prediction import predict
from shared.tree.schema import Schema
from tests.support import measured_clinic
from tests.support.federation import LocalFederation, local_federation
from tests.support.house import Browser, serving_pages
from tests.support.measured_clinic import NAMES

pytestmark = pytest.mark.long
THREE = ("h1", "h2", "h3")
SECRET = {"compute_parties": list(THREE), "result": "shared"}
ROW = measured_clinic.records(1, seed=7)[0]
FIELDS = {f"a{number}": value for number, value in enumerate(ROW[:-1])}


@dataclass
class Shared:
    """The pages of a hospital over a tree that nobody holds."""

    federation: LocalFederation
    browser: Browser
    folder: Path
    model: str

    @property
    def form(self) -> str:
        return f"/house/models/{self.model}/try"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    root = tmp_path_factory.mktemp("shared")
    with local_federation(root, THREE, agents_may_ask=True) as federation:
        made = measured_clinic.files(
            root / "measured", measured_clinic.dealt(measured_clinic.records(60), THREE)
        )
        asking = {"questions_per_day": 1, "questions": 2, "records_per_day": 6, "records": 12}
        rules: dict[str, Any] = {"mode": "gain-ratio", "max_depth": 2, "secret": SECRET, "asking": asking}
        outcome = federation.run_job(measured_clinic.SCHEMA, made, **rules)
        assert outcome.statuses == {JobStatus.COMPLETE}
        folder = federation.hospitals["h2"].folder
        with serving_pages(folder) as url, Browser(url) as browser:
            yield Shared(federation, browser, folder, outcome.job)


def test_what_the_tree_has_no_branch_for_is_said_before_anything_leaves(shared: Shared) -> None:
    assert f'href="{shared.form}"' in shared.browser.get("/house/models")
    assert f'href="{shared.form}"' in shared.browser.get(f"/house/models/{shared.model}")
    assert "stays shared among three hospitals" in shared.browser.get(shared.form)
    told = shared.browser.post(shared.form, shared.form, 422, **{**FIELDS, "a0": ""}).text
    assert "has no answer without one" in told
    assert not (shared.folder / "questions").exists()


def test_a_patient_is_answered_by_a_job_whose_progress_shows(shared: Shared) -> None:
    answer = shared.browser.post(shared.form, shared.form, **FIELDS)
    place = answer.headers["location"]
    assert re.fullmatch(r"/house/asked/[0-9a-f]{32}", place)
    running = shared.browser.get(place)
    assert "The hospitals work on it" in running
    again = re.search(r'hx-get="(/house/asked/[^"]+)"', running)
    assert again is not None
    shared.federation.until(lambda: "answer-heading" in shared.browser.get(place))
    pooled = [
        row for part in measured_clinic.dealt(measured_clinic.records(60), THREE).values() for row in part
    ]
    tree, schema = measured_clinic.pooled_tree(pooled, height=2), Schema.from_json(measured_clinic.SCHEMA)
    expected = predict(tree, schema, dict(zip(NAMES, ROW, strict=False)), "class").label
    shown = re.search(r'id="answer-heading">.*?<strong>(.*?)</strong>', shared.browser.get(place))
    assert shown is not None
    assert shown[1] == expected
    assert "Nobody knows the way" in shared.browser.get(place)
    assert shared.browser.http.get(again[1]).status_code == 200


def test_what_the_study_does_not_allow_is_said_with_what_to_do(shared: Shared) -> None:
    told = shared.browser.post(shared.form, shared.form, 409, **FIELDS).text
    assert "within 24 hours" in told
    assert told.count("<h1>") == 1
    assert "no such question" in shared.browser.get(f"/house/asked/{'0' * 32}", 404)
