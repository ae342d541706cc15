"""`privet agent export` and `privet export`: from a kept model to a file, and from a file to another form."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, get_args

import pytest

from hospital_agent.keyring import Keyring
from hospital_agent.models import shelf_of
from hospital_agent.models.subjects import subject_of
from privet.__main__ import run
from shared.errors import InputError
from shared.export import FormatName
from shared.export.document import read_document
from shared.export.formats import render
from shared.tree.prediction import predict
from shared.wire.noise import NoiseSpec
from tests.support.export_judges import run_python
from tests.support.models import model_of
from tests.unit.hospital_agent.test_keyring import PARTIES, ROOT, bundle_file, folder_of

RECORD = {
    "nausea": "0",
    "lumbar pain": "1",
    "urine pushing": "1",
    "micturition pains": "1",
    "burning of urethra": "1",
}


def command(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> Any:
    capsys.readouterr()
    assert run([*map(str, words), "--json"]) == code, capsys.readouterr()
    return json.loads(capsys.readouterr().out)


def joined(folder: Path, **changes: object) -> Path:
    """An agent with one model."""
    folder.mkdir(mode=0o700)
    folder_of(folder, "h1")
    (folder / "agent.toml").write_text('id = "h1"\n[data]\npath = "records.csv"\n')
    ring = Keyring.open(folder)
    ring.join(bundle_file(folder), ROOT, "h1")
    shelf_of(folder, ring.identity.public, PARTIES.root).put(model_of(PARTIES, **changes), ring.identity)
    return folder


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    return joined(tmp_path / "agent")


def job_of(folder: Path) -> str:
    (path,) = (folder / "models").glob("*.json")
    return path.stem


def test_a_model_is_written_in_every_form(
    agent: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = job_of(agent)
    for form in get_args(FormatName):
        if form == "onnx":
            pytest.importorskip("onnx")
        out = tmp_path / f"tree.{form}"
        done = command(capsys, "agent", "export", agent, job[:6], "--format", form, "-o", out)
        assert (done["model"], done["format"], done["bytes"]) == (job, form, out.stat().st_size)
        assert done["tree_sha256"].encode() in out.read_bytes()
        assert job.encode() in out.read_bytes()
        again = tmp_path / f"again.{form}"
        command(capsys, "export", tmp_path / "tree.json", "--format", form, "-o", again)
        assert hashlib.sha256(again.read_bytes()).digest() == hashlib.sha256(out.read_bytes()).digest()


def test_it_answers_as_the_model(agent: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "tree.py"
    command(capsys, "agent", "export", agent, job_of(agent), "--format", "python", "-o", out)
    model = model_of(PARTIES)
    expected = predict(model.shown_tree, model.schema, RECORD, "counts")
    (told,) = run_python(out.read_text(), [RECORD])
    assert (told[0], told[2]) == (expected.label, (expected.probability,))


def test_a_published_tree_says_that_it_does_not_tell_how_records_are_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, file = model_of(PARTIES), tmp_path / "published.json"
    tree = json.loads(model.shown_tree.canonical())
    published = {"tree_sha256": model.shown_tree.sha256, "tree": tree, "schema": model.schema.to_json()}
    file.write_text(json.dumps(published))
    done = command(capsys, "export", file, "--format", "rules", "-o", tmp_path / "tree.txt")
    assert "tells nothing of how the study reads records" in done["records"]


def test_a_file_that_is_there_stays(agent: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "tree.json"
    command(capsys, "agent", "export", agent, job_of(agent), "--format", "json", "-o", out)
    before = out.read_bytes()
    for words in (("agent", "export", agent, job_of(agent)), ("export", out)):
        problem = command(capsys, *words, "--format", "rules", "-o", out, code=3)
        assert "exists already" in problem["detail"]
    assert out.read_bytes() == before


def test_a_job_shows_what_its_study_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = joined(tmp_path / "agent", disclosure="class")
    out = tmp_path / "tree.json"
    done = command(capsys, "agent", "export", folder, job_of(folder), "--format", "json", "-o", out)
    assert done["disclosure"] == "class"
    assert "counts" not in out.read_text()


def test_a_noisy_tree_says_so() -> None:
    noise = NoiseSpec(sigma_squared=100)
    model = model_of(PARTIES, noise=noise, skip_known=False)
    assert "noise of standard deviation 10" in render(subject_of(model, "0.3.0"), "rules").decode()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff", "not JSON"),
        (b"[", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"{}", "expected an exported tree"),
    ],
)
def test_another_file_is_refused(
    content: bytes, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    problem = command(capsys, "export", path, "--format", "svg", "-o", tmp_path / "x.svg", code=3)
    assert message in problem["detail"]
    assert str(path) in problem["detail"]
    assert not (tmp_path / "x.svg").exists()


def test_a_file_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    problem = command(
        capsys, "export", tmp_path / "none.json", "--format", "dot", "-o", tmp_path / "x", code=3
    )
    assert "none.json" in problem["detail"]


def test_a_tree_that_is_elsewhere_is_not_exported() -> None:
    from dataclasses import replace

    with pytest.raises(InputError, match="hospital"):
        subject_of(replace(model_of(PARTIES), tree=None), "0.3.0")


def test_the_document_of_a_model_reads_back() -> None:
    found = subject_of(model_of(PARTIES), "0.3.0")
    assert read_document(json.loads(render(found, "json"))) == found
