"""`privet agent doctor` and `privet cloud doctor`: no problem where there is none, and each provoked for real."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine

from privet.__main__ import run
from tests.integration.test_forward_proxy import SQUID, squid
from tests.support.certificates import self_signed
from tests.support.clinic import SCHEMA
from tests.support.cloud_server import HOSPITALS
from tests.support.programs import Founded, Program, RealFederation, command, free_port, real_federation
from tests.support.small_disks import small_disk
from tests.support.weighted_clinic import write_files

AGENT_CHECKS = (
    "settings policy permissions disk keys key-protection certificate journal records traces proxy name route "
    "cloud tls clock versions membership"
)
CLOUD_CHECKS = (
    "settings permissions disk keys key-protection tls database-name database schema clock certificate versions "
    "replicas traces address"
)


@dataclass
class Patient:
    """A copy of a folder that a test may spoil. `program`: whose."""

    program: str
    folder: Path
    capsys: pytest.CaptureFixture[str]

    def examine(self, *more: str) -> tuple[int, dict[str, dict[str, Any]]]:
        """Exit code, and findings by check."""
        self.capsys.readouterr()
        code = run([self.program, "doctor", str(self.folder), *more, "--json"])
        found = json.loads(self.capsys.readouterr().out)["checks"]
        return code, {one["check"]: one for one in found}

    def problem(self, check: str, code: int, *more: str) -> str:
        """The text of the one problem, which has a remedy."""
        exit_code, found = self.examine(*more)
        problems = [one for one in found.values() if one["outcome"] == "problem"]
        assert [one["check"] for one in problems] == [check], problems
        assert exit_code == code, problems
        assert problems[0]["remedy"]
        return str(problems[0]["text"])

    def setting(self, line: str) -> None:
        """Put a line at the top of the settings."""
        path = self.folder / f"{self.program}.toml"
        path.write_text(f"{line}\n{path.read_text()}")

    def replace(self, old: str, new: str) -> None:
        """Change the settings."""
        path = self.folder / f"{self.program}.toml"
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))


@pytest.fixture(scope="module")
def federation(
    founded_federation: Founded, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RealFederation]:
    folder = tmp_path_factory.mktemp("doctors")
    with real_federation(founded_federation, folder) as running:
        files = write_files(folder, HOSPITALS)
        running._configure_all(files)
        h1 = running.agents["h1"]
        h1.start()
        running.wait(lambda: bool(running.tables.rows("SELECT id FROM hospitals")), "the registration")
        h1.stop()
        yield running


@pytest.fixture
def agent(federation: RealFederation, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Patient:
    shutil.copytree(federation.folder / "h1", tmp_path / "h1")
    return Patient("agent", tmp_path / "h1", capsys)


@pytest.fixture
def cloud(federation: RealFederation, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Patient:
    shutil.copytree(federation.cloud_folder, tmp_path / "cloud")
    return Patient("cloud", tmp_path / "cloud", capsys)


def _outcomes(found: dict[str, dict[str, Any]]) -> dict[str, list[str]]:
    sorted_out: dict[str, list[str]] = {}
    for name, one in found.items():
        sorted_out.setdefault(one["outcome"], []).append(name)
    return sorted_out


def test_a_healthy_agent(agent: Patient, tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    code, found = agent.examine("--schema", str(tmp_path / "schema.json"))
    assert " ".join(name.replace(" ", "-") for name in found) == AGENT_CHECKS
    assert set(_outcomes(found)) == {"pass", "skipped"}, found
    assert _outcomes(found)["skipped"] in (["tls"], ["journal", "tls"])
    assert code == 0
    assert list(agent.folder.glob("doctor-*")) == [], "nothing is left behind"


def test_a_healthy_cloud_while_it_serves(
    federation: RealFederation, capsys: pytest.CaptureFixture[str]
) -> None:
    code, found = Patient("cloud", federation.cloud_folder, capsys).examine()
    assert " ".join(name.replace(" ", "-") for name in found) == CLOUD_CHECKS
    assert _outcomes(found)["skipped"] == ["tls", "database name", "replicas"], found
    assert code == 0, found
    assert "is ready" in found["address"]["text"]


def test_a_person_reads_lines(agent: Patient, capsys: pytest.CaptureFixture[str]) -> None:
    (agent.folder / "policy.toml").write_text("min_node = -1\n")
    assert run(["agent", "doctor", str(agent.folder)]) == 3
    told = capsys.readouterr().out
    assert "pass     settings: they hold" in told
    assert "problem  policy: " in told
    assert "\n         do: " in told
    assert told.rstrip().endswith("Problems: 1.")


# --- an agent -------------------------------------------------------------------------------------------------


def _other_mode(patient: Patient) -> None:
    (patient.folder / "keys" / "identity.pem").chmod(0o644)


def _lost_file(patient: Patient) -> None:
    path = json.loads((patient.folder / "agent.toml").read_text().partition("path = ")[2].splitlines()[0])
    patient.replace(json.dumps(path), json.dumps(f"{path}.gone"))


def _broken_journal(patient: Patient) -> None:
    (patient.folder / "journal.sqlite3").write_bytes(b"this is no database" * 100)


HERE: list[tuple[str, Callable[[Patient], object], str]] = [
    ("policy", lambda p: (p.folder / "policy.toml").write_text("anything = 1\n"), "anything"),
    ("permissions", _other_mode, "identity.pem: other users can get at this"),
    ("records", _lost_file, "No such file"),
    ("journal", _broken_journal, "journal cannot be opened"),
]


@pytest.mark.parametrize(("check", "spoil", "told"), HERE, ids=[one[0] for one in HERE])
def test_a_problem_at_an_agent(
    agent: Patient, check: str, spoil: Callable[[Patient], object], told: str
) -> None:
    spoil(agent)
    code, found = agent.examine()
    assert code == 3
    assert found[check]["outcome"] == "problem"
    assert told in found[check]["text"]
    assert found[check]["remedy"]


def test_settings_that_do_not_hold_let_the_rest_be_skipped(agent: Patient) -> None:
    agent.setting("speed = 1")
    assert "speed" in agent.problem("settings", 3)


def test_columns_that_do_not_fit_are_named_and_no_value(agent: Patient, tmp_path: Path) -> None:
    other = {**SCHEMA, "attributes": [{"name": "heart rate", "values": ["0", "1"]}]}
    (tmp_path / "schema.json").write_text(json.dumps(other))
    told = agent.problem("records", 3, "--schema", str(tmp_path / "schema.json"))
    assert "heart rate" in told
    assert "nephritis" not in told


def test_an_encrypted_folder_without_its_key(agent: Patient, tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(os.urandom(32))
    (tmp_path / "key").chmod(0o600)
    command("agent", "protect", agent.folder, "--key-file", tmp_path / "key")
    code, found = agent.examine()
    assert code == 3
    assert found["key protection"]["number"] == "A021"


def test_a_full_disk(agent: Patient, tmp_path: Path) -> None:
    with small_disk(tmp_path / "small") as disk:
        shutil.copytree(agent.folder, disk.folder, dirs_exist_ok=True)
        assert "MB are free" in Patient("agent", disk.folder, agent.capsys).problem("disk", 3)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user here")
def test_a_folder_of_another_user(agent: Patient) -> None:
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o755)
        shutil.copytree(agent.folder, Path(made) / "h1")
        (Path(made) / "h1").chmod(0o755)
        other = Patient("agent", Path(made) / "h1", agent.capsys)
        other.examine()  # what is imported only when it is needed is imported now
        os.seteuid(65534)
        try:
            code, found = other.examine()
        finally:
            os.seteuid(0)
    assert code == 3
    assert found["permissions"]["outcome"] == found["keys"]["outcome"] == "problem"


def test_no_such_name(agent: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    _without_proxies(monkeypatch)
    agent.replace('cloud = "http://127.0.0.1', 'cloud = "https://cloud.invalid"  # was 127.0.0.1')
    code, found = agent.examine()
    assert code == 5
    assert "cloud.invalid leads nowhere" in found["name"]["text"]
    assert found["membership"]["outcome"] == found["clock"]["outcome"] == "skipped"


def test_nobody_listens(agent: Patient, federation: RealFederation) -> None:
    agent.replace(str(federation.port), str(free_port()))
    code, found = agent.examine()
    assert code == 5
    assert "Connection refused" in found["route"]["text"]
    assert "Connection refused" in found["cloud"]["text"]


@pytest.mark.long
@pytest.mark.skipif(SQUID is None, reason="squid is not installed: apt-get install squid")
def test_a_proxy_that_refuses(agent: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    _without_proxies(monkeypatch)
    port = free_port()
    agent.replace('cloud = "http://127.0.0.1', 'cloud = "https://elsewhere.example"  # was 127.0.0.1')
    with squid(port):
        monkeypatch.setenv("HTTPS_PROXY", f"http://user:secret-word@127.0.0.1:{port}")
        code, found = agent.examine()
    assert code == 5
    assert found["proxy"]["text"] == f"127.0.0.1:{port} leads to the cloud"
    assert found["route"]["outcome"] == "pass"
    assert "the proxy refuses the way to the cloud (HTTP 403)" in found["cloud"]["text"]
    assert "secret-word" not in json.dumps(found)


@pytest.mark.long
def test_another_authority(agent: Patient, tmp_path: Path, federation: RealFederation) -> None:
    (tmp_path / "other").mkdir()
    certificate, other = self_signed(tmp_path), self_signed(tmp_path / "other")
    with _tls_cloud(federation, tmp_path, certificate) as port:
        agent.replace(f"http://127.0.0.1:{federation.port}", f"https://127.0.0.1:{port}")
        agent.setting(f'ca_bundle = "{other}"')
        code, found = agent.examine()
        assert code == 5
        assert "not trusted here" in found["cloud"]["text"]
        assert "ca_bundle" in found["tls"]["remedy"]
        agent.replace(str(other), str(certificate))
        assert "TLS certificate ends in" in agent.problem("tls", 5), "and one that ends tomorrow is told"


@pytest.mark.parametrize("hours", [-2, 2])
def test_a_wrong_clock(agent: Patient, hours: int) -> None:
    with time_machine.travel(time.time() + timedelta(hours=hours).total_seconds()):
        told = agent.problem("clock", 3)
    assert ("behind" if hours < 0 else "ahead of") in told
    assert "7" in told


@pytest.mark.long
def test_a_hospital_that_is_no_member(
    agent: Patient, tmp_path: Path, founded_federation: Founded, federation: RealFederation
) -> None:
    command("agent", "init", tmp_path / "h9", "--id", "h9")
    authority = founded_federation.folder / "authority"
    shutil.copytree(authority, tmp_path / "authority")
    made = command("authority", "certify", tmp_path / "authority", tmp_path / "h9" / "h9.csr", "--yes")
    root = founded_federation.root_sha256
    command("agent", "join", tmp_path / "h9", "--bundle", made["bundles"]["h9"], "--root-sha256", root)
    shutil.copy(agent.folder / "agent.toml", tmp_path / "h9" / "agent.toml")
    stranger = Patient("agent", tmp_path / "h9", agent.capsys)
    stranger.replace('id = "h1"', 'id = "h9"')
    code, found = stranger.examine()
    assert found["membership"]["outcome"] == "problem"
    assert code == 4


# --- a cloud --------------------------------------------------------------------------------------------------


def _older_tables(patient: Patient) -> None:
    with sqlite3.connect(patient.folder / "cloud.db") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0001'")
    connection.close()


CLOUD: list[tuple[str, int, Callable[[Patient], object], str]] = [
    ("settings", 3, lambda p: p.setting("prot = 1"), "prot"),
    ("permissions", 3, lambda p: (p.folder / "identity.pem").chmod(0o644), "other users"),
    ("keys", 3, lambda p: (p.folder / "rsa.pem").write_text("none"), "rsa.pem"),
    ("schema", 3, _older_tables, "0001"),
    ("database", 3, lambda p: (p.folder / "cloud.db").write_bytes(b"no database" * 500), "damaged"),
    (
        "database name",
        5,
        lambda p: p.setting('database_url = "postgresql+psycopg://u:pass-word@db.invalid/x"'),
        "db.invalid leads nowhere",
    ),
    ("replicas", 5, lambda p: p.setting('replica = {address = "https://other.invalid:1"}'), "leads nowhere"),
]


@pytest.mark.parametrize(("check", "code", "spoil", "told"), CLOUD, ids=[one[0] for one in CLOUD])
def test_a_problem_at_a_cloud(
    cloud: Patient, check: str, code: int, spoil: Callable[[Patient], object], told: str
) -> None:
    spoil(cloud)
    exit_code, found = cloud.examine()
    assert found[check]["outcome"] == "problem", found
    assert told in found[check]["text"]
    assert found[check]["remedy"]
    assert exit_code == code
    assert "pass-word" not in json.dumps(found)


def test_a_cloud_certificate_that_has_ended(cloud: Patient) -> None:
    with time_machine.travel(time.time() + timedelta(days=365 * 12).total_seconds(), tick=False):
        code, found = cloud.examine()
    assert code == 3
    assert "expired" in found["certificate"]["text"]


def test_a_tls_certificate_that_ends_soon(cloud: Patient) -> None:
    self_signed(cloud.folder)
    cloud.setting('tls_certificate = "tls.crt"\ntls_key = "tls.key"')
    _, found = cloud.examine()
    assert "ends in 0 days" in found["tls"]["text"]


def test_a_database_whose_clock_differs(cloud: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cloud_service.store.vitals.now", lambda _connection: time.time() - 300)
    assert "300 seconds ahead of the database's" in cloud.problem("clock", 3)


def test_an_address_of_another_machine(cloud: Patient, federation: RealFederation) -> None:
    cloud.replace(f"port = {federation.port}", "port = 1")
    cloud.setting('host = "192.0.2.1"\nbehind_proxy = true')
    assert "cannot be had" in cloud.problem("address", 3)


@contextmanager
def _tls_cloud(federation: RealFederation, folder: Path, certificate: Path) -> Iterator[int]:
    """Another cloud of the same folder's copy, that ends TLS itself."""
    copy = folder / "tls-cloud"
    shutil.copytree(federation.cloud_folder, copy)
    for name in ("tls.crt", "tls.key"):
        shutil.copy(certificate.with_name(name), copy / name)
    port = free_port()
    (copy / "cloud.toml").write_text(f'port = {port}\ntls_certificate = "tls.crt"\ntls_key = "tls.key"\n')
    program = Program("tls", ("cloud", "serve", str(copy)), folder / "tls.log")
    program.start()
    try:
        federation.wait(lambda: "listening" in program.told, "the cloud with TLS")
        yield port
    finally:
        program.stop()


def _without_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
