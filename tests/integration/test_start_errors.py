"""Every number that has a help page is provoked, by starting the program as people do."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import time_machine

from hospital_agent.daemon.lock import locked
from privet.__main__ import run
from privet.explaining import page_titles
from shared.errors import InputError, starting
from tests.support.programs import ROOT, Founded, command

pytestmark = [pytest.mark.xdist_group("start errors"), pytest.mark.timeout(60)]

BEFORE, AFTER = "2020-01-01T12:00:00Z", "2035-01-01T12:00:00Z"
NOT_PROVOKED = {"C090", "A090"}
"""What has no page of its own; `starting` is tested for it below."""


@dataclass(frozen=True)
class Places:
    """Copies that a case may spoil."""

    cloud: Path
    agent: Path
    authority: Path
    founded: Founded

    def setting(self, line: str, *, agent: bool = False) -> None:
        """Put a line at the top of the settings."""
        path = self.agent / "agent.toml" if agent else self.cloud / "cloud.toml"
        path.write_text(f"{line}\n{path.read_text()}")


@pytest.fixture(scope="module")
def joined(founded_federation: Founded, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cloud that could start, an agent that could, and an authority."""
    work = tmp_path_factory.mktemp("start") / "all"
    shutil.copytree(founded_federation.folder, work)
    bundle = founded_federation.cloud_bundle
    command(
        "cloud", "join", work / "cloud", "--bundle", bundle, "--root-sha256", founded_federation.root_sha256
    )
    (work / "h1" / "agent.toml").write_text(
        'id = "h1"\ncloud = "http://127.0.0.1:1"\n[local]\nserve = false\n'
    )
    (work / "h1" / "policy.toml").write_text("")
    return work


@pytest.fixture
def places(joined: Path, tmp_path: Path, founded_federation: Founded) -> Places:
    shutil.copytree(joined, tmp_path / "all")
    work = tmp_path / "all"
    return Places(work / "cloud", work / "h1", work / "authority", founded_federation)


@contextmanager
def taken_port() -> Iterator[int]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield int(listening.getsockname()[1])


def nothing(_places: Places) -> None:
    """Only what the command itself says."""


def other_keys(places: Places) -> None:
    command("cloud", "init", places.cloud.parent / "other")
    for name in ("identity.pem", "rsa.pem"):
        shutil.copy(places.cloud.parent / "other" / name, places.cloud / name)


def new_database(places: Places) -> None:
    places.setting(f'database_url = "sqlite:///{places.cloud}/new.db"')


def migrated_only(places: Places) -> None:
    new_database(places)
    command("cloud", "migrate", places.cloud)


def statement(path: Path, text: str) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(text)
    connection.close()


def migrated_by_a_newer_one(places: Places) -> None:
    statement(places.cloud / "cloud.db", "UPDATE alembic_version SET version_num = '9999'")
    statement(places.cloud / "cloud.db", "UPDATE schema_window SET oldest = '9999'")


def empty_tls_files(places: Places) -> None:
    (places.cloud / "a").touch()
    (places.cloud / "b").touch()
    places.setting('tls_certificate = "a"\ntls_key = "b"')


def no_bundles(places: Places) -> None:
    shutil.rmtree(places.agent / "bundles")


def never_joined(places: Places) -> None:
    shutil.rmtree(places.agent)
    command("agent", "init", places.agent, "--id", "h1", "--cloud", "http://127.0.0.1:1")


def lock_is_a_folder(places: Places) -> None:
    (places.agent / "agent.lock").mkdir()


def serving_agent(places: Places, port: int) -> None:
    (places.agent / "agent.toml").write_text(
        f'id = "h1"\ncloud = "http://127.0.0.1:1"\n[local]\nport = {port}\n'
    )


Case = tuple[str, Callable[[Places], object]]
CLOUD: list[Case] = [
    ("C001", lambda p: (p.cloud / "cloud.toml").unlink()),
    ("C002", lambda p: p.setting("port = ")),
    ("C003", lambda p: p.setting('prot = 1\nport = "x"')),
    ("C004", lambda p: p.setting('tls_key = "k"')),
    ("C005", lambda p: p.setting('host = "0.0.0.0"')),
    ("C006", empty_tls_files),
    ("C007", lambda p: (p.cloud / "identity.pem").unlink()),
    ("C008", lambda p: (p.cloud / "rsa.pem").chmod(0o644)),
    ("C009", lambda p: (p.cloud / "rsa.pem").write_text("no key")),
    ("C010", lambda p: p.setting('database_url = "nonsense"')),
    ("C010", lambda p: p.setting('database_url = "postgresql+asyncpg://u@127.0.0.1/d"')),
    ("C011", lambda p: p.setting('database_url = "postgresql+psycopg://u@127.0.0.1:1/d"')),
    ("C012", new_database),
    ("C013", migrated_by_a_newer_one),
    ("C014", migrated_only),
    ("C015", other_keys),
    ("C018", lambda p: p.setting('database_url = "sqlite:////proc/none/cloud.db"')),
    ("C020", lambda p: (p.cloud / "cloud.db").write_bytes(b"this is no database" * 100)),
    ("C021", lambda p: statement(p.cloud / "cloud.db", "UPDATE federation_documents SET document = x'7b7d'")),
    ("C022", lambda p: (p.cloud / "protection").write_text("under a key that is not at hand")),
]
AGENT: list[Case] = [
    ("A001", lambda p: (p.agent / "agent.toml").unlink()),
    ("A002", lambda p: p.setting("id = ", agent=True)),
    ("A003", lambda p: p.setting('speed = 3\nca_bundle = ["x"]', agent=True)),
    ("A004", lambda p: (p.agent / "keys" / "identity.pem").unlink()),
    ("A005", lambda p: (p.agent / "keys" / "sealing.key").write_text("zz")),
    ("A006", never_joined),
    ("A007", lambda p: (p.agent / "federation.json").write_text("{}")),
    ("A008", no_bundles),
    ("A009", lambda p: (p.agent / "agent.toml").write_text('id = "h1"\n')),
    ("A010", lambda p: (p.agent / "policy.toml").write_text('min_node = "x"\nanything = 1\n')),
    ("A011", lambda p: p.setting('ca_bundle = "policy.toml"', agent=True)),
    ("A012", lambda p: (p.agent / "journal.sqlite3").write_bytes(b"this is no database" * 100)),
    ("A013", lambda p: statement(p.agent / "journal.sqlite3", "PRAGMA user_version = 99")),
    ("A017", lambda p: p.setting('data = {path = "a.csv", url = "duckdb://"}', agent=True)),
    ("A018", lock_is_a_folder),
    ("A023", lambda p: p.setting('clinical = {services = "nothing.toml"}', agent=True)),
    ("A021", lambda p: (p.agent / "protection").write_text("under a key that is not at hand")),
]
AUTHORITY: list[tuple[str, Callable[[Places], object], tuple[str, ...]]] = [
    ("T001", lambda p: shutil.rmtree(p.authority), ("show",)),
    ("T002", lambda p: p.authority.chmod(0o755), ("show",)),
    ("T003", lambda p: (p.authority / "root.crt").write_text("none"), ("show",)),
    ("T005", lambda p: (p.authority / "root.crt").unlink(), ("show",)),
    ("T006", nothing, ("init", "--name", "X", "--key-bits", "2048")),
]
AT_A_TIME = {"C016": BEFORE, "A020": BEFORE, "A015": AFTER}
ELSEWHERE = {"C017", "C019", "A014", "A016", "A019", "A022", "C023", "T004"}


def refused(capsys: pytest.CaptureFixture[str], *words: str | Path) -> dict[str, object]:
    """Start it; what it says as JSON."""
    capsys.readouterr()
    code = run([*map(str, words), "--json"])
    out = capsys.readouterr().out
    document = json.loads(out)
    assert code == document["exit_code"] != 0
    return dict(document)


@pytest.mark.parametrize(("number", "spoil"), CLOUD, ids=[one[0] for one in CLOUD])
def test_the_cloud(
    places: Places, capsys: pytest.CaptureFixture[str], number: str, spoil: Callable[[Places], object]
) -> None:
    spoil(places)
    problem = refused(capsys, "cloud", "serve", places.cloud)
    assert problem.get("number") == number, problem
    assert problem["help"] == f"privet explain {number}"


@pytest.mark.parametrize(("number", "spoil"), AGENT, ids=[one[0] for one in AGENT])
def test_an_agent(
    places: Places, capsys: pytest.CaptureFixture[str], number: str, spoil: Callable[[Places], object]
) -> None:
    spoil(places)
    assert refused(capsys, "agent", "run", places.agent)["number"] == number


@pytest.mark.parametrize(("number", "spoil", "words"), AUTHORITY, ids=[one[0] for one in AUTHORITY])
def test_the_authority(
    places: Places,
    capsys: pytest.CaptureFixture[str],
    number: str,
    spoil: Callable[[Places], object],
    words: tuple[str, ...],
) -> None:
    spoil(places)
    assert refused(capsys, "authority", words[0], places.authority, *words[1:])["number"] == number


@pytest.mark.parametrize("number", sorted(AT_A_TIME))
def test_clocks_and_certificates(places: Places, capsys: pytest.CaptureFixture[str], number: str) -> None:
    words = ("cloud", "serve", places.cloud) if number[0] == "C" else ("agent", "run", places.agent)
    with time_machine.travel(AT_A_TIME[number]):
        assert refused(capsys, *words)["number"] == number


def test_a_taken_port(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    with taken_port() as port:
        serving_agent(places, port)
        assert refused(capsys, "agent", "run", places.agent)["number"] == "A016"
        assert refused(capsys, "cloud", "serve", places.cloud, "--port", str(port))["number"] == "C017"


def test_traces_without_the_extra(
    places: Places, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    places.setting('telemetry = {endpoint = "http://127.0.0.1:4318"}')
    assert refused(capsys, "cloud", "serve", places.cloud)["number"] == "C023"
    places.setting('telemetry = {endpoint = "http://127.0.0.1:4318"}', agent=True)
    assert refused(capsys, "agent", "run", places.agent)["number"] == "A022"


def test_a_second_agent(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    with locked(places.agent):
        assert refused(capsys, "agent", "run", places.agent)["number"] == "A014"


@pytest.mark.long
def test_a_wrong_passphrase(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, places: Places
) -> None:
    monkeypatch.setenv("PRIVET_AUTHORITY_PASSPHRASE", "five words are long enough")
    command("authority", "init", tmp_path / "own", "--name", "X", "--key-bits", "2048")
    monkeypatch.setenv("PRIVET_AUTHORITY_PASSPHRASE", "five other words are not it")
    request = places.agent / "h1.csr"
    assert refused(capsys, "authority", "certify", tmp_path / "own", request, "--yes")["number"] == "T004"


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="a small disk of one's own needs root")
@pytest.mark.parametrize("number", ["C019", "A019"])
def test_a_full_disk(places: Places, number: str) -> None:
    """On a disk of 4 MB of which nothing is left."""
    folder = places.cloud if number == "C019" else places.agent
    words = ("cloud", "serve") if number == "C019" else ("agent", "run")
    full = places.cloud.parent / "full"
    full.mkdir()
    script = (
        'mount --make-rprivate / && mount -t tmpfs -o size=4m tmpfs "$1" && cp -a "$2/." "$1" && '
        'dd if=/dev/zero of="$1/filling" bs=1k status=none 2>/dev/null; shift 2; exec "$@"'
    )
    privet = (sys.executable, "-m", "privet", *words, str(full), "--json")
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, "sh", str(full), str(folder), *privet],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    if "Operation not permitted" in done.stderr:
        pytest.skip("this machine lets nobody mount a small disk")
    assert json.loads(done.stdout)["number"] == number, done.stdout + done.stderr


def test_what_has_no_number_gets_one() -> None:
    for error in (
        InputError("of another part"),
        OSError(28, "No space left on device", "f"),
        OSError(13, "no", "f"),
    ):
        with pytest.raises(InputError) as caught, starting(full="C019", closed="C018", other="C090"):
            raise error
        assert caught.value.number == {28: "C019", 13: "C018"}.get(getattr(error, "errno", 0), "C090")
    with pytest.raises(ZeroDivisionError), starting(full="C019", closed="C018", other="C090"):
        _ = 1 / 0


def test_every_page_is_provoked_and_every_number_has_a_page() -> None:
    provoked = {case[0] for case in (*CLOUD, *AGENT, *AUTHORITY)} | set(AT_A_TIME) | ELSEWHERE
    assert provoked | NOT_PROVOKED == set(page_titles())
    named = set()
    for room in ("shared", "machine", "cloud_service", "hospital_agent", "trusted_authority"):
        for path in (ROOT / room).rglob("*.py"):
            named |= set(re.findall(r'"([CAT]\d{3})"', path.read_text()))
    assert named == set(page_titles())


def test_the_spoiled_folders_are_good_before_they_are_spoiled(places: Places) -> None:
    """The positive control: nothing else is wrong with them."""
    assert command("agent", "status", places.agent)["federation"] == "Tests"
    assert command("authority", "show", places.authority)
    assert command("cloud", "migrate", places.cloud, "--check")
