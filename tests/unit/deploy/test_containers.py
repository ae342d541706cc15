"""Container and compose files: linted, and what keeps a container closed is there in each."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from cloud_service.places import PLACES as CLOUD_PLACES
from cloud_service.settings import all_settings as cloud_settings
from hospital_agent.settings import all_settings as agent_settings

ROOT = Path(__file__).resolve().parents[3]
DEPLOY = ROOT / "deploy"
FILES = sorted((DEPLOY / "container").glob("*.Containerfile"))
COMPOSE = {
    name: yaml.safe_load((DEPLOY / name).read_text()) for name in ("compose.yaml", "agent.compose.yaml")
}
SERVICES = [(file, name) for file, document in COMPOSE.items() for name in document["services"]]
HADOLINT = shutil.which("hadolint", path=str(Path(sys.executable).parent)) or shutil.which("hadolint")


def lint(path: Path) -> subprocess.CompletedProcess[str]:
    assert HADOLINT is not None
    return subprocess.run([HADOLINT, "--no-color", str(path)], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_hadolint_finds_nothing(path: Path) -> None:
    found = lint(path)
    assert (found.returncode, found.stdout) == (0, "")


def test_hadolint_notices_a_fault(tmp_path: Path) -> None:
    broken = tmp_path / "Containerfile"
    broken.write_text("FROM debian:latest\nRUN sudo apt-get install curl\n")
    assert lint(broken).returncode != 0


def test_there_is_one_for_each_program_with_a_server() -> None:
    assert [path.name for path in FILES] == ["agent.Containerfile", "cloud.Containerfile"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_last_stage_is_closed(path: Path) -> None:
    text = path.read_text()
    stages = re.split(r"^FROM .*$", text, flags=re.MULTILINE)
    assert len(stages) == 3
    build, last = stages[1:]
    assert "--require-hashes" in build
    assert "--only-binary :all:" in build
    assert "uninstall --yes --quiet pip" in build
    assert "pip" not in last
    assert re.search(r"^USER 10001:10001$", last, re.MULTILINE)
    assert last.index("\nUSER ") < last.index("\nENTRYPOINT ")
    for word in ("HEALTHCHECK", "STOPSIGNAL SIGTERM", "VOLUME", "org.opencontainers.image.licenses"):
        assert word in last
    assert re.search(r"^ARG BASE=python:3\.\d+-slim-[a-z]+$", text, re.MULTILINE)
    assert text.count("FROM ${BASE}") == 2
    (requirements,) = re.findall(r"^COPY (requirements/\S+)", text, re.MULTILINE)
    assert (ROOT / requirements).is_file()


@pytest.mark.parametrize(("file", "name"), SERVICES)
def test_every_service_is_closed(file: str, name: str) -> None:
    service = COMPOSE[file]["services"][name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    user, group = service["user"].split(":")
    assert int(user) > 0
    assert int(group) > 0
    assert service.get("privileged") is None
    assert service["mem_limit"]
    assert service["pids_limit"]
    assert re.fullmatch(r"[a-z-]+:[\w.-]+", service["image"])
    assert not service["image"].endswith(":latest")
    if name != "migrate":
        assert service["healthcheck"]["test"][0] == "CMD"


@pytest.mark.parametrize(("file", "name"), SERVICES)
def test_no_secret_is_in_the_environment(file: str, name: str) -> None:
    document = COMPOSE[file]
    service = document["services"][name]
    secret = {one.variable(CLOUD_PLACES.prefix) for one in cloud_settings() if one.is_secret}
    for variable, value in service.get("environment", {}).items():
        assert variable not in secret
        assert not re.search(r"PASSWORD|TOKEN|SECRET", variable) or variable.endswith("_FILE")
        assert "://" not in str(value) or "@" not in str(value)
    for one in service.get("secrets", []):
        assert (one if isinstance(one, str) else one["source"]) in document["secrets"]
    assert all("file" in one for one in document["secrets"].values())


@pytest.mark.parametrize(("file", "name"), SERVICES)
def test_every_setting_in_the_environment_exists(file: str, name: str) -> None:
    known = {one.variable(CLOUD_PLACES.prefix) for one in cloud_settings()}
    for variable in COMPOSE[file]["services"][name].get("environment", {}):
        assert variable in known or not variable.startswith("PRIVET_"), variable


def test_secret_files_are_named_like_settings() -> None:
    cloud = COMPOSE["compose.yaml"]["services"]["cloud-1"]["secrets"]
    assert "database_url" in cloud
    assert {"database_url"} <= {one.file_name for one in cloud_settings()}
    agent = COMPOSE["agent.compose.yaml"]["services"]["agent"]["secrets"]
    assert set(agent) <= {one.file_name for one in agent_settings()}


def test_replicas_differ_in_their_address_only() -> None:
    services = COMPOSE["compose.yaml"]["services"]
    clouds = {name: one for name, one in services.items() if name.startswith("cloud-")}
    assert len(clouds) == 3
    shown = set()
    for name, one in clouds.items():
        assert one["environment"]["PRIVET_CLOUD_REPLICA__ADDRESS"] == f"https://{name}:8443"
        shown.add(str({**one, "environment": {**one["environment"], "PRIVET_CLOUD_REPLICA__ADDRESS": ""}}))
        assert f"server {name}:8443" in (DEPLOY / "nginx" / "privet.conf").read_text()
    assert len(shown) == 1
    assert COMPOSE["compose.yaml"]["networks"]["inside"] == {"internal": True}
    assert "outside" not in clouds["cloud-1"]["networks"]


@pytest.mark.parametrize("file", COMPOSE)
def test_files_that_are_named_are_there(file: str) -> None:
    """But for what an operator makes: keys, records and secrets."""
    for service in COMPOSE[file]["services"].values():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            if source.startswith("./nginx"):
                assert (DEPLOY / source).is_file()
        if "build" in service:
            assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).is_file()


def test_the_image_is_made_of_little() -> None:
    lines = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and line[0] != "#"]
    assert lines[0] == "*"
    assert all(line.startswith("!") for line in lines[1:])
