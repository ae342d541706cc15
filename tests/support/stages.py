"""Where a walk over the pages plays: a federation that has grown nothing yet, its people, and where its pages are.

    with stage_in_threads(tmp_path) as stage:
        stage.add_person("cora", "coordinator")
        tab.go(f"{stage.cloud}/sign-in")
        tab.go(f"{stage.houses['h1']}/")

`stage_in_threads` is quick: toy keys, daemons in threads. `stage_of_programs` is what people run:
`privet cloud serve` and `privet agent run` as processes, keys of 2048 bits, the agents' own ports.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from hospital_agent.people.stewards import Stewards
from tests.support.browsing import PASSWORD
from tests.support.clinic import CLASSES, NAMES, dealt
from tests.support.federation import Hospital, local_federation
from tests.support.house import serving_pages
from tests.support.programs import ROOT, Founded, Program, free_port, real_federation

THREE = ("h1", "h2", "h3")
STEWARD = "Ada Lovelace"
POLICY = """\
approval = "study"
min_node = 1
min_child = 1
max_depth = 0
allow_publish_tree = true
allow_secret_modes = true
"""


@dataclass(frozen=True)
class Stage:
    """`cloud`, `houses`: base addresses, the houses' by hospital. `add_person`: name and role; all have `PASSWORD`.

    `silent`: while it lasts, a hospital's agent says nothing.
    """

    cloud: str
    houses: Mapping[str, str]
    add_person: Callable[[str, str], object]
    silent: Callable[[str], AbstractContextManager[object]]


@contextmanager
def stage_in_threads(folder: Path) -> Iterator[Stage]:
    """Everything in this process."""
    with local_federation(folder, THREE, policy=POLICY) as federation, ExitStack() as houses:
        served = {}
        for name, path in tables_of_clinic(folder).items():
            hospital = federation.hospitals[name]
            hospital.configure(path)
            _appoint(hospital.folder)
            served[name] = houses.enter_context(serving_pages(hospital.folder)).rstrip("/")
        accounts = federation.cloud.services.people.accounts
        yield Stage(
            federation.cloud.base_url,
            served,
            lambda name, role: accounts.add(name, PASSWORD, [role], None),
            lambda name: _stopped(federation.hospitals[name]),
        )


@contextmanager
def stage_of_programs(founded: Founded, folder: Path) -> Iterator[Stage]:
    """Everything in processes of its own."""
    tables = tables_of_clinic(folder)
    with real_federation(founded, folder) as federation:
        houses = {}
        for name, agent in federation.agents.items():
            port = free_port()
            _settle(federation.folder / name, name, federation.agent_url, port, tables[name])
            _appoint(federation.folder / name)
            agent.start()
            houses[name] = f"http://127.0.0.1:{port}"
        federation.wait(lambda: all(map(_is_open, federation.agents.values())), "the hospitals' pages")
        yield Stage(
            f"http://127.0.0.1:{federation.port}",
            houses,
            lambda name, role: _add_by_command(federation.cloud_folder, name, role),
            lambda name: federation.agents[name].frozen(),
        )


@contextmanager
def _stopped(hospital: Hospital) -> Iterator[None]:
    hospital.stop()
    try:
        yield
    finally:
        hospital.start()


def tables_of_clinic(folder: Path) -> dict[str, Path]:
    """The clinic's records as one file a hospital."""
    paths = {}
    for name, rows in dealt(*THREE).items():
        lines = [",".join([*NAMES, "diagnosis"])]
        lines += [",".join([*map(str, row[:-1]), CLASSES[row[-1]]]) for row in rows]
        paths[name] = folder / f"{name}.csv"
        paths[name].write_text("\n".join(lines) + "\n")
    return paths


def _settle(folder: Path, name: str, cloud: str, port: int, table: Path) -> None:
    settings = f"""\
id = "{name}"
cloud = "{cloud}"
[local]
port = {port}
[data]
path = "{table}"
synthetic = true
"""
    (folder / "agent.toml").write_text(settings)
    (folder / "policy.toml").write_text(POLICY)


def _appoint(folder: Path) -> None:
    Stewards.of(folder).with_one(STEWARD, PASSWORD).save()


def _is_open(agent: Program) -> bool:
    return "/house" in agent.told or "http://127.0.0.1" in agent.told


def _add_by_command(folder: Path, name: str, role: str) -> None:
    call = ["cloud", "person", "add", str(folder), "--name", name, "--role", role, "--password-stdin"]
    program = [sys.executable, "-m", "privet", *call]
    subprocess.run(program, input=f"{PASSWORD}\n", text=True, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
