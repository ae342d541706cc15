"""`/metrics` of a running cloud: exactly these names and labels, true figures, and for nobody but operators."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts

from cloud_service.api.metrics import inner_port
from cloud_service.service import backups
from cloud_service.service.meters import METHODS
from cloud_service.service.services import unix_time
from cloud_service.store.database import AuditUnavailableError
from shared.errors import ErrorCode, InputError
from shared.protocol.states import CloudState
from shared.wire.envelope import MessageType
from tests.support.clinic import SCHEMA, dealt
from tests.support.cloud_server import CloudUnderTest, running_cloud
from tests.support.http_hospital import hospitals_of, run_together
from tests.support.scraping import Scrape, read_scrape

ALLOWED = {
    "privet_requests": {"route", "method", "status"},
    "privet_request_seconds": {"route", "method"},
    "privet_refusals": {"code"},
    "privet_messages": {"type", "code"},
    "privet_job_state_seconds": {"state"},
    "privet_sum_cpu_seconds": set(),
    "privet_relay_frames": set(),
    "privet_relay_bytes": set(),
    "privet_database_read_seconds": set(),
    "privet_database_write_seconds": set(),
    "privet_worker_runs": {"worker"},
    "privet_worker_failures": {"worker"},
    "privet_worker_seconds": {"worker"},
    "privet_long_polls": set(),
    "privet_leases": set(),
    "privet_database_connections_used": set(),
    "privet_database_connections_limit": set(),
    "privet_database_up": set(),
    "privet_jobs": {"state"},
    "privet_outbox_messages": set(),
    "privet_certificate_days_left": set(),
    "privet_tls_certificate_days_left": set(),
    "privet_backup_age_seconds": set(),
}
"""Every metric that a cloud may show, and the labels it may have. A new one is added here on purpose, or not at all."""
WORKERS = {
    "sums",
    "drafts",
    "relay",
    "leases",
    "hints told",
    "hints heard",
    "certificates",
    "retention",
    "keys",
    "housekeeping",
}


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CloudUnderTest]:
    with running_cloud(tmp_path_factory.mktemp("cloud")) as running:
        yield running


def _scrape(cloud: CloudUnderTest) -> Scrape:
    answer = cloud.people.get("/metrics")
    assert answer.status_code == 200, answer.text
    return read_scrape(answer.text)


def test_only_the_allowed_names_and_labels_are_shown(cloud: CloudUnderTest) -> None:
    seen = _scrape(cloud)
    assert seen.labels.keys() <= ALLOWED.keys()
    assert ALLOWED.keys() - seen.labels.keys() == {
        "privet_tls_certificate_days_left",  # this cloud speaks no TLS
        "privet_backup_age_seconds",  # and has no backup yet
    }
    assert all(seen.labels[name] <= ALLOWED[name] for name in seen.labels), seen.labels


def test_a_job_is_counted_without_a_name(cloud: CloudUnderTest) -> None:
    study = cloud.study(SCHEMA, name="heart-study-x9")
    with hospitals_of(cloud, dealt("h1", "h2", "h3")) as hospitals:
        job = cloud.job(study)
        run_together(hospitals)
    seen = _scrape(cloud)
    assert seen.value("privet_jobs", state="DONE") == 1
    assert seen.value("privet_messages_total", type="contribution", code="accepted") >= 3
    assert seen.value("privet_sum_cpu_seconds_total") > 0
    assert seen.value("privet_job_state_seconds_count", state="COLLECTING") >= 1
    assert seen.value("privet_requests_total", route="/v1/messages", method="POST", status="2xx") >= 3
    assert seen.value("privet_database_write_seconds_count") > 0
    assert seen.value("privet_outbox_messages") > 0
    assert seen.value("privet_worker_runs_total", worker="sums") >= 1
    assert 0 < seen.value("privet_certificate_days_left") < 5000
    assert seen.value("privet_database_connections_limit") >= 5
    text = cloud.people.get("/metrics").text
    assert not [word for word in (job, study, "h1", "diagnosis", "nephritis") if word in text]


def templates_of(app: FastAPI) -> set[str]:
    """The templates of all addresses, those that the description leaves out among them (`/docs`, pages, assets)."""
    return {context.path for context in iter_route_contexts(app.routes) if context.path}


def test_labels_take_words_of_closed_lists_only(cloud: CloudUnderTest) -> None:
    with httpx2.Client(base_url=cloud.base_url, trust_env=False) as stranger:
        for method in ("GET", "BREW"):
            stranger.request(method, "/v1/jobs/my-secret-name/nothing-here")
        for hidden in ("/docs", "/openapi.json", "/sign-in", "/assets/privet.css"):
            stranger.get(hidden)
        stranger.post("/v1/messages", content=b"{}", headers={"content-type": "application/json"})
    seen = _scrape(cloud)
    routes = {*templates_of(cloud.app), "unknown"}
    for (sample, pairs), _ in seen.values.items():
        for label, value in pairs:
            allowed = {
                "route": routes,
                "method": {*METHODS, "other"},
                "status": {"1xx", "2xx", "3xx", "4xx", "5xx"},
                "state": set(CloudState),
                "type": set(MessageType),
                "worker": WORKERS,
            }.get(label)
            if label == "code":
                assert re.fullmatch(r"[a-z_]+", value)
            elif label != "le":
                assert allowed is not None, (sample, label)
                assert value in allowed, (sample, label, value)
    assert seen.value("privet_refusals_total", code=ErrorCode.MALFORMED.value) >= 1
    assert seen.value("privet_requests_total", route="unknown", method="other", status="4xx") >= 1


def test_the_newest_backup_is_told_once_there_is_one(cloud: CloudUnderTest, tmp_path: Path) -> None:
    backups.take(cloud.services.database, tmp_path / "backup", unix_time() - 100)
    assert 100 <= _scrape(cloud).value("privet_backup_age_seconds") < 1000


def test_a_database_that_cannot_be_read_is_told_and_the_rest_stays(
    cloud: CloudUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    vitals = cloud.app.state.vitals
    assert read_scrape(vitals.page().decode()).value("privet_database_up") == 1

    def refuse() -> None:
        raise AuditUnavailableError

    monkeypatch.setattr(cloud.services.database, "read", refuse)
    seen = read_scrape(vitals.page().decode())
    assert seen.value("privet_database_up") == 0
    assert "privet_jobs" not in seen.labels
    assert "privet_requests" in seen.labels


def test_an_inner_port_serves_figures_alone_and_only_where_it_is_set(cloud: CloudUnderTest) -> None:
    page = cloud.app.state.vitals.page
    with inner_port(cloud.settings, page) as port:
        assert port is None
    with inner_port(cloud.settings.model_copy(update={"metrics_port": 0}), page) as port:
        url = f"http://127.0.0.1:{port}"
        answer = httpx2.get(f"{url}/metrics", trust_env=False)
        assert answer.status_code == 200
        assert read_scrape(answer.text).labels.keys() <= ALLOWED.keys()
        assert httpx2.get(f"{url}/v1/jobs", trust_env=False).status_code == 404
        taken = cloud.settings.model_copy(update={"metrics_port": port})
        with pytest.raises(InputError, match="metrics_port") as refused, inner_port(taken, page):
            pass
        assert refused.value.number == "C017"


def test_a_socket_is_not_left_listening(cloud: CloudUnderTest) -> None:
    page = cloud.app.state.vitals.page
    with inner_port(cloud.settings.model_copy(update={"metrics_port": 0}), page) as port:
        assert port is not None
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0
