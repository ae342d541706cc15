"""Cut off for a while: an agent from the cloud, a replica from its database, all replicas by PostgreSQL's restart."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
from sqlalchemy import make_url

from hospital_agent.journal import JobStatus
from tests.support.clinic import SCHEMA
from tests.support.consistency import check_agent, check_cloud, check_together
from tests.support.federation import LocalFederation, local_federation
from tests.support.middlebox import middlebox
from tests.support.programs import free_port
from tests.support.proxies import Listener
from tests.support.replicas import Twin, crashing_postgres
from tests.support.weighted_clinic import pooled_tree, write_files

HOSPITALS = ("h1", "h2", "h3")
MOMENTS = ("accepted", "roster", "contributed", "aggregate", "decided")
_PIECE = 2**16


def start(federation: LocalFederation, folder: Path) -> str:
    folder.mkdir()
    return federation.start_job(SCHEMA, write_files(folder, HOSPITALS), max_shrinks=0)


def wait_for(federation: LocalFederation, job: str, kind: str) -> None:
    def has_come() -> bool:
        with federation.cloud.services.database.read() as connection:
            found = connection.exec_driver_sql(f"SELECT kind FROM job_events WHERE job = '{job}'")
            return kind in {row[0] for row in found}

    federation.until(has_come)


def check(federation: LocalFederation, job: str) -> None:
    federation.until(lambda: federation.is_settled(job, HOSPITALS), timeout_seconds=120)
    for hospital in federation.hospitals.values():
        entry = hospital.entry(job)
        assert entry is not None
        assert entry.status is JobStatus.COMPLETE, entry.reason
        assert hospital.model(job).tree_sha256 == pooled_tree(HOSPITALS).sha256
        check_agent(hospital.folder)
    url = federation.cloud.settings.database
    check_cloud(url)
    check_together(url, {name: h.folder for name, h in federation.hospitals.items()}, job)


def told(federation: LocalFederation, text: str) -> bool:
    return any(text in hospital.output.getvalue() for hospital in federation.hospitals.values())


@pytest.mark.long
@pytest.mark.parametrize("moment", MOMENTS)
def test_an_agent_is_cut_off_from_the_cloud(tmp_path: Path, moment: str) -> None:
    with local_federation(tmp_path, HOSPITALS, start=False) as federation:
        port = int(federation.cloud.base_url.rpartition(":")[2])
        with middlebox(port) as box:
            job = start(federation, tmp_path / "records")
            victim = federation.hospitals["h1"]
            victim.cloud_url = box.url
            victim.configure(tmp_path / "records" / "h1.csv")
            for hospital in federation.hospitals.values():
                hospital.start()
            wait_for(federation, job, moment)
            box.port = free_port()
            box.cut()
            federation.until(lambda: "tries again until it works" in victim.output.getvalue())
            assert not federation.is_settled(job, ["h1"])
            box.port = port
            check(federation, job)
            assert "works with the cloud again" in victim.output.getvalue()


@pytest.mark.long
@pytest.mark.parametrize("mode", ["immediate", "fast"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_postgres_restarts_in_a_job(tmp_path: Path, moment: str, mode: Literal["immediate", "fast"]) -> None:
    with crashing_postgres() as server, local_federation(tmp_path, HOSPITALS, server.url) as federation:
        job = start(federation, tmp_path / "records")
        wait_for(federation, job, moment)
        server.crash(mode)
        check(federation, job)


@dataclass
class DatabaseWay:
    """Between one replica and PostgreSQL's socket. `is_cut`: nothing passes, and nothing new is let in."""

    socket_path: str
    is_cut: bool = False
    listener: Listener = field(init=False)

    def __post_init__(self) -> None:
        self.listener = Listener(self._serve)

    def cut(self) -> None:
        """From now on the database cannot be reached."""
        self.is_cut = True
        self.listener.cut()

    def _serve(self, client: socket.socket) -> None:
        if self.is_cut:
            return
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
            server.connect(self.socket_path)
            back = threading.Thread(target=_copy, args=(server, client), daemon=True)
            back.start()
            _copy(client, server)
            back.join(30)


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(_PIECE):
            target.sendall(piece)
    for end in (source, target):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


@contextmanager
def second_replica(federation: LocalFederation, url: str) -> Iterator[tuple[Twin, DatabaseWay]]:
    """Another replica of the federation's cloud, whose way to the database can be cut."""
    parsed = make_url(url)
    way = DatabaseWay(f"{parsed.query['host']}/.s.PGSQL.5432")
    port = way.listener.url.rpartition(":")[2]
    past = parsed.set(query={"host": "127.0.0.1", "port": port}).render_as_string(hide_password=False)
    twin = Twin(federation.cloud, free_port(), database_url=past)
    with ExitStack() as held:
        held.callback(way.listener.close)
        twin.start()
        twin.connect()
        held.callback(twin.close)
        yield twin, way


@pytest.mark.long
@pytest.mark.parametrize("heals", [True, False], ids=["heals", "stays"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_replica_is_cut_off_from_the_database(
    tmp_path: Path, postgres_url: str, moment: str, heals: bool
) -> None:
    """Its callers get 503; they go on there once it heals, or at the other replica as a balancer sends them."""
    with (
        local_federation(tmp_path, HOSPITALS, postgres_url, start=False) as federation,
        second_replica(federation, postgres_url) as (twin, way),
        middlebox(int(twin.base_url.rpartition(":")[2])) as box,
    ):
        job = start(federation, tmp_path / "records")
        victim = federation.hospitals["h1"]
        victim.cloud_url = box.url
        victim.configure(tmp_path / "records" / "h1.csv")
        for hospital in federation.hospitals.values():
            hospital.start()
        wait_for(federation, job, moment)
        way.cut()
        federation.until(lambda: "tries again until it works" in victim.output.getvalue())
        if heals:
            way.is_cut = False
        else:
            box.port = int(federation.cloud.base_url.rpartition(":")[2])
            box.cut()
        check(federation, job)
        way.is_cut = False
