"""A federation of real processes: `privet cloud serve` and `privet agent run`, which a test may kill and start again.

    with real_federation(founded, tmp_path) as federation:
        job = federation.start_job(SCHEMA, files)
        federation.story.wait_for("aggregate", 1)
        federation.cloud.kill()
        federation.cloud.start()
        federation.wait_until_done(job)

`founded_federation` makes keys, requests and bundles once a session with the operators' own commands; each
federation works on a copy. Every process is tied to the test run by the demo's leash.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx2
import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

import privet.demo
from hospital_agent.journal import JobEntry, Journal
from hospital_agent.keyring import Keyring
from hospital_agent.models import Model, shelf_of
from privet.__main__ import run

ROOT = Path(__file__).resolve().parents[2]
LEASH = Path(privet.demo.__file__).with_name("leash.py")
HOSPITALS = ("h1", "h2", "h3")
POLL_SECONDS = 0.004
PATIENCE_SECONDS = 120.0
OPEN_POLICY = (
    'approval = "automatic"\nmin_node = 1\nmin_child = 1\nmax_depth = 0\nallow_secret_modes = true\n'
)


def command(*arguments: str | Path) -> dict[str, Any]:
    """Run `privet ARGUMENTS --json` in this process and return its document."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = run([*map(str, arguments), "--json"])
    assert code == 0, out.getvalue()
    document = json.loads(out.getvalue())
    assert isinstance(document, dict)
    return document


@dataclass(frozen=True)
class Founded:
    """Folders as their owners have them before anybody serves; the cloud has not joined yet."""

    folder: Path
    root_sha256: str
    cloud_bundle: Path
    hospitals: tuple[str, ...]


@pytest.fixture(scope="session")
def founded_federation(tmp_path_factory: pytest.TempPathFactory) -> Founded:
    """Fresh 2048-bit keys, and three hospitals that have joined."""
    return found(tmp_path_factory.mktemp("founded"), HOSPITALS)


def found(folder: Path, hospitals: Sequence[str]) -> Founded:
    """Found a federation with the commands that the authority, the cloud and each hospital type."""
    command("authority", "init", folder / "authority", "--name", "Tests", "--key-bits", "2048")
    command("cloud", "init", folder / "cloud")
    requests = [folder / "cloud" / "cloud.csr"]
    for name in hospitals:
        command("agent", "init", folder / name, "--id", name)
        requests.append(folder / name / f"{name}.csr")
    certified = command("authority", "certify", folder / "authority", *requests, "--yes")
    root = str(certified["root_sha256"])
    for name in hospitals:
        bundle = certified["bundles"][name]
        command("agent", "join", folder / name, "--bundle", bundle, "--root-sha256", root)
    return Founded(folder, root, Path(certified["bundles"]["cloud"]), tuple(hospitals))


@dataclass
class Program:
    """One `privet` command as a process; `log` takes everything it writes, over all its lives."""

    name: str
    arguments: tuple[str, ...]
    log: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Of the living process."""
        assert self.process is not None
        return self.process.pid

    def start(self) -> None:
        """A new life."""
        leash = [sys.executable, "-I", "-S", str(LEASH), str(os.getpid())]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*leash, sys.executable, "-m", "privet", *self.arguments],
                cwd=ROOT,
                env=_environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def kill(self) -> None:
        """`kill -9`: no handler runs, nothing is flushed."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """SIGTERM, as an operator stops it."""
        self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> None:
        if self.process is None:
            return
        assert self.process.poll() is None, f"{self.name} died by itself:\n{self.told}"
        self.process.send_signal(number)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(30)
        self.process = None

    @contextmanager
    def frozen(self) -> Iterator[int]:
        """SIGSTOP while the context lasts; gives the process id."""
        pid = self.pid
        os.kill(pid, signal.SIGSTOP)
        try:
            yield pid
        finally:
            os.kill(pid, signal.SIGCONT)

    @property
    def told(self) -> str:
        """The end of its log."""
        return self.log.read_text(errors="replace")[-4000:] if self.log.exists() else ""

    def check(self) -> None:
        """Fail when it has ended by itself."""
        if self.process is not None and self.process.poll() is not None:
            raise AssertionError(f"{self.name} ended with {self.process.returncode}:\n{self.told}")


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PRIVET_")}
    return kept | {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}


@dataclass(frozen=True)
class Tables:
    """The cloud's database, read past the cloud. No connection outlives a question, so that none is open at a kill."""

    url: str

    def rows(self, statement: str, **values: object) -> list[Any]:
        """The rows of a query."""
        with self._engine.connect() as connection:
            return list(connection.execute(text(statement), values))

    @cached_property
    def _engine(self) -> Any:
        return create_engine(self.url.replace("postgresql:", "postgresql+psycopg:", 1), poolclass=NullPool)


@dataclass
class RealFederation:
    """A cloud and its hospitals as processes. `agent_url`: where the agents find the cloud, perhaps past a proxy.
    `compute_lines`: of the section `[compute]` in every agent's settings."""

    folder: Path
    founded: Founded
    database_url: str
    port: int
    agent_url: str
    token: str = field(repr=False, default="")
    cloud: Program = field(init=False)
    agents: dict[str, Program] = field(init=False)
    tables: Tables = field(init=False)
    compute_lines: tuple[str, ...] = ()
    numbers: Iterator[int] = field(default_factory=lambda: iter(range(10_000)))

    def __post_init__(self) -> None:
        logs = self.folder / "logs"
        logs.mkdir()
        self.cloud = Program("cloud", ("cloud", "serve", str(self.cloud_folder)), logs / "cloud.log")
        self.agents = {
            name: Program(name, ("agent", "run", str(self.folder / name)), logs / f"{name}.log")
            for name in self.founded.hospitals
        }
        self.tables = Tables(self.database_url or f"sqlite:///{self.cloud_folder / 'cloud.db'}")

    @property
    def cloud_folder(self) -> Path:
        """The cloud's."""
        return self.folder / "cloud"

    @property
    def programs(self) -> list[Program]:
        """All of them, the cloud first."""
        return [self.cloud, *self.agents.values()]

    @contextmanager
    def people(self) -> Iterator[httpx2.Client]:
        """The API as a person with a token uses it."""
        headers = {"Authorization": f"Bearer {self.token}"}
        url = f"http://127.0.0.1:{self.port}"
        with httpx2.Client(base_url=url, headers=headers, timeout=60, trust_env=False) as client:
            yield client

    def start_job(
        self, schema: Mapping[str, Any], files: Mapping[str, Path], *, start_agents: bool = True, **plan: Any
    ) -> str:
        """Point the hospitals at their files, start who is not running, and start a job; its id."""
        if start_agents:
            self.start_agents(files)
        else:
            self._configure_all(files)
        self._wait_for_hospitals()
        study = f"study-{next(self.numbers)}"
        rules = {"min_node": 1, "min_child": 1, "max_depth": None, "invited": sorted(files), "max_shrinks": 0}
        with self.people() as people:
            body = {"id": study, "question": "does it hold?", "schema": dict(schema), "synthetic": True}
            answer = people.post("/v1/studies", json=body)
            assert answer.status_code == 201, answer.text
            answer = people.post(f"/v1/studies/{study}/jobs", json={**rules, **plan})
            assert answer.status_code == 201, answer.text
            return str(answer.json()["id"])

    def start_agents(self, files: Mapping[str, Path]) -> None:
        """Point the hospitals at their files, start who is not running, and wait until the cloud knows all."""
        self._configure_all(files)
        for agent in self.agents.values():
            if agent.process is None:
                agent.start()
        self._wait_for_hospitals()

    def _configure_all(self, files: Mapping[str, Path]) -> None:
        for name, path in files.items():
            self._configure(name, path)

    def _configure(self, name: str, path: Path) -> None:
        lines = [f'id = "{name}"', f'cloud = "{self.agent_url}"', "[local]", "serve = false"]
        lines += ["[compute]", *self.compute_lines, "[data]"]
        (self.folder / name / "agent.toml").write_text("\n".join([*lines, f"path = {json.dumps(str(path))}"]))
        (self.folder / name / "policy.toml").write_text(OPEN_POLICY)

    def _wait_for_hospitals(self) -> None:
        wanted = len(self.founded.hospitals)
        self.wait(
            lambda: self.tables.rows("SELECT count(*) FROM hospitals")[0][0] == wanted, "the registrations"
        )

    def wait_for_cloud(self) -> None:
        """Until the cloud answers."""
        with self.people() as people:
            self.wait(lambda: _is_ready(people), "the cloud")

    def events(self, job: str) -> list[str]:
        """The kinds of a job's events so far."""
        rows = self.tables.rows("SELECT kind FROM job_events WHERE job = :job ORDER BY id", job=job)
        return [str(row[0]) for row in rows]

    def wait_for(self, job: str, kind: str, times: int = 1) -> None:
        """Until an event of that kind was committed so many times: the moment itself, not the answer to it."""
        self.wait(lambda: self.events(job).count(kind) >= times, f"event {kind} number {times}")

    def wait(self, condition: Callable[[], bool], what: str, *, seconds: float = PATIENCE_SECONDS) -> None:
        """Poll until it holds; fail when a program has ended by itself."""
        end = time.monotonic() + seconds
        while not condition():
            for program in self.programs:
                program.check()
            told = "\n".join(f"--- {p.name}\n{p.told}" for p in self.programs)
            assert time.monotonic() < end, f"waited {seconds} s for {what}\n{told}"
            time.sleep(POLL_SECONDS)

    def wait_until_done(self, job: str) -> None:
        """Until every hospital holds the tree and the cloud knows it."""
        self.wait_for(job, "attested", len(self.founded.hospitals))
        self.wait(lambda: all(self._is_at_rest(name, job) for name in self.agents), "the agents' end")

    def _is_at_rest(self, name: str, job: str) -> bool:
        with self.journal(name) as journal:
            entry = journal.job(job)
            return entry is not None and entry.is_over and not journal.pending()

    def journal(self, name: str) -> Journal:
        """An agent's journal."""
        return Journal.open(self.folder / name)

    def entry(self, name: str, job: str) -> JobEntry:
        """A job as an agent's journal has it."""
        with self.journal(name) as journal:
            entry = journal.job(job)
        assert entry is not None
        return entry

    def model(self, name: str, job: str) -> Model:
        """The verified model of a job at one hospital."""
        ring = Keyring.open(self.folder / name)
        shelf = shelf_of(self.folder / name, ring.identity.public, ring.hospital_trust().root)
        return shelf.get(job)


def _is_ready(people: httpx2.Client) -> bool:
    try:
        return people.get("/readyz").status_code == 200
    except httpx2.TransportError:
        return False


def free_port() -> int:
    """A port of this machine that was free just now."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


@contextmanager
def real_federation(
    founded: Founded,
    folder: Path,
    database_url: str = "",
    *,
    through: Callable[[int], contextlib.AbstractContextManager[str]] | None = None,
) -> Iterator[RealFederation]:
    """A running cloud over a copy of the founded folders; agents start with the first job.

    Args: through: given the cloud's port, a context that gives the URL under which agents reach it.
    """
    work = folder / "federation"
    shutil.copytree(founded.folder, work)
    port = free_port()
    settings = [f"port = {port}", "drain_seconds = 0"]
    settings += [f"database_url = {json.dumps(database_url)}"] if database_url else []
    (work / "cloud" / "cloud.toml").write_text("\n".join(settings))
    join = ("cloud", "join", work / "cloud", "--bundle", founded.cloud_bundle)
    command(*join, "--root-sha256", founded.root_sha256)
    create = ("cloud", "token", "create", work / "cloud", "--label", "tests")
    token = str(command(*create, "--role", "coordinator", "--role", "analyst")["token"])
    way = contextlib.nullcontext(f"http://127.0.0.1:{port}") if through is None else through(port)
    with way as agent_url:
        federation = RealFederation(work, founded, database_url, port, agent_url, token)
        try:
            federation.cloud.start()
            federation.wait_for_cloud()
            yield federation
        finally:
            for program in reversed(federation.programs):
                if program.process is not None and program.process.poll() is None:
                    program.stop()
