"""An agent's figures: exactly these names and labels, under the guards of the local API, and what they count."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from hospital_agent.cloud import Exchange
from hospital_agent.journal import JobEntry, JobStatus, Journal
from hospital_agent.local_api import Library, create_app
from hospital_agent.metrics import Figures, add_metrics
from hospital_agent.models import Shelf
from shared.crypto import certificates
from shared.crypto.certificates import Certificate
from tests.integration.test_seeing import FIGURES
from tests.support.models import parties
from tests.support.scraping import read_scrape

MEMBERS = parties()
TOKEN = "t" * 32


def certificate() -> Certificate:
    return certificates.read(MEMBERS.certificates["h1"])


@pytest.fixture
def figures(tmp_path: Path) -> Figures:
    return Figures(tmp_path, certificate, clock=lambda: 1_800_000_000.0)


def test_every_name_and_label_is_on_the_list(figures: Figures) -> None:
    figures.count(Exchange("poll", "ab" * 8, 200, 25.0))
    figures.count(Exchange("contribution", "ab" * 8, 503, 0.5))
    figures.count(Exchange("contribution", "ab" * 8, None, 0.5))
    figures.count(Exchange("contribution", "ab" * 8, 200, 0.5))
    figures.count_prediction(200)
    seen = read_scrape(figures.page().decode())
    assert {name: set(labels) for name, labels in seen.labels.items()} == FIGURES
    assert seen.value("privet_agent_retries_total") == 2
    assert seen.value("privet_agent_requests_total", type="contribution", status="none") == 1
    assert seen.value("privet_agent_request_seconds_count") == 3, "a poll's wait would hide the rest"
    assert seen.value("privet_agent_contact_age_seconds") == 0


def test_jobs_are_counted_by_status(figures: Figures, tmp_path: Path) -> None:
    with Journal.open(tmp_path) as journal, journal.transaction():
        for number, status in enumerate([JobStatus.ACTIVE, JobStatus.FAILED, JobStatus.FAILED]):
            journal.put_job(JobEntry(f"{number:032x}", "00" * 32, "study", "question", b"offer", status))
    seen = read_scrape(figures.page().decode())
    counted = {status: seen.value("privet_agent_jobs", state=status.value) for status in JobStatus}
    assert counted == {**dict.fromkeys(JobStatus, 0), JobStatus.ACTIVE: 1, JobStatus.FAILED: 2}


def test_before_the_first_contact_and_certificate_nothing_is_made_up(tmp_path: Path) -> None:
    seen = read_scrape(Figures(tmp_path, lambda: None).page().decode())
    assert FIGURES.keys() - seen.labels.keys() == {
        "privet_agent_contact_age_seconds",
        "privet_agent_certificate_days_left",
    }


def test_the_local_api_guards_them(figures: Figures, tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, MEMBERS.identities["h1"].public, MEMBERS.root)
    app = create_app(Library(shelf), dict, TOKEN)
    add_metrics(app, figures)
    with TestClient(app, base_url="http://127.0.0.1:8711") as client:
        assert client.get("/metrics").status_code == 401
        assert client.post("/predict", json={}).status_code == 401
        answer = client.get("/metrics", headers={"authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 200
    assert read_scrape(answer.text).value("privet_agent_predictions_total", status="4xx") == 1
