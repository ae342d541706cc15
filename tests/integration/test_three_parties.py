"""Three real compute parties over the direct transport: killed one after the other, and with a saboteur in between."""

from __future__ import annotations

import json
import pickle
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.parties import opened, run_three, start_party, tasks_for, write_shares
from bench.party import PartyResult
from shared.mpc.ring import Words
from tests.support.proxies import chaos_proxy

PROGRAM = "bench.mpc_programs:products"
X = np.arange(100, dtype=np.uint64) + 3
Y = np.full(100, 3, np.uint64)


class Parties:
    """Three processes that share keys, logs and ports, so that each may be killed and started again."""

    def __init__(self, folder: Path, arguments: dict[str, Any], x: Words = X, y: Words = Y) -> None:
        self._folder = folder
        write_shares(folder, {"x": x, "y": y}, {})
        self._tasks = tasks_for(folder, PROGRAM, arguments, log=True)
        self.processes = [start_party() for _ in range(3)]
        self.ports = [self._introduce(index) for index in range(3)]
        self.told: Sequence[int] = self.ports

    def _introduce(self, index: int) -> int:
        self._say(index, self._tasks[index])
        stdout = self.processes[index].stdout
        assert stdout is not None
        port = int(json.loads(stdout.readline()))
        self._tasks[index]["port"] = port
        return port

    def _say(self, index: int, what: Any) -> None:
        stdin = self.processes[index].stdin
        assert stdin is not None
        stdin.write(json.dumps(what).encode() + b"\n")
        stdin.flush()

    def begin(self, told: Sequence[int] | None = None) -> None:
        """Let them call one another at these ports."""
        self.told = told or self.ports
        for index in range(3):
            self._say(index, self.told)

    def kill(self, index: int) -> None:
        """kill -9 in the middle of the work, and a new start over what it left."""
        process = self.processes[index]
        assert process.poll() is None
        assert not self.has_result(index)
        process.kill()
        process.communicate()
        self.processes[index] = start_party()
        self._introduce(index)
        self._say(index, self.told)

    def has_result(self, index: int) -> bool:
        return (self._folder / f"{index}.result").exists()

    def log_bytes(self, index: int) -> int:
        path = self._folder / f"{index}.log"
        return path.stat().st_size if path.exists() else 0

    def results(self) -> list[PartyResult]:
        assert [process.wait(120) for process in self.processes] == [0, 0, 0]
        return [pickle.loads((self._folder / f"{index}.result").read_bytes()) for index in range(3)]

    def close(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.communicate()


@contextmanager
def parties(folder: Path, times: int, x: Words = X, y: Words = Y) -> Iterator[Parties]:
    three = Parties(folder, {"times": times}, x, y)
    try:
        yield three
    finally:
        three.close()


def assert_right(results: Sequence[PartyResult], times: int, x: Words = X, y: Words = Y) -> None:
    expected = x.copy()
    for _ in range(times):
        expected *= y
    assert np.array_equal(opened([result.value for result in results]), expected)


def wait_for_log(three: Parties, index: int, more_bytes: int) -> None:
    until = three.log_bytes(index) + more_bytes
    for _ in range(3000):
        if three.log_bytes(index) >= until:
            return
        time.sleep(0.01)
    raise AssertionError("the parties did not go on")


def test_they_multiply_and_leave_no_log(tmp_path: Path) -> None:
    results = run_three(PROGRAM, {"times": 50}, shares={"x": X, "y": Y}, log=True)
    assert_right(results, 50)
    assert {result.rounds for result in results} == {50}
    assert {result.costs["products"].sent_bytes for result in results} == {50 * X.nbytes}


def test_a_killed_party_comes_back_and_the_job_completes(tmp_path: Path) -> None:
    with parties(tmp_path, 6000) as three:
        three.begin()
        for index in range(3):
            wait_for_log(three, index, 300_000)
            three.kill(index)
        assert_right(three.results(), 6000)
        assert not list(tmp_path.glob("*.log"))


def test_a_party_that_lost_its_log_gets_everything_again(tmp_path: Path) -> None:
    with parties(tmp_path, 3000) as three:
        three.begin()
        wait_for_log(three, 1, 500_000)
        process = three.processes[1]
        process.kill()
        process.communicate()
        log = tmp_path / "1.log"
        whole = log.read_bytes()
        log.write_bytes(whole[: len(whole) // 2])
        three.processes[1] = start_party()
        three._introduce(1)
        three._say(1, three.told)
        assert_right(three.results(), 3000)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_connections_that_are_delayed_cut_and_reordered(tmp_path: Path, seed: int) -> None:
    with parties(tmp_path, 800) as three, ExitStack() as stack:
        proxies = [
            stack.enter_context(chaos_proxy(port, 10 * seed + index))
            for index, port in enumerate(three.ports)
        ]
        three.begin([proxy.port for proxy in proxies])
        for index in range(3):
            wait_for_log(three, index, 30_000)
            three.kill(index)
        for proxy in proxies:
            proxy.share = 0.3
        assert_right(three.results(), 800)
        assert sum(proxy.cut for proxy in proxies) >= 3


def test_big_messages_cross(tmp_path: Path) -> None:
    x, y = np.arange(10**6, dtype=np.uint64), np.full(10**6, 5, np.uint64)
    with parties(tmp_path, 12, x, y) as three:
        three.begin()
        wait_for_log(three, 2, 20_000_000)
        three.kill(2)
        assert_right(three.results(), 12, x, y)


def test_a_party_that_fails_ends_the_run() -> None:
    with pytest.raises(RuntimeError, match="ended with"):
        run_three("bench.mpc_programs:products", {"times": "many"}, shares={"x": X, "y": Y})


def test_a_process_without_a_task_says_nothing() -> None:
    process = start_party(stderr=subprocess.DEVNULL)
    output, _ = process.communicate(b"")
    assert output == b""
    assert process.returncode != 0
