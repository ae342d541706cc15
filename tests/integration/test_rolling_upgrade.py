"""Agents and cloud one version apart: the release before is built from its commit and runs beside this one.

Needs the history of the repository (a full clone); without it these tests are skipped, and say so.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from hospital_agent.journal import JobStatus
from tests.support import programs
from tests.support.clinic import SCHEMA
from tests.support.programs import Founded, Program, RealFederation, real_federation
from tests.support.weighted_clinic import pooled_tree, write_files

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("rolling"), pytest.mark.timeout(900)]
BEFORE = "be21852"
"""The last commit of the release before this one, 0.3."""


@pytest.fixture(scope="module")
def release_before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the installed wheel of the release before; its libraries are those of this environment."""
    folder = tmp_path_factory.mktemp("before")
    tree, wheels, installed = folder / "tree", folder / "wheels", folder / "installed"
    tree.mkdir()
    archive = subprocess.run(
        ["git", "archive", "--format=tar", BEFORE], cwd=programs.ROOT, capture_output=True, check=False
    )
    if archive.returncode:
        pytest.skip(f"commit {BEFORE} is not in this copy of the repository")
    subprocess.run(["tar", "-x", "-C", str(tree)], input=archive.stdout, check=True)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    build = [
        *pip,
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
        "--wheel-dir",
        str(wheels),
        ".",
    ]
    subprocess.run(build, cwd=tree, check=True, capture_output=True)
    wheel = next(wheels.glob("privet-*.whl"))
    install = [*pip, "install", "--no-deps", "--no-index", "--target", str(installed), str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    return installed


@dataclass
class OldProgram(Program):
    """A program of the release before: its package comes first in the path, from a folder without this one."""

    installed: Path = Path()

    def start(self) -> None:
        """A new life."""
        leash = [sys.executable, "-I", "-S", str(programs.LEASH), str(os.getpid())]
        environment = programs._environment() | {"PYTHONPATH": str(self.installed)}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*leash, sys.executable, "-m", "privet", *self.arguments],
                cwd=self.installed,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )


def old(program: Program, installed: Path) -> OldProgram:
    return OldProgram(program.name, program.arguments, program.log, installed=installed)


@contextmanager
def new_cloud(
    founded: Founded, folder: Path, installed: Path, old_agents: set[str]
) -> Iterator[RealFederation]:
    with real_federation(founded, folder) as federation:
        for name in old_agents:
            federation.agents[name] = old(federation.agents[name], installed)
        yield federation


def start(federation: RealFederation, **plan: object) -> str:
    records = federation.folder / "records"
    records.mkdir(exist_ok=True)
    return federation.start_job(SCHEMA, write_files(records, tuple(federation.agents)), **plan)


def check_tree(federation: RealFederation, job: str) -> None:
    federation.wait_until_done(job)
    for name in federation.agents:
        assert federation.entry(name, job).status is JobStatus.COMPLETE
        assert federation.model(name, job).tree.sha256 == pooled_tree(tuple(federation.agents)).sha256


def test_it_is_the_release_before(release_before: Path) -> None:
    """The control of the others: what runs there is the old code."""
    found = subprocess.run(
        [
            sys.executable,
            "-c",
            "import importlib.util as u, privet; print(privet.__file__, u.find_spec('shared.web') is not None)",
        ],
        cwd=release_before,
        env=programs._environment() | {"PYTHONPATH": str(release_before)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert str(release_before) in found
    assert found.strip().endswith("False")


@pytest.mark.parametrize("old_agents", [{"h1", "h2", "h3"}, {"h2"}], ids=["all-old", "one-old"])
def test_old_agents_at_the_new_cloud(
    founded_federation: Founded, tmp_path: Path, release_before: Path, old_agents: set[str]
) -> None:
    with new_cloud(founded_federation, tmp_path, release_before, old_agents) as federation:
        check_tree(federation, start(federation))


def test_old_and_new_agents_in_a_secret_job(
    founded_federation: Founded, tmp_path: Path, release_before: Path
) -> None:
    with new_cloud(founded_federation, tmp_path, release_before, {"h2"}) as federation:
        job = start(federation, mode="id3")
        federation.wait_until_done(job)
        trees = {federation.model(name, job).tree.sha256 for name in federation.agents}
        assert len(trees) == 1


def test_a_job_that_holds_records_out_parts_them_as_its_oldest_agent_can(
    founded_federation: Founded, tmp_path: Path, release_before: Path
) -> None:
    with new_cloud(founded_federation, tmp_path, release_before, {"h2"}) as federation:
        job = start(federation, selection={"parts": 4, "first": 0, "last": 1})
        federation.wait_until_done(job)
        assert {federation.entry(name, job).status for name in federation.agents} == {JobStatus.COMPLETE}
        with federation.people() as people:
            assert "hash" not in people.get(f"/v1/jobs/{job}").json()["selection"]


@contextmanager
def old_cloud(founded: Founded, folder: Path, installed: Path) -> Iterator[RealFederation]:
    """The founded federation with a cloud of the release before, from the first table on."""
    import json
    import shutil

    work, port = folder / "federation", programs.free_port()
    shutil.copytree(founded.folder, work)
    cloud = work / "cloud"
    (cloud / "cloud.toml").write_text(f"port = {port}")

    def privet(*arguments: str | Path) -> dict[str, str]:
        done = subprocess.run(
            [sys.executable, "-m", "privet", *map(str, arguments), "--json"],
            cwd=installed,
            env=programs._environment() | {"PYTHONPATH": str(installed)},
            capture_output=True,
            text=True,
            check=True,
        )
        return dict(json.loads(done.stdout))

    privet("cloud", "join", cloud, "--bundle", founded.cloud_bundle, "--root-sha256", founded.root_sha256)
    create = ("cloud", "token", "create", cloud, "--label", "tests")
    token = privet(*create, "--role", "coordinator", "--role", "analyst")["token"]
    federation = RealFederation(work, founded, "", port, f"http://127.0.0.1:{port}", token)
    federation.cloud = old(federation.cloud, installed)
    try:
        federation.cloud.start()
        federation.wait_for_cloud()
        yield federation
    finally:
        for program in reversed(federation.programs):
            if program.process is not None and program.process.poll() is None:
                program.stop()


def test_new_agents_at_the_old_cloud(
    founded_federation: Founded, tmp_path: Path, release_before: Path
) -> None:
    with old_cloud(founded_federation, tmp_path, release_before) as federation:
        check_tree(federation, start(federation))


def test_the_cloud_is_replaced_in_the_middle_of_a_job(
    founded_federation: Founded, tmp_path: Path, release_before: Path
) -> None:
    """One cloud: stop the old one, migrate, start the new one; agents of both versions go on with their job."""
    with old_cloud(founded_federation, tmp_path, release_before) as federation:
        federation.agents["h3"] = old(federation.agents["h3"], release_before)
        job = start(federation)
        federation.wait_for(job, "contributed", 2)
        federation.cloud.kill()
        assert programs.command("cloud", "migrate", federation.cloud_folder)["revision"] >= "0009"
        federation.cloud = Program(federation.cloud.name, federation.cloud.arguments, federation.cloud.log)
        federation.cloud.start()
        federation.wait_for_cloud()
        check_tree(federation, job)
        # Looking into h3's journal has brought it to this version's form, so its agent is upgraded too.
        before = federation.agents["h3"]
        if before.process is not None and before.process.poll() is None:
            before.stop()
        federation.agents["h3"] = Program(before.name, before.arguments, before.log)
        check_tree(federation, start(federation))


def test_an_old_agent_goes_on_beside_a_job_that_it_cannot_read(
    founded_federation: Founded, tmp_path: Path, release_before: Path
) -> None:
    """A rule that the release before does not know: it leaves that job unanswered, and goes on with others."""
    attributes = [{**attribute, "treat_as": "ordered"} for attribute in SCHEMA["attributes"]]
    schema = {**SCHEMA, "attributes": attributes}
    body = {"id": "new", "question": "q", "schema": schema, "synthetic": True}
    plan = {"criterion": "gain-ratio", "thresholds": "gain", "invited": ["h1", "h2", "h3"]}
    with new_cloud(founded_federation, tmp_path, release_before, {"h2"}) as federation:
        check_tree(federation, start(federation))
        with federation.people() as people:
            answer = people.post("/v1/studies", json=body)
            assert answer.status_code == 201, answer.text
            answer = people.post("/v1/studies/new/jobs", json=plan)
            assert answer.status_code == 201, answer.text
            job = answer.json()["id"]
        check_tree(federation, start(federation))
        with federation.people() as people:
            shown = people.get(f"/v1/jobs/{job}").json()
        assert shown["state"] == "INVITING"
        assert "h2" in shown["waiting_for"]
