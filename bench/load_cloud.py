"""The cloud under load: real replicas (`privet cloud serve`) on one PostgreSQL behind nginx, and what they cost."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import httpx2
import psutil

from cloud_service.service.federation import Membership
from cloud_service.service.folder import IDENTITY_FILE, RSA_FILE
from cloud_service.settings import SETTINGS_FILE
from cloud_service.store import schema
from cloud_service.store.database import Database
from shared.ids import AgentId
from shared.protocol.enrolment import fingerprint
from tests.support.cloud_server import cloud_bundle, key_pair
from tests.support.programs import Program, command, free_port
from tests.support.replicas import crashing_postgres, is_ready, nginx
from tests.support.toy_keys import fixed_key
from tests.support.world import Parties

START_SECONDS: Final = 60


@dataclass(frozen=True, slots=True)
class Usage:
    """CPU seconds since their start, and resident bytes now, of the replicas and of the database's processes."""

    replicas: float
    database: float
    resident: int

    def since(self, before: Usage) -> Usage:
        """What was used between two moments; resident as it is at the later one."""
        return Usage(self.replicas - before.replicas, self.database - before.database, self.resident)


@dataclass
class LoadedCloud:
    """url: of nginx. parties: the certified hospitals, whose keys the simulation holds."""

    url: str
    token: str = field(repr=False)
    parties: Parties = field(repr=False)
    replicas: list[Program]
    postmaster: int

    def usage(self) -> Usage:
        """Now."""
        processes = [psutil.Process(replica.pid) for replica in self.replicas]
        own = [sum(process.cpu_times()[:2]) for process in processes]
        postmaster = psutil.Process(self.postmaster)
        database = 0.0
        for process in (postmaster, *postmaster.children()):
            try:
                database += sum(process.cpu_times()[:4] if process is postmaster else process.cpu_times()[:2])
            except psutil.NoSuchProcess:
                continue  # a connection that has ended since
        return Usage(sum(own), database, sum(process.memory_info().rss for process in processes))

    def people(self) -> httpx2.Client:
        """The API as a person with a token uses it."""
        headers = {"Authorization": f"Bearer {self.token}"}
        return httpx2.Client(base_url=self.url, headers=headers, timeout=120, trust_env=False)


@contextmanager
def loaded_cloud(folder: Path, hospitals: int, replicas: int) -> Iterator[LoadedCloud]:
    """Replicas that serve a federation of so many hospitals; a 2048-bit key."""
    names = [AgentId(f"h{number:03}") for number in range(1, hospitals + 1)]
    parties = Parties(names, fixed_key(2048))
    cloud = folder / "cloud"
    _found(cloud, parties)
    with ExitStack() as stack:
        server = stack.enter_context(crashing_postgres())
        (cloud / SETTINGS_FILE).write_text(f"database_url = {json.dumps(server.url)}\n")
        _join(cloud, server.url, parties)
        token = str(
            command("cloud", "token", "create", cloud, "--label", "bench", "--role", "coordinator")["token"]
        )
        ports = [free_port() for _ in range(replicas)]
        programs = [_serve(cloud, port, folder) for port in ports]
        for program in programs:
            stack.callback(program.kill)
            program.start()
        url = stack.enter_context(nginx(folder / "nginx", ports))
        _wait(ports)
        postmaster = int((server.folder / "postmaster.pid").read_text().split("\n")[0])
        yield LoadedCloud(url, token, parties, programs, postmaster)


def _found(cloud: Path, parties: Parties) -> None:
    cloud.mkdir(parents=True)
    keys = key_pair(parties)
    for name, pem in ((IDENTITY_FILE, keys.identity.to_pem()), (RSA_FILE, keys.unwrapping.to_pem())):
        (cloud / name).write_bytes(pem)
        (cloud / name).chmod(0o600)


def _join(cloud: Path, url: str, parties: Parties) -> None:
    database = Database(url)
    try:
        schema.upgrade(database)
        root = fingerprint(parties.root)
        Membership(database, key_pair(parties)).join(cloud_bundle(parties), root, int(time.time()))
    finally:
        database.dispose()


def _serve(cloud: Path, port: int, folder: Path) -> Program:
    arguments = ("cloud", "serve", str(cloud), "--port", str(port))
    return Program(f"cloud-{port}", arguments, folder / f"cloud-{port}.log")


def _wait(ports: list[int]) -> None:
    end = time.monotonic() + START_SECONDS
    while not all(map(is_ready, ports)):
        if time.monotonic() > end:
            raise TimeoutError("the replicas did not start")
        time.sleep(0.1)
