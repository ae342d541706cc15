"""Links over the relay: members compute together through a cloud that restarts and a network that cuts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from hospital_agent.links.frame_log import NoLog
from hospital_agent.links.meeting import meet
from hospital_agent.links.mesh import Mesh
from hospital_agent.settings import Way
from shared.ids import AgentId
from shared.mpc.program import Spec
from tests.support.cloud_server import CloudUnderTest, running_cloud
from tests.support.meshes import membership
from tests.support.middlebox import Middlebox, middlebox
from tests.support.relays import computing_job, relayed
from tests.support.wires import NAMES

ROUNDS = 60


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[CloudUnderTest]:
    with running_cloud(tmp_path, hospitals=NAMES) as running:
        yield running


@pytest.fixture
def box(cloud: CloudUnderTest) -> Iterator[Middlebox]:
    with middlebox(port_of(cloud)) as between:
        yield between


def port_of(cloud: CloudUnderTest) -> int:
    return int(cloud.base_url.rpartition(":")[2])


def size_of(number: int) -> int:
    """Mostly small rounds, now and then one of several frames."""
    return 300_000 if number % 30 == 15 else 10 + number


def sums(own: AgentId, mesh: Mesh) -> list[int]:
    """Each round everybody sends an array to both others, which depends on what came before."""
    peers = [name for name in NAMES if name != own]
    total, results = np.uint64(NAMES.index(own) + 1), []
    for number in range(ROUNDS):
        words = np.full(size_of(number), total, np.uint64)
        received = mesh.exchange(
            [(peer, [words]) for peer in peers], [(peer, [Spec.of(words)]) for peer in peers]
        )
        total = np.add(total, np.add(received[0][0][-1], received[1][0][0]))
        results.append(int(total))
    return results


def expected() -> list[int]:
    total, results = 6, []
    for _ in range(ROUNDS):
        results.append(total)
        total = 3 * total % 2**64
    return results


@contextmanager
def member(cloud: CloudUnderTest, job: str, own: AgentId, url: str, way: Way) -> Iterator[Mesh]:
    peers = [name for name in NAMES if name != own]
    with relayed(cloud, job, own, peers, url=url, way=way) as connection:
        channels = {peer: connection.channel(peer) for peer in peers}
        yield meet(membership(own), channels, NoLog(), patience_seconds=60)


def play(
    cloud: CloudUnderTest, url: str, ways: dict[AgentId, Way], trouble: Callable[[], None] | None = None
) -> list[list[int]]:
    job = computing_job(cloud, NAMES)

    def run(own: AgentId) -> list[int]:
        with member(cloud, job, own, url, ways[own]) as mesh:
            results = sums(own, mesh)
            mesh.finish(5.0)
            return results

    with ThreadPoolExecutor(3) as pool:
        running = [pool.submit(run, name) for name in NAMES]
        if trouble is not None:
            trouble()
        return [future.result(120) for future in running]


@pytest.mark.parametrize("ways", [("websocket",) * 3, ("long-poll",) * 3, ("websocket", "long-poll", "auto")])
def test_members_compute_through_the_cloud(
    cloud: CloudUnderTest, box: Middlebox, ways: tuple[Way, Way, Way]
) -> None:
    assert play(cloud, box.url, dict(zip(NAMES, ways, strict=True))) == [expected()] * 3


@pytest.mark.parametrize("way", ["websocket", "long-poll"])
def test_cuts_in_the_middle_change_nothing(cloud: CloudUnderTest, box: Middlebox, way: Way) -> None:
    done = threading.Event()

    def cut_again_and_again() -> None:
        for _ in range(8):
            if done.wait(0.25):
                return
            box.cut()

    cutter = threading.Thread(target=cut_again_and_again)
    try:
        assert play(cloud, box.url, dict.fromkeys(NAMES, way), cutter.start) == [expected()] * 3
    finally:
        done.set()
        cutter.join()


def test_a_restart_of_the_cloud_changes_nothing(cloud: CloudUnderTest, box: Middlebox) -> None:
    def restart() -> None:
        threading.Event().wait(0.3)
        cloud.restart()
        box.port = port_of(cloud)

    assert play(cloud, box.url, dict.fromkeys(NAMES, "websocket"), restart) == [expected()] * 3
