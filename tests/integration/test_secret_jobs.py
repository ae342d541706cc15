"""Secret jobs by real agents and a real cloud: modes id3 and gain-ratio, both transports, and every way to decline."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from hospital_agent.daemon import computing_desk, secret_work
from hospital_agent.journal import JobStatus, Journal
from hospital_agent.links.meeting import listen
from shared.errors import InputError
from shared.protocol.participation import SecretResult
from shared.tree.merging import merged
from shared.tree.prediction import predict
from shared.tree.pruning import Pruning
from shared.tree.schema import Schema
from tests.integration.test_agent_jobs import answers, files, pooled_sha256, pooled_tree
from tests.support import measured_clinic
from tests.support.clinic import SCHEMA
from tests.support.federation import OPEN_POLICY, JobOutcome, LocalFederation, local_federation

HOSPITALS = ("h1", "h2", "h3", "h4", "h5")
THREE = HOSPITALS[:3]
SECRET = {"compute_parties": ["h2", "h3", "h1"]}


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalFederation]:
    with local_federation(tmp_path_factory.mktemp("federation"), HOSPITALS) as running:
        yield running


@pytest.fixture(autouse=True)
def _open_policies(federation: LocalFederation) -> None:
    for hospital in federation.hospitals.values():
        hospital.allow(OPEN_POLICY)
        hospital.compute = {}


def gain_ratio(
    federation: LocalFederation, folder: Path, hospitals: tuple[str, ...] = THREE, **plan: Any
) -> JobOutcome:
    """A job of mode gain-ratio over the measured clinic."""
    parts = measured_clinic.dealt(measured_clinic.records(150), hospitals)
    made = measured_clinic.files(folder / "measured", parts)
    rules = {"mode": "gain-ratio", "max_depth": 3, "secret": SECRET}
    return federation.run_job(measured_clinic.SCHEMA, made, **{**rules, **plan})


def pooled(hospitals: tuple[str, ...] = THREE) -> list[measured_clinic.Record]:
    """All records in the order in which a job joins them."""
    parts = measured_clinic.dealt(measured_clinic.records(150), hospitals)
    return [row for name in hospitals for row in parts[name]]


def listen_directly(federation: LocalFederation, *hospitals: str) -> None:
    for name in hospitals:
        federation.hospitals[name].compute = {"listen": "127.0.0.1:0"}


def progress(federation: LocalFederation, job: str) -> Mapping[str, Any]:
    """What each member told last, as the cloud shows it."""
    document = federation.cloud.people.get(f"/v1/jobs/{job}").json()
    return {member["id"]: member["progress"] for member in document["members"]}


@pytest.mark.parametrize("hospitals", [THREE, HOSPITALS])
@pytest.mark.parametrize("direct", [False, True])
def test_mode_id3_grows_the_tree_of_the_pooled_records(
    federation: LocalFederation, tmp_path: Path, hospitals: tuple[str, ...], direct: bool
) -> None:
    if direct:
        listen_directly(federation, *THREE)
    outcome = federation.run_job(SCHEMA, files(tmp_path, *hospitals), mode="id3", secret=SECRET)
    assert outcome.statuses == {JobStatus.COMPLETE}
    assert {model.tree_sha256 for model in outcome.models.values()} == {pooled_sha256()}
    result = federation.cloud.people.get(f"/v1/jobs/{outcome.job}/result").json()
    assert result["tree_sha256"] == pooled_sha256()
    told = progress(federation, outcome.job)
    assert {told[name]["part"] for name in THREE} == {"compute"}
    assert {told[name]["channel"] for name in THREE} == {"direct" if direct else "relayed"}
    assert {told[name]["part"] for name in hospitals[3:]} <= {"contributor"}
    rounds = {told[name]["rounds"] for name in THREE}
    assert len(rounds) == 1
    assert rounds != {0}


@pytest.mark.parametrize("hospitals", [THREE, HOSPITALS])
@pytest.mark.parametrize("direct", [False, True])
def test_mode_gain_ratio_grows_the_tree_of_the_pooled_records(
    federation: LocalFederation, tmp_path: Path, hospitals: tuple[str, ...], direct: bool
) -> None:
    if direct:
        listen_directly(federation, *THREE)
    outcome = gain_ratio(federation, tmp_path, hospitals, min_node=20, min_child=7)
    assert outcome.statuses == {JobStatus.COMPLETE}
    tree = measured_clinic.pooled_tree(pooled(hospitals), height=3, min_node=20, min_child=7)
    assert {model.tree_sha256 for model in outcome.models.values()} == {tree.sha256}


def test_a_port_that_is_taken_costs_the_direct_way_and_not_the_job(
    federation: LocalFederation, tmp_path: Path
) -> None:
    with listen("127.0.0.1", 0) as taken:
        for name in THREE:
            federation.hospitals[name].compute = {"listen": f"127.0.0.1:{taken.getsockname()[1]}"}
        outcome = federation.run_job(SCHEMA, files(tmp_path), mode="id3", secret=SECRET)
    assert outcome.statuses == {JobStatus.COMPLETE}
    assert {told["channel"] for told in progress(federation, outcome.job).values() if told} == {"relayed"}
    assert "go through the cloud" in federation.hospitals["h1"].output.getvalue()


def test_thresholds_can_stand_on_a_public_grid(federation: LocalFederation, tmp_path: Path) -> None:
    secret = {**SECRET, "grid": {"pulse": "10"}}
    outcome = gain_ratio(federation, tmp_path, secret=secret)
    tree = measured_clinic.pooled_tree(pooled(), {1: "10"}, height=3)
    assert {model.tree_sha256 for model in outcome.models.values()} == {tree.sha256}


def test_mode_id3_grows_by_the_rules_of_the_job(federation: LocalFederation, tmp_path: Path) -> None:
    asked: dict[str, Any] = {
        "min_gain": "0.2",
        "class_weights": {"nephritis": 7, "both": 2},
        "pruning": {"method": "majority", "share": "0.8"},
    }
    rules: dict[str, Any] = {
        "min_gain": Fraction(1, 5),
        "class_weights": (1, 7, 1, 2),
        "pruning": Pruning("majority", share=Fraction(4, 5)),
    }
    outcome = federation.run_job(SCHEMA, files(tmp_path), mode="id3", secret=SECRET, **asked)
    assert outcome.statuses == {JobStatus.COMPLETE}
    expected = pooled_sha256(**rules)
    assert {model.tree_sha256 for model in outcome.models.values()} == {expected}
    assert expected not in {pooled_sha256(), *(pooled_sha256(**{name: rules[name]}) for name in rules)}


@pytest.mark.long
@pytest.mark.parametrize("parties", [None, ["h2"]])
def test_mode_gain_ratio_grows_and_collapses_by_the_rules_of_the_job(
    federation: LocalFederation, tmp_path: Path, parties: list[str] | None
) -> None:
    secret = {**SECRET, **({} if parties is None else {"result_parties": parties})}
    asked: dict[str, Any] = {
        "min_gain": "0.1",
        "pruning": {"method": "collapse"},
        "max_depth": 4,
        "min_node": 1,
        "min_child": 1,
    }
    outcome = gain_ratio(federation, tmp_path, secret=secret, **asked)
    assert outcome.statuses == {JobStatus.COMPLETE}
    grown = measured_clinic.pooled_tree(pooled(), height=4, min_gain=Fraction(1, 10))
    assert grown != measured_clinic.pooled_tree(pooled(), height=4)
    assert merged(grown).node_count < grown.node_count
    held = {name: model.tree_sha256 for name, model in outcome.models.items()}
    assert held == {name: merged(grown).sha256 if name in (parties or THREE) else None for name in THREE}


@pytest.mark.long
def test_mode_gain_ratio_stops_at_a_share_of_one_class(federation: LocalFederation, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"pruning": {"method": "majority", "share": "0.6"}, "min_node": 1, "min_child": 1}
    outcome = gain_ratio(federation, tmp_path, **asked)
    expected = measured_clinic.pooled_tree(pooled(), height=3, stop_share=Fraction(3, 5))
    assert {model.tree_sha256 for model in outcome.models.values()} == {expected.sha256}
    assert expected.node_count < measured_clinic.pooled_tree(pooled(), height=3).node_count


@pytest.mark.long
def test_mode_id3_collapses_what_it_has_opened(federation: LocalFederation, tmp_path: Path) -> None:
    outcome = federation.run_job(
        SCHEMA, files(tmp_path), mode="id3", secret=SECRET, pruning={"method": "collapse"}
    )
    assert outcome.statuses == {JobStatus.COMPLETE}
    whole = pooled_tree()
    assert {model.tree_sha256 for model in outcome.models.values()} == {merged(whole).sha256}


@pytest.mark.long
def test_weights_that_no_table_holds_end_the_job_and_say_what_would_fit(
    federation: LocalFederation, tmp_path: Path
) -> None:
    """How many records there are is known with the roster only."""
    made = files(tmp_path)
    for path in made.values():
        head, *lines = filter(None, path.read_text().splitlines())
        path.write_text("\n".join([head, *lines * 142]) + "\n")
    weights = {"nephritis": 1000}
    outcome = federation.run_job(SCHEMA, made, mode="id3", secret=SECRET, class_weights=weights)
    assert outcome.statuses == {JobStatus.FAILED}
    assert "mode I takes at most 16777 records of all members" in federation.hospitals["h1"].output.getvalue()


def test_the_books_say_what_was_opened_and_nothing_secret_is_left(
    federation: LocalFederation, tmp_path: Path
) -> None:
    outcome = federation.run_job(SCHEMA, files(tmp_path), mode="id3", secret=SECRET)
    leaves = sum(1 for node in outcome.models["h1"].shown_tree.nodes() if not hasattr(node, "kids"))
    for name in THREE:
        folder, entry = federation.hospitals[name].folder, outcome.entries[name]
        assert entry.tally.work["opened leaf_class"] == leaves
        assert entry.tally.work["rounds"] > 0
        assert {"compute", "wait", "freeze"} <= set(entry.tally.seconds)
        assert not list((folder / "computing").iterdir())
        assert not list((folder / "snapshots").iterdir())
        with Journal.open(folder) as journal:
            story = [r for r in journal.audit_records() if r.get("job") == outcome.job]
        (computed,) = [record for record in story if record["kind"] == "computed"]
        assert computed["opened"]["leaf_class"] == leaves
        assert computed["result"] == pooled_sha256()
    kinds = [
        e["kind"] for e in federation.cloud.people.get(f"/v1/jobs/{outcome.job}/events").json()["events"]
    ]
    assert {"computing", "progress", "decided", "done", "attested"} <= set(kinds)


def test_only_result_parties_learn_the_tree_and_all_attest_the_same(
    federation: LocalFederation, tmp_path: Path
) -> None:
    parties = ["h3", "h4"]  # one that computes, and one that only contributes
    outcome = gain_ratio(federation, tmp_path, HOSPITALS, secret={**SECRET, "result_parties": parties})
    assert outcome.statuses == {JobStatus.COMPLETE}
    expected = measured_clinic.pooled_tree(pooled(HOSPITALS), height=3).sha256
    held = {name: model.tree_sha256 for name, model in outcome.models.items()}
    assert held == {name: expected if name in parties else None for name in HOSPITALS}
    result = federation.cloud.people.get(f"/v1/jobs/{outcome.job}/result").json()
    assert result["tree_sha256"] is not None
    assert result["tree_sha256"] != expected
    with pytest.raises(InputError, match="opened to other hospitals"):
        assert outcome.models["h1"].shown_tree


def test_a_tree_that_stays_shared_answers_by_a_job(federation: LocalFederation, tmp_path: Path) -> None:
    grown = gain_ratio(federation, tmp_path, HOSPITALS, secret={**SECRET, "result": "shared"})
    assert grown.statuses == {JobStatus.COMPLETE}
    assert {model.tree_sha256 for model in grown.models.values()} == {None}
    assert "stays shared" in grown.models["h1"].told
    for name, hospital in federation.hospitals.items():
        assert (hospital.folder / "models" / f"{grown.job}.npz").is_file() == (name in THREE)
    asked = {**SECRET, "purpose": "predict", "model": grown.job, "result_parties": ["h1", "h5"]}
    outcome = gain_ratio(federation, tmp_path, HOSPITALS, secret=asked, study_of=grown.job)
    assert outcome.statuses == {JobStatus.COMPLETE}
    tree = measured_clinic.pooled_tree(pooled(HOSPITALS), height=3)
    schema = Schema.from_json(measured_clinic.SCHEMA)
    parts = measured_clinic.dealt(measured_clinic.records(150), HOSPITALS)
    for name, hospital in federation.hospitals.items():
        path = hospital.folder / "predictions" / f"{outcome.job}.csv"
        assert path.is_file() == (name in ("h1", "h5"))
        if not path.is_file():
            continue
        with path.open() as stream:
            told = [line["class"] for line in csv.DictReader(stream)]
        plain = [
            predict(tree, schema, dict(zip(measured_clinic.NAMES, row, strict=False)), "class").label
            for row in parts[name]
        ]
        assert told == plain


def test_records_without_classes_can_be_asked_about(federation: LocalFederation, tmp_path: Path) -> None:
    grown = gain_ratio(federation, tmp_path, secret={**SECRET, "result": "shared"})
    new = measured_clinic.records(12, seed=5)
    asked = tmp_path / "new.csv"
    lines = [",".join(measured_clinic.NAMES), *(",".join(row[:-1]) for row in new)]
    asked.write_text("\n".join(lines) + "\n")
    secret = {**SECRET, "purpose": "predict", "model": grown.job, "result_parties": ["h2"]}
    parts = measured_clinic.dealt(measured_clinic.records(150), THREE)
    outcome = federation.run_job(
        measured_clinic.SCHEMA,
        measured_clinic.files(tmp_path / "measured", parts),
        data={"ask": str(asked)},
        study_of=grown.job,
        mode="gain-ratio",
        max_depth=3,
        secret=secret,
    )
    assert outcome.statuses == {JobStatus.COMPLETE}
    schema, tree = Schema.from_json(measured_clinic.SCHEMA), measured_clinic.pooled_tree(pooled(), height=3)
    with (federation.hospitals["h2"].folder / "predictions" / f"{outcome.job}.csv").open() as stream:
        told = [line["class"] for line in csv.DictReader(stream)]
    records = [dict(zip(measured_clinic.NAMES, row, strict=False)) for row in new]
    assert told == [predict(tree, schema, record, "class").label for record in records]


def test_a_shared_tree_is_asked_as_it_was_grown_or_not_at_all(
    federation: LocalFederation, tmp_path: Path
) -> None:
    grown = gain_ratio(federation, tmp_path, secret={**SECRET, "result": "shared"})
    asked: dict[str, Any] = {"purpose": "predict", "model": grown.job, "compute_parties": ["h1", "h2", "h3"]}
    outcome = gain_ratio(federation, tmp_path, secret=asked, study_of=grown.job)
    assert JobStatus.DECLINED in outcome.statuses
    reasons = {entry.reason for entry in outcome.entries.values() if entry.status is JobStatus.DECLINED}
    assert all("other compute parties" in str(reason) for reason in reasons)


@pytest.mark.parametrize(
    ("policy", "code"),
    [
        ("allow_secret_modes = false", "policy_profile"),
        ("may_compute = false", "declined"),
        ('compute_parties = ["h1", "h2", "h4"]', "declined"),
    ],
)
def test_a_policy_against_it_declines_and_the_job_ends_at_once(
    federation: LocalFederation, tmp_path: Path, policy: str, code: str
) -> None:
    switched = [line for line in OPEN_POLICY.splitlines() if not line.startswith(policy.split(" ")[0])]
    federation.hospitals["h2"].allow("\n".join([*switched, policy]))
    outcome = federation.run_job(SCHEMA, files(tmp_path), mode="id3", secret=SECRET)
    assert (outcome.entries["h2"].status, outcome.entries["h2"].code) == (JobStatus.DECLINED, code)
    assert answers(federation, outcome.job)["h2"] == code
    assert federation.cloud.people.get(f"/v1/jobs/{outcome.job}").json()["failure"] == "compute_party_missing"


def test_more_records_than_the_job_takes_are_declined(federation: LocalFederation, tmp_path: Path) -> None:
    outcome = federation.run_job(SCHEMA, files(tmp_path), mode="id3", secret={**SECRET, "max_records": 39})
    assert set(answers(federation, outcome.job).values()) & {"data"}
    reasons = {entry.reason for entry in outcome.entries.values() if entry.status is JobStatus.DECLINED}
    assert all("more records than the job takes" in str(reason) for reason in reasons)
    outcome = federation.run_job(SCHEMA, files(tmp_path), mode="id3", secret={**SECRET, "max_records": 119})
    assert federation.cloud.people.get(f"/v1/jobs/{outcome.job}").json()["failure"] == "range_violation"


def test_a_job_that_needs_more_memory_than_the_policy_allows_ends_before_records_leave(
    federation: LocalFederation, tmp_path: Path
) -> None:
    federation.hospitals["h2"].allow(f"{OPEN_POLICY}max_compute_mb = 1\n")
    outcome = gain_ratio(federation, tmp_path, max_depth=10)
    assert {entry.code for entry in outcome.entries.values()} == {"cancelled"}
    assert "max_compute_mb" in str(outcome.entries["h2"].reason)
    assert federation.cloud.people.get(f"/v1/jobs/{outcome.job}").json()["failure"] == "cancelled"


def test_a_cancelled_job_leaves_nothing_behind(federation: LocalFederation, tmp_path: Path) -> None:
    late = federation.hospitals["h4"]
    made = files(tmp_path, *HOSPITALS[:4])
    late.stop()
    job = federation.start_job(SCHEMA, made, mode="id3", secret=SECRET)
    late.start()
    federation.until(
        lambda: federation.cloud.people.get(f"/v1/jobs/{job}").json()["state"] in ("COMPUTING", "DONE")
    )
    federation.cloud.people.post(f"/v1/jobs/{job}/cancel")
    entries = federation.wait(job, HOSPITALS[:4])
    assert {entry.code for entry in entries.values()} <= {"cancelled", None}
    for name in HOSPITALS[:4]:
        assert not list((federation.hospitals[name].folder / "computing").glob(f"{job}*"))


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        ({"mode": "gain-ratio", "max_depth": None}, "height of 1"),
        ({"mode": "gain-ratio", "max_depth": 3, "secret": {"grid": {"nonsense": "1"}}}, "no such attribute"),
        ({"mode": "id3"}, "numeric"),
        ({"mode": "gain-ratio", "max_depth": 3, "secret": {"compute_parties": ["h1", "h2", "h2"]}}, "three"),
    ],
)
def test_a_plan_that_contradicts_itself_is_refused_at_once(
    federation: LocalFederation, plan: dict[str, Any], reason: str
) -> None:
    name = f"study-{abs(hash(str(plan)))}"
    federation.cloud.study(measured_clinic.SCHEMA, name=name)
    answer = federation.cloud.people.post(f"/v1/studies/{name}/jobs", json=plan)
    assert answer.status_code == 422
    assert reason in answer.json()["detail"]


def test_fewer_records_than_announced_end_the_job_for_all(
    federation: LocalFederation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hospital's message of another length than its signed number of records gives."""
    monkeypatch.setattr(
        secret_work, "own_blocks", lambda blocks, records: [block[..., : records - 9] for block in blocks]
    )
    outcome = federation.run_job(SCHEMA, files(tmp_path), mode="id3", secret=SECRET)
    assert outcome.statuses == {JobStatus.FAILED}
    document = federation.cloud.people.get(f"/v1/jobs/{outcome.job}").json()
    assert (document["state"], document["failure"]) == ("FAILED", "share_inconsistent")
    for entry in outcome.entries.values():
        assert entry.code == "share_inconsistent"
    for name in THREE:
        assert not list((federation.hospitals[name].folder / "computing").iterdir())


def test_what_a_failed_job_left_is_deleted(
    federation: LocalFederation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One hospital states another result than the others, after the shares were put away."""
    honest = computing_desk.computed

    def lying(before: Any, result: SecretResult, keys: Any) -> Any:
        other = replace(result, record=result.record.replace("sealed", "other"))
        return honest(before, other if before.own == "h2" else result, keys)

    monkeypatch.setattr(computing_desk, "computed", lying)
    outcome = gain_ratio(federation, tmp_path, secret={**SECRET, "result": "shared"})
    assert {entry.code for entry in outcome.entries.values()} == {"diverged"}
    for name in THREE:
        assert not list((federation.hospitals[name].folder / "models").glob(f"{outcome.job}*"))


def test_a_fault_of_ours_in_a_program_ends_the_job_at_once(
    federation: LocalFederation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a value that must not be told")

    monkeypatch.setattr("hospital_agent.computing.id3.secret_id3", broken)
    outcome = federation.run_job(SCHEMA, files(tmp_path), mode="id3", secret=SECRET)
    assert outcome.statuses == {JobStatus.FAILED}
    reasons = {str(entry.reason) for entry in outcome.entries.values()}
    assert any("ZeroDivisionError" in reason for reason in reasons)
    assert not any("must not be told" in reason for reason in reasons)
