"""Jobs with differential privacy on a real federation: the same tree everywhere, budgets kept, bytes sent once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from hospital_agent.cloud import CloudClient
from hospital_agent.daemon import budget
from hospital_agent.journal import JobStatus, Journal
from hospital_agent.journal.budget import Ledger, Spending, total
from privet.__main__ import run
from shared.secure_tree.privacy import epsilon_of
from tests.integration.test_agent_crash import Crash, contributions, crash_once
from tests.integration.test_agent_jobs import THREE, agent, answers, files, pooled_sha256
from tests.support.clinic import ROWS, SCHEMA
from tests.support.federation import OPEN_POLICY, LocalFederation, local_federation

WIDE = OPEN_POLICY + "max_epsilon = 1000\n"
NOISE = {"sigma": "12.5"}


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalFederation]:
    with local_federation(tmp_path_factory.mktemp("noise"), THREE, policy=WIDE) as running:
        yield running


def ledger(federation: LocalFederation, name: str, job: str) -> list[Spending]:
    with Journal.open(federation.hospitals[name].folder) as journal:
        return [line for line in Ledger(journal.connection).lines() if line.job == job]


def test_all_hospitals_grow_one_tree_on_the_same_noisy_sums(
    federation: LocalFederation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules: dict[str, Any] = {"max_depth": 2, "min_node": 10, "min_child": 5}
    outcome = federation.run_job(SCHEMA, files(tmp_path), noise=NOISE, **rules)
    assert outcome.statuses == {JobStatus.COMPLETE}
    forms = [model.tree.to_json(with_counts=True) for model in outcome.models.values()]
    assert forms == forms[:1] * 3
    plain = federation.run_job(SCHEMA, files(tmp_path), **rules)
    assert {model.tree.sha256 for model in plain.models.values()} == {pooled_sha256(**rules)}
    exact = plain.models["h1"].tree.root.counts
    noisy = outcome.models["h1"].tree.root.counts
    assert exact is not None
    assert noisy is not None
    assert sum(exact) == 120
    assert exact != noisy  # in all four cells alike: a chance of about one in a million
    assert all(abs(a - b) < 200 for a, b in zip(exact, noisy, strict=True))

    shown = federation.cloud.people.get(f"/v1/jobs/{outcome.job}").json()["noise"]
    assert shown["sigma_squared"] == 157  # 12.5 squared, rounded up
    for name in THREE:
        lines = ledger(federation, name, outcome.job)
        assert [(line.round, line.attempt, line.cells) for line in lines] == [
            (number, 0, 5 - number) for number in range(len(lines))
        ]
        assert len(lines) == len(contributions(federation, name, outcome.job))
        told = agent(capsys, "budget", federation.hospitals[name].folder)
        (mine,) = told["records"]
        assert mine["is_current"]
        assert mine["epsilon"] == str(epsilon_of(total(lines), Decimal("0.000001")))
        assert Decimal(mine["epsilon"]) <= Decimal(shown["epsilon_at_most"])
        assert [job["job"] for job in mine["jobs"]] == [outcome.job]
        assert mine["jobs_without_noise"] == [plain.job]


def test_an_offer_that_does_not_fit_the_budget_is_declined(
    federation: LocalFederation, tmp_path: Path
) -> None:
    """h2 has a small budget: the first job fits, the second would go beyond it. Its code alone reaches the cloud."""
    h2 = federation.hospitals["h2"]
    h2.allow(OPEN_POLICY + "max_epsilon = 0.75\n")
    plan: dict[str, Any] = {"noise": {"sigma": "30"}, "max_depth": 2, "min_hospitals": 3}
    assert federation.run_job(SCHEMA, files(tmp_path), **plan).statuses == {JobStatus.COMPLETE}
    job = federation.start_job(SCHEMA, files(tmp_path), **plan)
    entries = federation.wait(job, THREE)
    assert entries["h2"].status is JobStatus.DECLINED
    assert "epsilon 0.75 at delta 0.000001" in str(entries["h2"].reason)
    assert answers(federation, job)["h2"] == "budget_exhausted"
    assert ledger(federation, "h2", job) == []

    h2.allow(OPEN_POLICY + 'max_epsilon = 0.75\nbudget_for = "all"\n')
    (tmp_path / "new").mkdir()
    job = federation.start_job(SCHEMA, files(tmp_path / "new"), **plan)
    assert federation.wait(job, THREE)["h2"].code == "budget_exhausted"
    h2.allow(OPEN_POLICY + "max_epsilon = 0.75\n")
    assert federation.run_job(SCHEMA, files(tmp_path / "new"), **plan).statuses == {JobStatus.COMPLETE}
    h2.allow(WIDE)


def test_a_budget_that_is_spent_in_the_middle_ends_the_job_before_anything_is_sent(
    federation: LocalFederation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    h3, real = federation.hospitals["h3"], budget.spend_round

    def spend(*arguments: Any) -> None:
        real(*arguments)
        if threading.current_thread().name == "h3":
            h3.allow(OPEN_POLICY + "max_epsilon = 0.1\n")

    monkeypatch.setattr(budget, "spend_round", spend)
    outcome = federation.run_job(SCHEMA, files(tmp_path), noise=NOISE)
    assert {entry.code for entry in outcome.entries.values()} == {"budget_exhausted"}
    assert list(contributions(federation, "h3", outcome.job)) == [(0, 0)]
    assert [line.round for line in ledger(federation, "h3", outcome.job)] == [0]
    h3.allow(WIDE)


def test_a_policy_may_insist_on_noise_and_an_agent_without_the_library_declines(
    federation: LocalFederation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    federation.hospitals["h1"].allow(WIDE + "require_noise = true\n")
    job = federation.start_job(SCHEMA, files(tmp_path))
    assert "require_noise" in str(federation.wait(job, THREE)["h1"].reason)
    monkeypatch.setattr(budget, "is_installed", lambda: False)
    job = federation.start_job(SCHEMA, files(tmp_path), noise=NOISE)
    entries = federation.wait(job, THREE)
    assert {entry.status for entry in entries.values()} == {JobStatus.DECLINED}
    assert "privet[dp]" in str(entries["h1"].reason)
    federation.hospitals["h1"].allow(WIDE)


def test_a_person_reads_what_noise_means_before_approving(
    federation: LocalFederation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    h1 = federation.hospitals["h1"]
    h1.allow(WIDE.replace("automatic", "ask"))
    job = federation.start_job(SCHEMA, files(tmp_path), noise={"sigma": "20"}, max_depth=5)
    federation.until(lambda: h1.entry(job) is not None)
    (offer,) = agent(capsys, "offers", h1.folder)["offers"]
    assert offer["noise"]["epsilon_at_most"] == "1.201"
    assert run(["agent", "offers", str(h1.folder)]) == 0
    assert "Every summed count carries noise of standard deviation 20" in capsys.readouterr().out
    assert agent(capsys, "decline", h1.folder, job)["answer"] == "declined"
    federation.wait(job, THREE)
    h1.allow(WIDE)


@pytest.mark.parametrize(
    ("owner", "name", "at", "before"),
    [
        (Journal, "queue", 2, True),
        (Journal, "queue", 2, False),
        pytest.param(CloudClient, "post_message", 2, True, marks=pytest.mark.long),
        (CloudClient, "post_message", 2, False),
        pytest.param(Journal, "queue", 4, False, marks=pytest.mark.long),
    ],
)
def test_noise_is_never_drawn_anew_for_what_was_sent(
    federation: LocalFederation,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    owner: type,
    name: str,
    at: int,
    before: bool,
) -> None:
    """A crash around a contribution: what had been journalled goes out as it was, and each round is paid for once."""
    victim = federation.hospitals["h3"]
    crashed = crash_once(monkeypatch, owner, name, at=at, before=before)
    job = federation.start_job(SCHEMA, files(tmp_path), noise=NOISE)
    federation.until(crashed.is_set)
    federation.until(lambda: isinstance(victim.failure, Crash))
    monkeypatch.undo()
    sent, paid = contributions(federation, "h3", job), ledger(federation, "h3", job)
    assert sorted(sent) == [(line.round, line.attempt) for line in paid]
    victim.failure = None
    victim.start()
    assert {entry.status for entry in federation.wait(job, THREE).values()} == {JobStatus.COMPLETE}
    again = contributions(federation, "h3", job)
    assert {key: again[key] for key in sent} == sent
    lines = ledger(federation, "h3", job)
    assert [(line.round, line.attempt) for line in lines] == sorted(again)
    assert lines[: len(paid)] == paid
    assert len({federation.hospitals[h].model(job).tree.sha256 for h in THREE}) == 1


@pytest.mark.long
def test_noisy_sums_are_opened_together_as_well(tmp_path: Path) -> None:
    """Key mode threshold: no hospital holds the key, and the noise is in what they open."""
    with local_federation(tmp_path / "federation", THREE, bits=2048, threshold=3, policy=WIDE) as running:
        outcome = running.run_job(SCHEMA, files(tmp_path), noise=NOISE, max_depth=3, timeout_seconds=240)
    assert outcome.statuses == {JobStatus.COMPLETE}
    forms = [model.tree.to_json(with_counts=True) for model in outcome.models.values()]
    assert forms == forms[:1] * 3
    exact = tuple(sum(row[-1] == label for row in ROWS) for label in range(4))
    assert outcome.models["h1"].tree.root.counts != exact
