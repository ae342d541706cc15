"""FHIR mappings at the command line: the same records as SQL on views, one patient like all, drafts, checks."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from hospital_agent import clinical
from hospital_agent.clinical.bulk import resources_of
from hospital_agent.keyring import Keyring
from hospital_agent.models import shelf_of
from privet.__main__ import run
from shared.contract.fhir_resources import Gathered, of_one_patient
from tests.integration.test_recipes import blocks
from tests.support import registry, ward
from tests.support.models import model_of
from tests.unit.hospital_agent.test_keyring import PARTIES, ROOT, bundle_file, folder_of

pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")

ASKED = datetime(2025, 6, 1, tzinfo=UTC)
PATH = "%asked.toString().substring(0, 4).toInteger() - birthDate.toString().substring(0, 4).toInteger()"


def diagnosis(name: str, code: str) -> dict[str, Any]:
    """A Condition of a code or one below it; none on record counts as no, as in the recipe."""
    codes = [f"{ward.ICD}|{code}*"]
    return {
        "name": name,
        "resource": "Condition",
        "take": "present",
        "codes": codes,
        "present": "yes",
        "absent": "no",
    }


HBA1C = {"name": "hba1c", "resource": "Observation", "take": "value", "unit": "%"}
MAPPING = {
    "v": 1,
    "name": "recipe",
    "attributes": [
        {"name": "sex", "resource": "Patient", "take": "gender"},
        {"name": "age", "resource": "Patient", "take": "path", "path": PATH},
        diagnosis("hypertension", "I10"),
        HBA1C | {"codes": [f"{ward.LOINC}|4548-4"]},
        diagnosis("heart_failure", "I50"),
    ],
}


def command(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> Any:
    """`privet agent fhir WORDS --json`: the document, once the exit code is as expected."""
    capsys.readouterr()
    assert run(["agent", "fhir", *map(str, words), "--json"]) == code, capsys.readouterr()
    return json.loads(capsys.readouterr().out)


def test_a_mapping_gives_the_records_of_the_recipe_all_at_once_and_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    files = registry.fhir_files()
    for name, content in (files | blocks("fhir.md", "json")).items():
        Path(name).write_text(content)
    Path("mapping.json").write_text(json.dumps(MAPPING))
    for line in blocks("fhir.md", "sh")["1"].splitlines():
        assert run([*line.split()[1:], "--json"]) == 0
    sql = {
        tuple(_plain(value) for value in row) for row in duckdb.sql(blocks("fhir.md", "sql")["1"]).fetchall()
    }

    report = command(capsys, "map", "mapping.json", *sorted(files), "--out", "t.csv", "--asked", "2025-06-01")
    assert report["rows"] == len(registry.PATIENTS)
    header, *rows = csv.reader(Path("t.csv").read_text().splitlines())
    assert header == list(registry.COLUMNS)
    assert {tuple(map(_plain, row)) for row in rows} == sql
    assert Path("t.csv").stat().st_mode & 0o777 == 0o600

    lines = [line for content in files.values() for line in content.splitlines()]
    one_by_one, reader = set(), clinical.read_mapping(Path("mapping.json"))
    for number in range(1, len(registry.PATIENTS) + 1):
        own = [line for line in lines if f'"p{number}"' in line or f'"Patient/p{number}"' in line]
        Path("one.json").write_text(f"[{','.join(own)}]")
        record = reader.read(Gathered(tuple(of_one_patient(resources_of(Path("one.json"))))), ASKED)
        one_by_one.add(tuple(_plain(one.value) for one in record.origins))
    assert one_by_one == sql
    inputs = command(capsys, "map", "mapping.json", "one.json", "--asked", "2025-06-01")["inputs"]
    assert tuple(_plain(one["value"]) for one in inputs) in sql


def _plain(value: object) -> object:
    """Numbers as numbers, whoever wrote them: SQL as doubles, the mapping as decimal text."""
    if value in (None, ""):
        return None
    try:
        return float(str(value))
    except ValueError:
        return value


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    """A joined agent with one model."""
    folder = tmp_path / "agent"
    folder.mkdir(mode=0o700)
    folder_of(folder, "h1")
    ring = Keyring.open(folder)
    ring.join(bundle_file(folder), ROOT, "h1")
    shelf_of(folder, ring.identity.public, PARTIES.root).put(model_of(PARTIES), ring.identity)
    (folder / "agent.toml").write_text(
        'id = "h1"\n[clinical]\nservices = "services.toml"\npublic_url = "https://a.example"\n'
    )
    return folder


@pytest.mark.long
def test_from_a_draft_to_services_that_are_ready(agent: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = agent / "draft.json"
    assert command(capsys, "draft", agent, "--out", out)["to_fill_in"] == 5
    problem = command(capsys, "check", agent, "--mapping", out, code=3)
    assert "is not filled in" in problem["detail"]
    out.write_text(out.read_text().replace("FILL-IN", "8310-5"))
    assert command(capsys, "check", agent, "--mapping", out)["notes"] == []

    model = model_of(PARTIES)
    ward.services_file(agent, model.id, model.manifest.study, clients=True)
    report = command(capsys, "check", agent)
    assert [(one["id"], one["ready"]) for one in report["services"]] == [
        ("bladder-patient-view", True),
        ("bladder-order-select", True),
    ]
    ward.services_file(agent, "ff" * 16, model.manifest.study)
    report = command(capsys, "check", agent, code=1)
    assert "no model has that id" in report["services"][0]["state"]
    assert command(capsys, "feedback", agent) == {"services": []}


def test_a_mapping_that_cannot_be_used_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mapping, resources = tmp_path / "m.json", tmp_path / "r.json"
    mapping.write_text('{"v": 1, "name": "m", "attributes": [{"name": "x"}]}')
    resources.write_text(json.dumps(ward.LUMBAR))
    problem = command(capsys, "map", mapping, resources, code=3)
    assert problem["where"] == str(mapping)
    assert "attributes.0.resource" in problem["detail"]
    mapping.write_text(json.dumps(ward.MAPPING))
    resources.write_text('{"a": 1}')
    assert "expected FHIR resources" in command(capsys, "map", mapping, resources, code=3)["detail"]
    assert "--asked" in command(capsys, "map", mapping, resources, "--asked", "soon", code=3)["where"]
