"""Sets up a whole federation on this machine with the commands that real operators type, and starts its programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from hospital_agent.journal import Journal, studies
from privet.demo.configuration import STUDY, write_agent_settings, write_cloud_settings
from privet.demo.dealing import DemoRecords, HospitalData
from privet.demo.loopback import HOST, Api, free_ports, wait_until
from privet.demo.options import DemoOptions
from privet.demo.processes import Processes
from privet.demo.progress import Progress
from shared.ids import AgentId
from shared.rng import random_token

PERSON: Final = "ana"
"""Whose account a federation that stays up has."""


@dataclass(frozen=True, slots=True)
class Folders:
    """Where each party keeps its files below `root`. On real machines these are far apart."""

    root: Path

    @property
    def authority(self) -> Path:
        """The trusted authority's."""
        return self.root / "authority"

    @property
    def cloud(self) -> Path:
        """The cloud's."""
        return self.root / "cloud"

    @property
    def records(self) -> Path:
        """The files that the demo itself deals to the hospitals."""
        return self.root / "records"

    @property
    def logs(self) -> Path:
        """What the programs say on standard error."""
        return self.root / "logs"

    def agent(self, hospital: AgentId) -> Path:
        """A hospital's."""
        return self.root / hospital


@dataclass(frozen=True, slots=True)
class Federation:
    """A running federation: the cloud's URL with a person's token, and each agent's own URL.

    `password`: of the account `PERSON`, which may look at everything with a browser; None where nobody stays to look.
    """

    cloud_url: str
    token: str = field(repr=False)
    agent_urls: Mapping[AgentId, str]
    password: str | None = field(default=None, repr=False)


def set_up(
    records: DemoRecords, options: DemoOptions, folders: Folders, processes: Processes, progress: Progress
) -> Federation:
    """Found, certify, join and start. Raises: PrivetError: a command failed."""
    hospitals = records.hospitals
    with progress.step(f"the authority makes a {options.key_bits}-bit key, every party its own keys"):
        _make_keys(hospitals, options, folders, processes)
    dealing = ", deals them a key in shares" if options.key_mode == "threshold" else ""
    with progress.step(f"the authority certifies them{dealing}, and they join"):
        _join(hospitals, options, folders, processes)
        token = _make_token(folders, processes)
        password = _make_account(folders, processes) if options.stay else None
    ports = free_ports(len(hospitals) + 1)
    federation = Federation(
        f"http://{HOST}:{ports[0]}",
        token,
        {hospital.id: f"http://{HOST}:{port}" for hospital, port in zip(hospitals, ports[1:], strict=True)},
        password,
    )
    with progress.step("the cloud starts"):
        write_cloud_settings(folders.cloud, ports[0], options)
        processes.serve("cloud", ["cloud", "serve", str(folders.cloud)])
        with Api(federation.cloud_url) as cloud:
            wait_until(lambda: cloud.answers("/readyz"), "the cloud", processes.check)
    with progress.step(f"{len(hospitals)} hospitals start"):
        for hospital, port in zip(hospitals, ports[1:], strict=True):
            folder = folders.agent(hospital.id)
            write_agent_settings(folder, hospital, federation.cloud_url, port, options)
            processes.serve(hospital.id, ["agent", "run", str(folder)])
        _wait_for_agents(federation, processes)
    return federation


def approve_all(folders: Folders, records: DemoRecords, processes: Processes) -> None:
    """Every hospital's steward says yes to the study, as soon as its agent was shown it.

    Raises: PrivetError: a command failed, or an agent was shown nothing in time.
    """
    for hospital in records.hospitals:
        with Journal.open(folders.agent(hospital.id)) as journal:
            wait_until(partial(_was_shown, journal), f"the study at hospital {hospital.id}", processes.check)
    processes.call_all(
        {
            h.id: ["agent", "studies", "approve", str(folders.agent(h.id)), STUDY, "--yes"]
            for h in records.hospitals
        }
    )


def _was_shown(journal: Journal) -> bool:
    return studies.study(journal, STUDY) is not None


def _make_keys(
    hospitals: tuple[HospitalData, ...], options: DemoOptions, folders: Folders, processes: Processes
) -> None:
    found = [
        "authority",
        "init",
        str(folders.authority),
        "--name",
        "Demo",
        "--key-bits",
        str(options.key_bits),
    ]
    agents: dict[str, Sequence[str]] = {
        h.id: ["agent", "init", str(folders.agent(h.id)), "--id", h.id] for h in hospitals
    }
    processes.call_all({"authority": found, "cloud": ["cloud", "init", str(folders.cloud)], **agents})


def _join(
    hospitals: tuple[HospitalData, ...], options: DemoOptions, folders: Folders, processes: Processes
) -> None:
    # A real authority compares each fingerprint with what the member reads out; here both are one machine.
    requests = [folders.cloud / "cloud.csr", *(folders.agent(h.id) / f"{h.id}.csr" for h in hospitals)]
    certified = processes.call(
        "authority", "authority", "certify", str(folders.authority), *map(str, requests), "--yes"
    )
    if options.key_mode == "threshold":
        # Shares go to the agents that are certified, so the first key is replaced by one that is dealt to them.
        certified = processes.call(
            "authority", "authority", "rotate", str(folders.authority), "--key-mode", "threshold"
        )
    bundles, root = certified["bundles"], ["--root-sha256", certified["root_sha256"]]
    joins: dict[str, Sequence[str]] = {
        h.id: ["agent", "join", str(folders.agent(h.id)), "--bundle", bundles[h.id], *root] for h in hospitals
    }
    cloud = ["cloud", "join", str(folders.cloud), "--bundle", bundles["cloud"], *root]
    processes.call_all({"cloud": cloud, **joins})


def _make_token(folders: Folders, processes: Processes) -> str:
    roles = ("--role", "coordinator", "--role", "analyst")
    made = processes.call("cloud", "cloud", "token", "create", str(folders.cloud), "--label", "demo", *roles)
    return str(made["token"])


def _make_account(folders: Folders, processes: Processes) -> str:
    """An analyst's: roles that can change something need a second factor, which a demo cannot hand over."""
    password = random_token()
    add = ("cloud", "person", "add", str(folders.cloud), "--name", PERSON, "--role", "analyst")
    processes.call("cloud", *add, "--password-stdin", line=password)
    return password


def _wait_for_agents(federation: Federation, processes: Processes) -> None:
    with Api(federation.cloud_url, federation.token) as cloud:
        wait_until(
            lambda: len(cloud.get("/v1/hospitals")["hospitals"]) == len(federation.agent_urls),
            "the hospitals' agents",
            processes.check,
        )
    for hospital, url in federation.agent_urls.items():
        with Api(url) as agent:
            wait_until(partial(agent.answers, "/healthz"), f"agent {hospital}", processes.check)
