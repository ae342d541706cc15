"""What Privet is installed from: pinned, hashed, licensed, and built alike twice."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;\\]+)")


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(path: Path) -> dict[str, str]:
    found = (PIN.match(line) for line in path.read_text().splitlines())
    return {normal(match["name"]): match["version"] for match in found if match}


def entries(path: Path) -> list[str]:
    """Each requirement with the lines that belong to it, joined."""
    return [entry for entry in re.sub(r"\\\n\s*", " ", path.read_text()).splitlines() if PIN.match(entry)]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.stem)
def test_every_requirement_has_hashes_and_the_version_of_the_constraints(lock: Path) -> None:
    known = pins(ROOT / "constraints.txt")
    only_elsewhere = {"appnope", "colorama", "httpx2-jsfetch"}  # for systems on which no constraint was drawn
    assert len(entries(lock)) > (0 if lock.stem == "installer" else 30)
    assert [entry for entry in entries(lock) if "--hash=sha256:" not in entry] == []
    wrong = {name: version for name, version in pins(lock).items() if known.get(name, "") != version}
    assert set(wrong) <= only_elsewhere


def test_locks_hold_what_the_project_needs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    def names(requirements: list[str]) -> set[str]:
        return {normal(re.split(r"[\[<>=~! ;]", text)[0]) for text in requirements} - {"privet"}

    base, extras = names(project["dependencies"]), project["optional-dependencies"]
    assert base | names(extras["sklearn"]) <= set(pins(ROOT / "requirements/demo.txt"))
    assert base | names(extras["postgres"]) <= set(pins(ROOT / "requirements/cloud.txt"))
    assert base | names(extras["dp"]) <= set(pins(ROOT / "requirements/agent.txt"))
    assert base | names(extras["dev"]) <= set(pins(ROOT / "requirements/dev.txt"))


@pytest.mark.parametrize("path", [*LOCKS, ROOT / "constraints.txt"], ids=lambda path: path.stem)
def test_no_registry_is_named(path: Path) -> None:
    assert not re.search(r"://|--(extra-)?index-url|--find-links", path.read_text())


def test_a_licence_that_is_not_allowed_is_refused() -> None:
    spec = importlib.util.spec_from_file_location("licences", ROOT / "deploy/supply_chain/licences.py")
    assert spec is not None
    assert spec.loader is not None
    licences = importlib.util.module_from_spec(spec)
    sys.modules["licences"] = licences
    spec.loader.exec_module(licences)
    rules = licences.Rules.load()
    assert rules.admits("some", "MIT")
    assert rules.admits("some", "BSD-3-Clause AND 0BSD AND MIT")
    assert rules.admits("phe", "GNU General Public License v3 (GPLv3)")
    assert not rules.admits("other", "GNU General Public License v3 (GPLv3)")
    assert not rules.admits("some", "MIT AND AGPL-3.0-only")
    assert not rules.admits("some", "UNKNOWN")
    wrong = [name for name, _, licence in licences.installed() if not rules.admits(name, licence)]
    assert wrong in ([], ["privet"])


def build(source: Path, folder: Path, *, umask: int, touched: bool) -> Path:
    copy = folder / "copy"
    ignored = shutil.ignore_patterns(
        ".git", ".venv", "dist", "build", ".*_cache", "__pycache__", ".hypothesis"
    )
    shutil.copytree(source, copy, ignore=ignored)
    for path in copy.rglob("*"):
        if touched:
            os.utime(path, (978307200, 978307200))
    command = f"umask {umask:03o}; {sys.executable} -m hatchling build -t wheel -d {folder}"
    subprocess.run(
        ["sh", "-c", command], cwd=copy, check=True, env=os.environ | {"SOURCE_DATE_EPOCH": "1700000000"}
    )
    return next(folder.glob("*.whl"))


def test_the_wheel_is_the_same_whoever_builds_it(tmp_path: Path) -> None:
    first = build(ROOT, tmp_path / "first", umask=0o022, touched=False)
    second = build(ROOT, tmp_path / "second", umask=0o077, touched=True)
    digests = [hashlib.sha256(wheel.read_bytes()).hexdigest() for wheel in (first, second)]
    assert digests[0] == digests[1]
    with zipfile.ZipFile(first) as wheel:
        rooms = {name.split("/")[0] for name in wheel.namelist()}
    programs = {"cloud_service", "hospital_agent", "trusted_authority", "privet"}
    below = {"shared", "machine", "migrations"}
    assert {room for room in rooms if not room.startswith("privet-")} == programs | below


@pytest.mark.long
@pytest.mark.parametrize("name", ["cloud", "agent"])
def test_the_list_of_contents_names_every_pinned_package(name: str, tmp_path: Path) -> None:
    import json

    out = tmp_path / "contents.json"
    tool = Path(sys.executable).with_name("cyclonedx-py")
    command = [str(tool), "requirements", f"requirements/{name}.txt", "--output-reproducible", "-o", str(out)]
    subprocess.run(command, cwd=ROOT, check=True)
    listed = {normal(part["name"]): part["version"] for part in json.loads(out.read_text())["components"]}
    assert listed == pins(ROOT / f"requirements/{name}.txt")
