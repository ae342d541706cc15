"""One job of real programs, as its operators see it: logs, traces, and an agent's figures."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from cloud_service.service.logs import ALLOWED as OF_THE_CLOUD
from hospital_agent.daemon.progress import ALLOWED as OF_AN_AGENT
from shared.protocol.tracing import ATTRIBUTES, SPANS
from tests.support.clinic import CLASSES, NAMES, SCHEMA
from tests.support.collector import Span, running_collector
from tests.support.programs import HOSPITALS, Founded, RealFederation, free_port, real_federation
from tests.support.scraping import Scrape, read_scrape
from tests.support.weighted_clinic import write_files

FIGURES = {
    "privet_agent_requests": {"type", "status"},
    "privet_agent_request_seconds": set(),
    "privet_agent_retries": set(),
    "privet_agent_predictions": {"status"},
    "privet_agent_drift_models": {"state"},
    "privet_agent_jobs": {"state"},
    "privet_agent_queued_messages": set(),
    "privet_agent_contact_age_seconds": set(),
    "privet_agent_journal_bytes": set(),
    "privet_agent_disk_free_bytes": set(),
    "privet_agent_certificate_days_left": set(),
}
"""Every metric that an agent may show, and its labels. A new one is added here on purpose, or not at all."""
TOKEN = "t" * 40
pytestmark = pytest.mark.long


@dataclass(frozen=True)
class Seen:
    """What one job left. `logs`: lines by program, as they were written."""

    job: str
    logs: dict[str, list[str]]
    spans: list[Span]
    resources: set[str]
    scrape: Scrape
    scrape_text: str
    without_token: int


def _settings(path: Path, port: int, collector: str) -> None:
    """Local API with a token, and traces; before the sections that the federation wrote."""
    lines = path.read_text().replace("[local]\nserve = false", f'[local]\nport = {port}\ntoken = "{TOKEN}"')
    path.write_text(f'{lines}\n[telemetry]\nendpoint = "{collector}"\n')


def _start(federation: RealFederation, names: list[str]) -> str:
    federation._wait_for_hospitals()
    with federation.people() as people:
        body = {"id": "study", "question": "is it seen?", "schema": dict(SCHEMA), "synthetic": True}
        assert people.post("/v1/studies", json=body).status_code == 201
        rules = {"min_node": 1, "min_child": 1, "max_depth": None, "invited": names, "max_shrinks": 0}
        return str(people.post("/v1/studies/study/jobs", json=rules).json()["id"])


@pytest.fixture(scope="module")
def seen(founded_federation: Founded, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    folder = tmp_path_factory.mktemp("seeing")
    files = write_files(folder, HOSPITALS)
    with running_collector() as collector:
        with real_federation(founded_federation, folder) as federation:
            federation.cloud.stop()
            settings = federation.cloud_folder / "cloud.toml"
            settings.write_text(f'{settings.read_text()}\n[telemetry]\nendpoint = "{collector.url}"\n')
            federation.cloud.start()
            federation.wait_for_cloud()
            federation._configure_all(files)
            port = free_port()
            _settings(federation.folder / "h1" / "agent.toml", port, collector.url)
            for agent in federation.agents.values():
                agent.start()
            job = _start(federation, sorted(files))
            federation.wait_until_done(job)
            with httpx2.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False) as local:
                without = local.get("/metrics").status_code
                local.headers["authorization"] = f"Bearer {TOKEN}"
                local.post("/predict", json={"record": {"nausea": "1"}})
                text = local.get("/metrics").text
        logs = {program.name: program.log.read_text().splitlines() for program in federation.programs}
    return Seen(job, logs, collector.spans, collector.resources, read_scrape(text), text, without)


def _lines(seen: Seen, program: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in seen.logs[program]]


def test_every_line_is_json_of_allowed_members(seen: Seen) -> None:
    for name in ("cloud", *HOSPITALS):
        lines = _lines(seen, name)
        assert len(lines) > 5, name
        members = {member for line in lines for member in line}
        assert members <= (OF_THE_CLOUD if name == "cloud" else OF_AN_AGENT), name
        assert all({"event", "level", "timestamp"} <= line.keys() for line in lines)


def test_lines_of_a_request_name_it_at_both_ends(seen: Seen) -> None:
    there = {line["request"]: line for line in _lines(seen, "cloud") if line["event"] == "request"}
    assert len(there) == sum(line["event"] == "request" for line in _lines(seen, "cloud")), "each has its own"
    found = defaultdict(set)
    for name in HOSPITALS:
        for line in _lines(seen, name):
            if line["event"] == "request" and line.get("status"):
                assert there[line["request"]]["status"] == line["status"]
                found[line["type"]].add(there[line["request"]].get("job"))
    assert found["contribution"] == found["decision"] == {seen.job}
    assert {"registration", "federation"} <= found.keys()


def test_what_follows_from_a_request_names_it_too(seen: Seen) -> None:
    told = [line for line in _lines(seen, "h1") if line["event"].startswith("round 1: counted")]
    assert told
    polls = {line["request"]: line for line in _lines(seen, "cloud") if line.get("route") == "/v1/inbox"}
    assert all(polls[line["request"]]["agent"] == "h1" for line in told)


def test_the_clouds_line_of_a_message_names_job_round_and_type(seen: Seen) -> None:
    posts = [line for line in _lines(seen, "cloud") if line.get("route") == "/v1/messages"]
    assert all({"job", "round", "type", "agent", "status"} <= line.keys() for line in posts)
    assert {line["type"] for line in posts} >= {"job_accept", "contribution", "decision", "attest"}
    assert {line["job"] for line in posts} == {seen.job}


def test_no_log_and_no_figure_holds_data(seen: Seen) -> None:
    words = [*CLASSES, *NAMES]
    for text in (*("\n".join(lines) for lines in seen.logs.values()), seen.scrape_text):
        assert not [word for word in words if re.search(rf"\b{re.escape(word)}\b", text) and word != "none"]
    assert seen.job not in seen.scrape_text


def test_spans_name_work_and_nothing_else(seen: Seen) -> None:
    assert {span.service for span in seen.spans} == {"privet-cloud", "privet-agent"}
    assert seen.resources == {"service.name"}
    assert {span.name for span in seen.spans} == SPANS
    for span in seen.spans:
        assert span.attributes.keys() <= ATTRIBUTES
        assert (span.events, span.status) == (0, "")
        values = " ".join(map(str, span.attributes.values()))
        assert seen.job not in values
        assert "?" not in values
        assert not re.search(r"\bh[1-3]\b", values)


def test_a_trace_goes_on_from_the_agent_to_the_cloud(seen: Seen) -> None:
    by_id = {span.id: span for span in seen.spans}
    steps = [span for span in seen.spans if span.name == "message step" and span.parent in by_id]
    chains = []
    for step in steps:
        request = by_id[step.parent]
        asked = by_id.get(request.parent)
        if asked is not None:
            assert request.name == "request"
            assert asked.service == "privet-agent"
            assert asked.attributes["privet.type"] == step.attributes["privet.type"]
            assert step.trace == request.trace == asked.trace == by_id[asked.parent].trace
            assert by_id[asked.parent].name == "agent turn"
            chains.append(step)
    assert {step.attributes["privet.type"] for step in chains} >= {"contribution", "decision"}


def test_an_agent_shows_its_figures_to_its_own_people(seen: Seen) -> None:
    assert seen.without_token == 401
    scrape = seen.scrape
    assert {name: set(labels) for name, labels in scrape.labels.items()} == FIGURES
    assert scrape.value("privet_agent_jobs", state="complete") == 1
    assert scrape.value("privet_agent_requests_total", type="contribution", status="2xx") >= 1
    assert scrape.value("privet_agent_predictions_total", status="2xx") == 1
    assert scrape.value("privet_agent_queued_messages") == 0
    assert scrape.value("privet_agent_contact_age_seconds") < 100
    assert scrape.value("privet_agent_journal_bytes") > 4096
    assert scrape.value("privet_agent_disk_free_bytes") > 2**20
    assert scrape.value("privet_agent_certificate_days_left") > 1
