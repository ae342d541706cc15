"""No record of a hospital outside of it, in secret jobs: not on the wire, not at the cloud, not in a compute party.

Each record of one column is a random number of 31 bits, so that two of them in a row cannot be there by chance. The
same scanner finds them where they may be: in the hospital that they belong to.
"""

from __future__ import annotations

import random
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hospital_agent.journal import JobStatus
from shared.protocol.participation import from_json
from tests.support.leaks import Pattern, Scanner, bytes_patterns, everything_in
from tests.support.memory import memory_of
from tests.support.programs import Founded, RealFederation, real_federation
from tests.support.proxies import Recording, recording_proxy

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc of other processes"),
    pytest.mark.xdist_group("leaks"),
]

HOSPITALS = ("h1", "h2", "h3")
RECORDS = 400
GREATEST = 2**31 - 1
SCHEMA: dict[str, Any] = {
    "attributes": [
        {
            "name": "planted",
            "values": [],
            "cuts": None,
            "numeric": {"minimum": "0", "maximum": str(GREATEST), "decimals": 0},
        },
        {
            "name": "age",
            "values": [],
            "cuts": None,
            "numeric": {"minimum": "0", "maximum": "120", "decimals": 0},
        },
    ],
    "class": {"name": "outcome", "labels": ["well", "ill"]},
}
Found = set[tuple[str, str]]


def planted(name: str) -> list[int]:
    choose = random.Random(name)
    return [choose.randrange(2**24, GREATEST) for _ in range(RECORDS)]


def patterns_of(name: str) -> list[Pattern]:
    """Neighbours in the column, as words and as text; every tenth is enough to see a column."""
    values = planted(name)
    found = []
    for first, second in zip(values[::10], values[1::10], strict=True):
        found.append(Pattern(name, "words", struct.pack("<II", first, second)))
        found.append(Pattern(name, "text", str(first).encode(), is_number=True))
    return found


def write_records(folder: Path) -> dict[str, Path]:
    paths = {}
    for name in HOSPITALS:
        choose = random.Random(f"age of {name}")
        lines = [
            f"{value},{(age := choose.randrange(20, 90))},{'ill' if age > 60 else 'well'}"
            for value in planted(name)
        ]
        paths[name] = folder / f"{name}.csv"
        paths[name].write_text("\n".join(["planted,age,outcome", *lines]) + "\n")
    return paths


class Watched:
    """One job that was looked at in the middle and at its end. Found, by place."""

    def __init__(self, federation: RealFederation, recording: Recording) -> None:
        self.at_cloud: dict[str, Found] = {}
        self.memory: dict[str, Found] = {}
        self.folder: dict[str, Found] = {}
        self.forbidden = ""
        files = write_records(federation.folder)
        job = federation.start_job(
            SCHEMA, files, mode="gain-ratio", max_depth=6, secret={"compute_parties": list(HOSPITALS)}
        )
        federation.wait_for(job, "progress", 5)
        scanner = Scanner(
            [*(p for name in HOSPITALS for p in patterns_of(name)), *self._keys(federation, job)]
        )
        for name in HOSPITALS:
            with federation.agents[name].frozen() as pid:
                self.folder[name] = scanner.find(everything_in(self._files(federation.folder / name)))
                try:
                    self.memory[name] = scanner.find(memory_of(pid))
                except PermissionError as error:
                    self.forbidden = str(error)
        with federation.cloud.frozen() as pid:
            try:
                self.at_cloud["memory"] = scanner.find(memory_of(pid))
            except PermissionError as error:
                self.forbidden = str(error)
        self.was_running = "done" not in federation.events(job)
        federation.wait_until_done(job)
        self.statuses = {federation.entry(name, job).status for name in HOSPITALS}
        self.at_cloud["folder"] = scanner.find(everything_in(self._files(federation.cloud_folder)))
        self.at_cloud["wire"] = scanner.find(everything_in(recording.streams))
        self.at_cloud["logs"] = scanner.find(
            everything_in([program.log.read_bytes() for program in federation.programs])
        )
        self.wire_bytes = sum(map(len, recording.streams))
        self.left = [
            path for name in HOSPITALS for path in (federation.folder / name / "computing").iterdir()
        ]

    @staticmethod
    def _keys(federation: RealFederation, job: str) -> list[Pattern]:
        found = []
        for name in HOSPITALS:
            data = federation.entry(name, job).participation
            assert data is not None
            found += bytes_patterns(f"key of {name}", from_json(data).ephemeral_private)
        return found

    @staticmethod
    def _files(folder: Path) -> list[bytes]:
        return [path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()]


@pytest.fixture(scope="module")
def watched(founded_federation: Founded, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    recordings: list[Recording] = []

    @contextmanager
    def through(port: int) -> Iterator[str]:
        with recording_proxy(port) as recording:
            recordings.append(recording)
            yield recording.url

    folder = tmp_path_factory.mktemp("leaks")
    with real_federation(founded_federation, folder, through=through) as federation:
        yield Watched(federation, recordings[0])


def secrets_in(found: Found) -> set[str]:
    return {secret for secret, _ in found}


@pytest.mark.parametrize("place", ["wire", "folder", "logs", "memory"])
def test_the_cloud_sees_no_record_and_no_key(watched: Watched, place: str) -> None:
    if place not in watched.at_cloud:
        pytest.skip(watched.forbidden)
    assert watched.at_cloud[place] == set()


@pytest.mark.parametrize("name", HOSPITALS)
def test_a_compute_party_has_no_record_of_another_hospital(watched: Watched, name: str) -> None:
    own = {name, f"key of {name}"}
    assert secrets_in(watched.folder[name]) <= own
    if name not in watched.memory:
        pytest.skip(watched.forbidden)
    assert secrets_in(watched.memory[name]) <= own


@pytest.mark.parametrize("name", HOSPITALS)
def test_in_the_hospital_itself_the_scanner_finds_them(watched: Watched, name: str) -> None:
    assert (name, "words") in watched.folder[name]
    if name in watched.memory:
        assert (name, "words") in watched.memory[name] or (name, "text") in watched.memory[name]


def test_it_was_a_whole_job_caught_in_the_middle(watched: Watched) -> None:
    assert watched.was_running
    assert watched.statuses == {JobStatus.COMPLETE}
    assert watched.wire_bytes > 1_000_000
    assert watched.left == []
