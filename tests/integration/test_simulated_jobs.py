"""`simulate` and the job of real agents: the same parameters and records give the same tree, in every mode."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from privet.client import Client
from shared.tree.schema import Attribute, Schema
from tests.support import clinic, measured_clinic
from tests.support.clinic_frames import frames_of
from tests.support.federation import OPEN_POLICY, LocalFederation, local_federation

pytest.importorskip("sklearn")
pd = pytest.importorskip("pandas")

from privet.federated import FederatedTreeClassifier  # noqa: E402

pytestmark = pytest.mark.long
THREE = ("h1", "h2", "h3")
RECORDS = measured_clinic.dealt(measured_clinic.records(90), THREE)
LOOSE: dict[str, Any] = {"min_node": 2, "min_child": 1}
CRITERIA = ["information-gain", "gain-ratio", "c45"]
PROFILES = ["hardened", "secret-id3", "secret-gainratio"]
CUT = {
    "attributes": [
        {"name": "temperature", "values": ["<= 37", "> 37 to 39", "> 39"], "cuts": ["37", "39"]},
        {"name": "pulse", "values": ["<= 80", "> 80", "missing"], "cuts": ["80"], "missing": "fractional"},
        {"name": "pain", "values": ["none", "some", "much"]},
        {"name": "ward", "values": ["a", "b", "c"]},
    ],
    "class": measured_clinic.SCHEMA["class"],
}
ORDERED = Schema.create(
    [
        Attribute.numeric(
            "temperature", [f"{degrees / 10:.1f}" for degrees in range(355, 411, 2)], "missing"
        ),
        Attribute.numeric("pulse", range(45, 140, 5)),
        Attribute("pain", ("none", "some", "much"), treat_as="ordered"),
        Attribute("ward", ("a", "b", "c")),
    ],
    "state",
    measured_clinic.CLASSES,
).to_json()


def measured(gaps: bool) -> list[Any]:
    names = [*measured_clinic.NAMES, "state"]
    frames = [pd.DataFrame(rows, columns=names, dtype=object) for rows in RECORDS.values()]
    return (
        [frame.assign(pulse=frame["pulse"].where(frame.index % 5 > 0, "")) for frame in frames]
        if gaps
        else frames
    )


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalFederation]:
    policy = OPEN_POLICY + "allow_fractional = true\n"
    with local_federation(tmp_path_factory.mktemp("simulated"), THREE, policy=policy) as running:
        yield running


@pytest.mark.parametrize(
    ("records", "parameters"),
    [
        ("symptoms", {"criterion": "c45", "pruning": {"method": "pessimistic"}}),
        ("symptoms", {"class_weights": {"both": 7}, "min_gain": "0.05", "max_depth": 2}),
        ("symptoms", {"mode": "id3", "max_depth": 3}),
        (
            "symptoms",
            {
                "mode": "id3",
                "class_weights": {"both": 7},
                "min_gain": "0.05",
                "pruning": {"method": "majority", "share": "0.9"},
            },
        ),
        ("symptoms", {"mode": "id3", "pruning": {"method": "collapse"}}),
        ("cut", {"criterion": "gain-ratio", "max_depth": 3}),
        ("ordered", {"criterion": "c45", "thresholds": "gain-mdl", "max_depth": 4}),
        ("measured", {"mode": "gain-ratio", "max_depth": 3}),
        (
            "measured",
            {"mode": "gain-ratio", "max_depth": 5, "min_gain": "0.04", "pruning": {"method": "collapse"}},
        ),
        (
            "measured",
            {"mode": "gain-ratio", "max_depth": 2, "further": {"secret": {"grid": {"pulse": "10"}}}},
        ),
    ],
    ids=[
        "c45",
        "weights",
        "id3",
        "id3-rules",
        "id3-collapse",
        "fractional",
        "thresholds",
        "numbers",
        "numbers-rules",
        "grid",
    ],
)
def test_a_job_of_real_agents_grows_the_simulated_tree(
    federation: LocalFederation, tmp_path: Path, records: str, parameters: dict[str, Any], request: Any
) -> None:
    frames, schema = {
        "symptoms": (frames_of(clinic.dealt(*THREE)), clinic.SCHEMA),
        "cut": (measured(gaps=True), CUT),
        "ordered": (measured(gaps=False), ORDERED),
        "measured": (measured(gaps=False), measured_clinic.SCHEMA),
    }[records]
    for name, frame in zip(THREE, frames, strict=True):
        path = tmp_path / f"{name}.csv"
        frame.to_csv(path, index=False)
        federation.hospitals[name].configure(path)
    study = f"simulated-{request.node.callspec.id}"
    with Client.from_token(federation.cloud.base_url, federation.cloud.token) as client:
        client.create_study(
            study,
            "are they the same?",
            Schema.from_json(schema),
            publish_tree=True,
            synthetic=True,
            profiles=PROFILES,
            criteria=CRITERIA,
            min_node=1,
            min_child=1,
        )
        estimator = FederatedTreeClassifier(client, study, timeout=120, **LOOSE, **parameters).fit()
        job = estimator.tree_
        simulated = estimator.simulate(frames)
    assert job.tree_sha256 == simulated.tree_.tree_sha256
    assert simulated.get_depth() > 1
