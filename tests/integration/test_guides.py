"""The guides of docs/guides, typed through in their order at four hospitals: from a file to a judged, exported tree."""

from __future__ import annotations

import csv
import json
import random
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hospital_agent.journal import studies
from privet.__main__ import run
from tests.support.programs import RealFederation, found, real_federation

GUIDES = Path(__file__).parents[2] / "docs/guides"
HOSPITALS = ("h1", "h2", "h3", "h4")
HEADER = ("mrn", "temperature", "cough", "smoker", "ward", "diagnosis")
RECORDS = 240
POLICY = 'approval = "study"\n'


def records(hospital: int) -> list[tuple[str, ...]]:
    """Of one hospital: pneumonia mostly with cough and fever, one field in twelve missing."""
    drawn = random.Random(hospital)
    rows: list[tuple[str, ...]] = []
    for number in range(RECORDS):
        tenths, cough, smoker = drawn.randrange(360, 405), drawn.random() < 0.5, drawn.random() < 0.3
        ill = drawn.random() < (0.9 if cough and tenths > 385 else 0.6 if cough and smoker else 0.05)
        answers = ["yes" if each else "no" for each in (cough, smoker)]
        known = "?" if drawn.random() < 1 / 12 else answers[1]
        names = (f"{hospital}{number:05}", f"{tenths // 10}.{tenths % 10}", answers[0], known)
        rows.append((*names, drawn.choice("ABC"), "pneumonia" if ill else "none"))
    return rows


def write_file(path: Path, hospital: int) -> None:
    """In the hospital's own manner: the second writes semicolons and decimal commas, the third tabs and a mark."""
    rows = records(hospital)
    if hospital == 2:
        rows = [(mrn, number.replace(".", ","), *more) for mrn, number, *more in rows]
    delimiter = {2: ";", 3: "\t"}.get(hospital, ",")
    with path.open("w", encoding="utf-8-sig" if hospital == 3 else "utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(HEADER)
        writer.writerows(rows)


def lines(guide: str) -> list[list[str]]:
    """The words of each command of a guide, as it stands there."""
    found = re.findall(r"^ {4}(privet .+)$", (GUIDES / guide).read_text(), re.MULTILINE)
    return [shlex.split(line, comments=True) for line in found]


class Consortium:
    """Types commands: `DIR` and `records.csv` are a hospital's, `JOB`, `EVALUATION` and the like the jobs so far."""

    def __init__(self, federation: RealFederation, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.federation, self.folder, self.capsys = federation, folder, capsys
        self.names: dict[str, str] = {
            "CLOUD": str(federation.cloud_folder),
            "DIR4": str(federation.folder / "h4"),
        }

    def type(self, words: list[str]) -> None:
        """One line; where it is about h1 alone, or approves, each hospital types its own."""
        about = {name for name in HOSPITALS for word in words if name in word}
        everywhere = about == {"h1"} or {"approve", "consent"} & set(words)
        for name in HOSPITALS if everywhere else ("h1",):
            self._type_at(name, [word.replace("h1", name) for word in words] if everywhere else words)

    def _type_at(self, hospital: str, words: list[str]) -> None:
        names = self.names | {
            "DIR": str(self.federation.folder / hospital),
            "records.csv": str(self.folder / hospital / "records.csv"),
        }
        typed = [names.get(word, word) for word in words[1:]]
        target = None
        if ">" in typed:
            typed, target = typed[:-2], typed[-1]
        creates = typed[:3] == ["cloud", "job", "create"]
        self.capsys.readouterr()
        code = run([*typed, "--json"] if creates else typed)
        told = self.capsys.readouterr()
        assert code == 0, f"{shlex.join(words)}\n{told.out}{told.err}"
        if target is not None:
            Path(target).write_text(told.out)
        if creates:
            self._wait(json.loads(told.out), typed)
        if "consent" in typed:
            self._wait_for_consent(hospital)

    def _wait_for_consent(self, hospital: str) -> None:
        rows = "SELECT 1 FROM study_consents WHERE agent = :agent"
        self.federation.wait(
            lambda: bool(self.federation.tables.rows(rows, agent=hospital)), f"the consent of {hospital}"
        )

    def _wait(self, told: dict[str, Any], typed: list[str]) -> None:
        jobs = [str(one["job"]) for one in told.get("jobs", [told])]
        for job in jobs:
            self.federation.wait_for(job, "attested", 3 if "--leave-one-out" in typed else 4)
        if "--leave-one-out" in typed:
            self.names["WITHOUT"] = jobs[-1][:12]
        elif "--fold" in typed:
            self.names["FOLD"] = jobs[0]
        elif "--all-folds" in typed:
            self.names |= {f"EVALUATION{number}": job for number, job in enumerate(jobs, start=1)}
        else:
            self.names["EVALUATION" if "--evaluate" in typed else "JOB"] = jobs[0]


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealFederation]:
    founded = found(tmp_path_factory.mktemp("founded"), HOSPITALS)
    with real_federation(founded, tmp_path_factory.mktemp("guides")) as running:
        yield running


def point_at_records(federation: RealFederation, folder: Path) -> None:
    """What the first guide says of `agent.toml`."""
    for number, name in enumerate(HOSPITALS, start=1):
        (folder / name).mkdir()
        path = folder / name / "records.csv"
        write_file(path, number)
        settings = [f'id = "{name}"', f'cloud = "{federation.agent_url}"', "[local]", "serve = false"]
        settings += ["[data]", f"path = {json.dumps(str(path))}", 'patient = "mrn"']
        (federation.folder / name / "agent.toml").write_text("\n".join(settings))
        (federation.folder / name / "policy.toml").write_text(POLICY)
        federation.agents[name].start()


@pytest.mark.long
@pytest.mark.timeout(600)
def test_the_guides_can_be_typed_through(
    federation: RealFederation,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    point_at_records(federation, tmp_path)
    consortium = Consortium(federation, tmp_path, capsys)
    for guide in ("from-file-to-tree.md", "judging.md", "exporting.md"):
        for words in lines(guide):
            if words[2:4] == ["check", "fever"]:
                wait_for_document(federation)
            consortium.type(words)
    tree = json.loads(Path("exact.json").read_text())
    assert tree["judged"][0]["on"] == "held-out"
    assert tree["judged"][0]["evaluation"]["overall"]["accuracy"]["value"] > 0.8
    assert "<svg" in Path("pruned.svg").read_text()
    use_the_exports(tmp_path)


def wait_for_document(federation: RealFederation) -> None:
    """Until each agent has been shown the study."""
    federation.wait(lambda: all(_is_shown(federation, name) for name in HOSPITALS), "the study's document")


def _is_shown(federation: RealFederation, name: str) -> bool:
    with federation.journal(name) as journal:
        return bool(studies.studies(journal))


def use_the_exports(folder: Path) -> None:
    """The last two blocks of the guide on exports, as they stand there, over the first hospital's records."""
    text = (GUIDES / "exporting.md").read_text()
    (folder / "records.csv").write_bytes((folder / "h1/records.csv").read_bytes())
    (shell,) = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    subprocess.run(["bash", "-ec", shell], cwd=folder, check=True, capture_output=True)
    assert len((folder / "answers.csv").read_text().splitlines()) == RECORDS + 1
    (block,) = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    root = str(GUIDES.parents[1])
    program = f"import sys; sys.path.insert(0, {root!r})\n{block}"
    told = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, check=True, capture_output=True, text=True
    )
    assert "(240, 2)" in told.stdout
