"""Key mode threshold on a real federation: 2048-bit keys in shares, real HTTP, journals and databases."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from hospital_agent.cloud import CloudClient
from hospital_agent.journal import JobStatus, Journal
from shared.wire.base import encode_base64url
from tests.integration.test_agent_crash import Crash, crash_once
from tests.integration.test_agent_jobs import THREE, files, pooled_sha256
from tests.support.clinic import SCHEMA
from tests.support.federation import LocalFederation, local_federation
from tests.support.threshold_keys import safe_primes

RULES: dict[str, Any] = {"max_depth": 2, "min_node": 10, "min_child": 5}


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalFederation]:
    folder = tmp_path_factory.mktemp("threshold")
    with local_federation(folder, THREE, bits=2048, threshold=3) as running:
        yield running


def partials(federation: LocalFederation, name: str, job: str) -> list[tuple[int, str, str]]:
    with Journal.open(federation.hospitals[name].folder) as journal:
        found = journal.sent(job)
    return [(message.round, message.sha256, message.state) for message in found if message.type == "partial"]


def test_every_hospital_ends_with_the_pooled_tree(federation: LocalFederation, tmp_path: Path) -> None:
    outcome = federation.run_job(SCHEMA, files(tmp_path), **RULES)
    assert outcome.statuses == {JobStatus.COMPLETE}
    assert {model.tree.sha256 for model in outcome.models.values()} == {pooled_sha256(**RULES)}
    shown = federation.cloud.people.get(f"/v1/jobs/{outcome.job}").json()
    assert (shown["key_mode"], shown["threshold"]) == ("threshold", 3)
    for name in THREE:
        rounds = [number for number, _, _ in partials(federation, name, outcome.job)]
        assert rounds == list(range(len(rounds)))
        assert len(rounds) == shown["round"] + 1


def test_a_crash_before_sending_sends_the_same_partial_decryption(
    federation: LocalFederation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """h3 dies once it has journalled its part of round 0, before it is sent; after its start the same bytes go out."""
    h3 = federation.hospitals["h3"]
    crashed = crash_once(monkeypatch, CloudClient, "post_message", at=3, before=True)
    job = federation.start_job(SCHEMA, files(tmp_path), **RULES)
    federation.until(crashed.is_set)
    federation.until(lambda: isinstance(h3.failure, Crash))
    monkeypatch.undo()
    ((number, sha256, state),) = partials(federation, "h3", job)
    assert (number, state) == (0, "pending")
    assert federation.cloud.people.get(f"/v1/jobs/{job}").json()["state"] == "OPENING"
    h3.failure = None
    h3.start()
    entries = federation.wait(job, THREE)
    assert {entry.status for entry in entries.values()} == {JobStatus.COMPLETE}
    assert partials(federation, "h3", job)[0][:2] == (0, sha256)
    assert {federation.hospitals[h].model(job).tree.sha256 for h in THREE} == {pooled_sha256(**RULES)}


def test_no_trace_of_the_factors_anywhere(federation: LocalFederation, tmp_path: Path) -> None:
    """Nothing that agents or the cloud keep, and nothing that travelled, holds p, q, p', q', m or d."""
    federation.run_job(SCHEMA, files(tmp_path), **RULES)
    p, q = safe_primes(2048)
    n, m = p * q, (p - 1) // 2 * ((q - 1) // 2)
    secrets = [p, q, (p - 1) // 2, (q - 1) // 2, m, m * pow(m, -1, n)]
    root = federation.cloud.folder.parent
    content = b"".join(path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file())
    assert f"{n:x}".encode() in content  # the control: what must be there is found in the same way
    for secret in secrets:
        raw = secret.to_bytes((secret.bit_length() + 7) // 8, "big")
        assert raw not in content
        assert f"{secret:x}".encode() not in content
        assert str(secret).encode() not in content
        assert encode_base64url(raw).encode() not in content


def test_a_job_that_asks_for_the_other_key_mode_is_refused(federation: LocalFederation) -> None:
    study = federation.cloud.people.get("/v1/studies").json()["studies"][0]["id"]
    answer = federation.cloud.people.post(f"/v1/studies/{study}/jobs", json={"key_mode": "shared"})
    assert answer.status_code == 422
    assert "key mode threshold, not shared" in answer.text


def test_the_cloud_keeps_no_contribution_once_all_have_decided(
    federation: LocalFederation, tmp_path: Path
) -> None:
    """Neither as it came nor as it was forwarded to the members."""
    job = federation.run_job(SCHEMA, files(tmp_path), **RULES).job
    with federation.cloud.services.database.read() as connection:
        kinds = set(connection.scalars(text("SELECT type FROM outbox WHERE job = :job"), {"job": job}))
        kept = connection.scalar(text("SELECT count(*) FROM contributions WHERE job = :job"), {"job": job})
        raws = connection.scalars(
            text("SELECT raw FROM messages_in WHERE job = :job AND type IN ('contribution', 'partial')"),
            {"job": job},
        ).all()
    assert {"round_open", "job_done"} <= kinds
    assert not {"aggregate", "partials"} & kinds
    assert kept == 0
    assert raws
    assert set(raws) == {None}


@pytest.mark.long
def test_the_demo_in_this_mode() -> None:
    """As a person types it: fresh safe primes, real programs, the tree of the pooled records."""
    words = [
        sys.executable,
        "-m",
        "privet",
        "demo",
        "--key-mode",
        "threshold",
        "--key-bits",
        "2048",
        "--json",
    ]
    done = subprocess.run(words, capture_output=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr.decode()
    document = json.loads(done.stdout)
    assert document["equal"]
    assert document["key_mode"] == "threshold"
    assert document["bytes"]["partial"] > 0


@pytest.mark.long
def test_a_smaller_threshold_on_postgresql(postgres_url: str, tmp_path: Path) -> None:
    """Three of four, on the other database; the fourth takes part like the others."""
    four = ("h1", "h2", "h3", "h4")
    with local_federation(tmp_path / "four", four, postgres_url, bits=2048, threshold=3) as running:
        outcome = running.run_job(SCHEMA, files(tmp_path, *four), timeout_seconds=300, **RULES)
        assert outcome.statuses == {JobStatus.COMPLETE}
        assert len({model.tree.sha256 for model in outcome.models.values()}) == 1
        stored = running.cloud.services.jobs.get(outcome.job)
        told = running.cloud.services.jobs.key_mode_words(stored)
        assert "3 of the 4 that hold a share" in told[0]
