"""No planted count and no key material in anything that the cloud sees, keeps, says or remembers.

A real federation of processes with a fresh 2048-bit key. Every byte between agents and cloud passes a recorder; the
cloud's folder, all logs and the cloud's memory are searched while the job runs and after it. The same scanner finds
the counts and the key where they may be, in an agent, and what the cloud does hold in each of the places searched.
"""

from __future__ import annotations

import math
import sqlite3
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hospital_agent.keyring import Keyring
from shared.protocol.participation import from_json
from tests.support.leaks import (
    Pattern,
    Scanner,
    bytes_patterns,
    count_patterns,
    everything_in,
    integer_patterns,
    key_patterns,
)
from tests.support.memory import PythonInts, memory_of
from tests.support.programs import Founded, Program, RealFederation, real_federation
from tests.support.proxies import Recording, recording_proxy

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc of the cloud's process"),
    pytest.mark.xdist_group("leaks"),
]

SCHEMA: dict[str, Any] = {
    "attributes": [{"name": "marker", "values": ["0", "1"]}, {"name": "sign", "values": ["0", "1"]}],
    "class": {"name": "outcome", "labels": ["well", "ill"]},
}
PLANTED = {
    "h1": (734_917, 128_573, 219_647, 381_289),
    "h2": (145_861, 263_119, 174_337, 296_827),
    "h3": (187_213, 152_959, 331_487, 229_763),
}
"""How often each hospital has the records (0, 0, well), (0, 1, ill), (1, 1, well), (1, 0, ill)."""
RECORDS = ("0,0,well\n", "0,1,ill\n", "1,1,well\n", "1,0,ill\n")
POOLED = tuple(map(sum, zip(*PLANTED.values(), strict=True)))

Found = set[tuple[str, str]]


def tables_of(groups: tuple[int, ...]) -> list[list[int]]:
    """All that is counted from such records: each attribute's cells, its rows, and the classes."""
    a, b, c, d = groups
    return [[a, b, c, d], [a, d, c, b], [a + b, c + d], [a + d, b + c], [a + c, b + d]]


def counts() -> list[tuple[str, list[int]]]:
    """Every planted table by name, and the sums over the hospitals, which only these may know."""
    holders = {**PLANTED, "sum": POOLED}
    return [(name, table) for name, groups in holders.items() for table in tables_of(groups)]


def all_count_patterns() -> list[Pattern]:
    return [pattern for name, table in counts() for pattern in count_patterns(name, table)]


def all_integers(ints: PythonInts) -> list[Pattern]:
    return integer_patterns([(f"{name}: {cell}", cell) for name, table in counts() for cell in table], ints)


@dataclass(frozen=True)
class Keys:
    """What only agents hold."""

    p: int
    q: int
    secret: bytes
    private: Mapping[str, bytes]

    @classmethod
    def of(cls, federation: RealFederation) -> Keys:
        """From the agents' own folders."""
        private = {}
        for name in federation.agents:
            ring = Keyring.open(federation.folder / name)
            private[f"identity of {name}"] = ring.identity.to_raw()
            private[f"sealing key of {name}"] = ring.sealing_private
        round_keys = ring.hospital_keys().round_keys
        holder = ring.cipher(str(round_keys.cipher.public.key_id)).holder
        return cls(int(holder.private.p), int(holder.private.q), round_keys.secret, private)

    def patterns(self) -> list[Pattern]:
        """All of them, and what would do as well as p and q."""
        numbers = {
            "p": self.p,
            "q": self.q,
            "p squared": self.p**2,
            "q squared": self.q**2,
            "lambda": math.lcm(self.p - 1, self.q - 1),
        }
        found = [
            pattern
            for name, value in numbers.items()
            for pattern in key_patterns(name, value, (value.bit_length() + 7) // 8)
        ]
        for name, secret in {"G": self.secret, **self.private}.items():
            found += bytes_patterns(name, secret)
        return found


@dataclass
class Search:
    """What was found where. `held`: what the cloud does hold, by place; `agent`: in an agent, by place."""

    job: str
    leaks: dict[str, Found] = field(default_factory=dict)
    held: dict[str, Found] = field(default_factory=dict)
    agent: dict[str, Found] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    forbidden: str = ""

    def look(self, place: str, haystack: bytes, secrets: Scanner, controls: Scanner) -> None:
        """Search one place of the cloud's."""
        self.sizes[place] = len(haystack)
        self.leaks[place] = secrets.find(haystack)
        self.held[place] = controls.find(haystack)


@pytest.fixture(scope="module")
def search(founded_federation: Founded, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Search]:
    folder = tmp_path_factory.mktemp("leaks")
    recordings: list[Recording] = []

    def through(port: int) -> Any:
        return _recorded(port, recordings)

    with real_federation(founded_federation, folder, through=through) as federation:
        yield watch_job(federation, recordings[0])


def _recorded(port: int, recordings: list[Recording]) -> Any:
    @contextmanager
    def way() -> Iterator[str]:
        with recording_proxy(port) as recording:
            recordings.append(recording)
            yield recording.url

    return way()


def write_records(folder: Path) -> dict[str, Path]:
    paths = {}
    for name, groups in PLANTED.items():
        paths[name] = folder / f"{name}.csv"
        lines = [record * count for record, count in zip(RECORDS, groups, strict=True)]
        paths[name].write_text("".join(["marker,sign,outcome\n", *lines]))
    return paths


def watch_job(federation: RealFederation, recording: Recording) -> Search:
    """Run the job, stop the cloud now and then for a look into its memory and its folder, and search all of it."""
    keys = Keys.of(federation)
    job = federation.start_job(SCHEMA, write_records(federation.folder))
    search = Search(job)
    n = keys.p * keys.q
    controls = [Pattern("job", "text", job.encode()), *key_patterns("n", n, 256)]
    controls.append(Pattern("route", "text", b"/v1/messages"))
    # Contributions travel packed by gzip: to find one proves that packed bytes are searched too.
    controls.append(Pattern("contribution", "text", b'"type":"contribution"'))
    known, secret_patterns = Scanner(controls), [*keys.patterns(), *all_count_patterns()]
    for moment, (kind, times) in {
        "first contribution": ("contributed", 1),
        "first sum": ("aggregate", 1),
        "first decisions": ("decided", 3),
        "second round": ("contributed", 5),
    }.items():
        federation.wait_for(job, kind, times)
        with federation.cloud.frozen() as pid:  # so that nobody can go on
            secret_patterns += ephemeral_patterns(federation, job)
            look_into(search, f"memory, {moment}", pid, secret_patterns, known)
            secrets, folder = Scanner(secret_patterns), files_in(federation.cloud_folder)
            search.look(f"folder, {moment}", everything_in(folder), secrets, known)
            if kind == "decided":
                look_at_agent(search, federation.agents["h1"], federation.folder / "h1", secret_patterns)
    federation.wait_until_done(job)
    secrets = Scanner(secret_patterns)
    look_into(search, "memory, end", federation.cloud.pid, secret_patterns, known)
    search.look("folder, end", everything_in(files_in(federation.cloud_folder)), secrets, known)
    search.look("tables, end", everything_in(table_contents(federation.cloud_folder)), secrets, known)
    search.look("wire", everything_in(recording.streams), secrets, known)
    logs = [program.log.read_bytes() for program in federation.programs]
    search.look("logs", everything_in(logs), secrets, known)
    model = [path.read_bytes() for path in sorted((federation.folder / "h1" / "models").iterdir())]
    search.agent["model"] = secrets.find(everything_in(model))
    return search


def look_into(search: Search, place: str, pid: int, patterns: list[Pattern], known: Scanner) -> None:
    """Search a process's memory; where that is not allowed, remember so."""
    try:
        memory = memory_of(pid)
    except PermissionError as error:
        search.forbidden = str(error)
        return
    secrets = Scanner([*patterns, *all_integers(PythonInts.of(pid))])
    search.look(place, memory, secrets, known)


def look_at_agent(search: Search, agent: Program, folder: Path, patterns: list[Pattern]) -> None:
    """The positive control: where counts and keys may be, the scanner finds them."""
    with agent.frozen() as pid:
        journal = [path.read_bytes() for path in sorted(folder.glob("journal.sqlite3*"))]
        search.agent["journal"] = Scanner(patterns).find(b"".join(journal))
        try:
            memory = memory_of(pid)
        except PermissionError as error:
            search.forbidden = str(error)
            return
        scanner = Scanner([*patterns, *all_integers(PythonInts.of(pid))])
        search.agent["memory"] = scanner.find(memory)


def ephemeral_patterns(federation: RealFederation, job: str) -> list[Pattern]:
    """The agents' X25519 keys of this job, as their journals have them now."""
    found = []
    for name in federation.agents:
        data = federation.entry(name, job).participation
        if data is not None:
            found += bytes_patterns(f"ephemeral key of {name}", from_json(data).ephemeral_private)
    return found


def files_in(folder: Path) -> list[bytes]:
    """Everything in the cloud's folder, the write-ahead log included."""
    return [path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()]


def table_contents(folder: Path) -> list[bytes]:
    """Every value of every table: large ones are in pieces in the file."""
    values: list[bytes] = []
    connection = sqlite3.connect(folder / "cloud.db")
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        for row in connection.execute(f'SELECT * FROM "{name}"'):
            values += [value if isinstance(value, bytes) else str(value).encode() for value in row]
    connection.close()
    return values


PLACES = ["wire", "folder", "tables", "logs", "memory"]


def of_place(search: Search, found: Mapping[str, Found], place: str) -> dict[str, Found]:
    """All looks at one place. Skips where the system did not allow to look."""
    looks = {name: what for name, what in found.items() if name.partition(",")[0] == place}
    if place == "memory" and search.forbidden:
        pytest.skip(f"this system does not let a parent read its child's memory: {search.forbidden}")
    assert looks
    return looks


@pytest.mark.parametrize("place", PLACES)
def test_nothing_secret_is_there(search: Search, place: str) -> None:
    assert {name: what for name, what in of_place(search, search.leaks, place).items() if what} == {}


@pytest.mark.parametrize(
    ("place", "control"),
    [
        ("wire", ("job", "text")),
        ("wire", ("n", "hexadecimal")),
        ("wire", ("contribution", "text")),
        ("folder", ("job", "text")),
        ("tables", ("job", "text")),
        ("tables", ("n", "hexadecimal")),
        ("logs", ("route", "text")),
        ("logs", ("job", "text")),
        ("memory", ("job", "text")),
        ("memory", ("n", "CPython digits")),
        ("memory", ("n", "hexadecimal")),
    ],
)
def test_what_the_cloud_holds_is_found_there(search: Search, place: str, control: tuple[str, str]) -> None:
    for name, found in of_place(search, search.held, place).items():
        assert control in found, name


@pytest.mark.parametrize("form", ["CPython digits", "little-endian"])
def test_agent_holds_the_key(search: Search, form: str) -> None:
    assert {("p", form), ("q", form)} <= of_place(search, search.agent, "memory")["memory"]


@pytest.mark.parametrize(
    ("place", "form"),
    [("memory", "Python integer"), ("journal", "number in text"), ("model", "number in text")],
)
def test_agent_holds_the_sums(search: Search, place: str, form: str) -> None:
    totals = {"model": POOLED[0] + POOLED[2]}
    assert (f"sum: {totals.get(place, POOLED[0])}", form) in of_place(search, search.agent, place)[place]


def test_whole_job_passed_the_recorder(search: Search) -> None:
    assert search.sizes["wire"] > 30_000
    assert min(size for name, size in search.sizes.items() if name.startswith("memory")) > 2**24
