"""A whole federation in one process: the real cloud on a loopback port, the real daemon of each hospital in a thread.

    with local_federation(tmp_path, ["h1", "h2", "h3"]) as federation:
        outcome = federation.run_job(schema, {"h1": first_csv, "h2": second_csv, "h3": third_csv})
        outcome.models["h1"].tree

Everything between them is real HTTP, real journals and real files. `bits=512` is a toy key behind a seam that only
tests have (`FixedKeyring`); a federation of that size starts in a moment and can run many jobs after another.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog

from hospital_agent.cloud import Patience
from hospital_agent.daemon.loop import Daemon
from hospital_agent.daemon.progress import Progress
from hospital_agent.journal import JobEntry, JobStatus, Journal
from hospital_agent.keyring import Keyring, MeteredCipher
from hospital_agent.models import Model, shelf_of
from machine.files import make_private_folder, write_file
from shared.crypto import agreement, certificates
from shared.crypto.certificates import Role
from shared.ids import AgentId
from shared.protocol.agent_effects import HospitalKeys
from shared.protocol.enrolment import fingerprint
from shared.protocol.profiles import RoundKeys
from tests.support.cloud_server import CloudUnderTest, agent_bundle, running_cloud
from tests.support.threshold_keys import dealt
from tests.support.toy_keys import fixed_key
from tests.support.world import SECRET, VALIDITY, Parties

OPEN_POLICY = """\
approval = "automatic"
min_node = 1
min_child = 1
max_depth = 0
allow_publish_tree = true
allow_paper_profile = true
allow_secret_modes = true
"""
QUICK = Patience(first_seconds=0.02, most_seconds=0.2, total_seconds=5.0)
_FIRST_SERIAL = 5000
_LOOK_SECONDS = 0.04
"""Between two looks at the journals, each of which costs CPU that the agents would need."""


class SealedParties(Parties):
    """Parties whose agents can open a bundle: each certificate names a sealing key that this object knows."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.sealing: dict[str, bytes] = {}
        for serial, name in enumerate(self.names, start=_FIRST_SERIAL):
            self.sealing[name] = hashlib.sha256(f"sealing key of {name}".encode()).digest()
            second = agreement.public_of(self.sealing[name]).hex()
            request = certificates.create_request(self.identities[name], name, Role.AGENT, second)
            subject = certificates.parse_request(request)
            self.certificates[name] = certificates.issue(self.root_key, self.root, subject, VALIDITY, serial)


class FixedKeyring(Keyring):
    """The seam for toy keys: rounds use a key that no bundle could bring."""

    def hospital_keys(self, key_id: str | None = None) -> HospitalKeys:
        """The toy key, whatever is asked for."""
        toy = fixed_key(512)
        if toy.public.key_id not in self._ciphers:
            self._ciphers[toy.public.key_id] = RoundKeys(MeteredCipher.create(toy), SECRET)
        return HospitalKeys(self._ciphers[toy.public.key_id], self.hospital_trust())


@dataclass
class Hospital:
    """One agent: its folder, and its daemon in a thread while it runs. `output`: what it told.

    `compute`: members of `[compute]` in its settings.
    """

    id: str
    folder: Path
    cloud_url: str
    toy: bool
    output: io.StringIO = field(default_factory=io.StringIO)
    compute: Mapping[str, str] = field(default_factory=dict)
    failure: BaseException | None = None
    daemon: Daemon | None = None
    _thread: threading.Thread | None = None

    def configure(self, path: Path | None = None, **data: Any) -> None:
        """Write `agent.toml`. `data`: further members of `[data]`."""
        members = {"synthetic": True, **({} if path is None else {"path": str(path)}), **data}
        lines = [f'id = "{self.id}"', f'cloud = "{self.cloud_url}"', "[local]", "serve = false", "[data]"]
        lines += [f"{name} = {json.dumps(value)}" for name, value in members.items()]
        lines += ["[compute]", *(f"{name} = {json.dumps(value)}" for name, value in self.compute.items())]
        write_file(self.folder / "agent.toml", "\n".join(lines).encode())

    def allow(self, policy: str) -> None:
        """Write `policy.toml`."""
        write_file(self.folder / "policy.toml", policy.encode())

    def start(self) -> None:
        """Open the daemon and let it run."""
        keyring = (FixedKeyring if self.toy else Keyring).open(self.folder)
        progress = Progress(self.id, stream=self.output, terminal=True)
        self.daemon = Daemon.assemble(self.folder, keyring, progress=progress, patience=QUICK)
        self.daemon.client.wait_seconds = 1
        self._thread = threading.Thread(target=self._run, args=(self.daemon,), name=self.id, daemon=True)
        self._thread.start()

    def _run(self, daemon: Daemon) -> None:
        try:
            daemon.run()
        except BaseException as error:
            self.failure = error

    def stop(self) -> None:
        """End the daemon after its present step."""
        if self.daemon is None or self._thread is None:
            return
        self.daemon.stop.set()
        self._thread.join(30)
        assert not self._thread.is_alive(), f"{self.id} did not stop"
        self.daemon = None

    def entry(self, job: str) -> JobEntry | None:
        """The job as this hospital's journal has it now."""
        if self.failure is not None:
            raise AssertionError(f"the daemon of {self.id} died:\n{self.output.getvalue()}") from self.failure
        with Journal.open(self.folder) as journal:
            return journal.job(job)

    def unanswered(self) -> bool:
        """Whether the cloud has yet to answer a message of this hospital."""
        with Journal.open(self.folder) as journal:
            return bool(journal.pending())

    def model(self, job: str) -> Model:
        """The verified model of a job."""
        ring = Keyring.open(self.folder)
        return shelf_of(self.folder, ring.identity.public, ring.hospital_trust().root).get(job)


@dataclass(frozen=True)
class JobOutcome:
    """How a job ended at each hospital. `seconds`: from the start to the last hospital's end."""

    job: str
    entries: Mapping[str, JobEntry]
    models: Mapping[str, Model]
    seconds: float

    @property
    def statuses(self) -> set[JobStatus]:
        """The statuses that occur."""
        return {entry.status for entry in self.entries.values()}


@dataclass
class LocalFederation:
    """A cloud and its hospitals, all running."""

    cloud: CloudUnderTest
    hospitals: dict[str, Hospital]
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def start_job(
        self,
        schema: Mapping[str, Any],
        files: Mapping[str, Path],
        *,
        data: Mapping[str, Any] | None = None,
        study_of: str | None = None,
        **plan: Any,
    ) -> str:
        """Point the hospitals at their files, create a study and start a job; its id.

        Args: schema: the plain form (`Schema.to_json`). data: further members of `[data]`. study_of: an earlier job, in
            whose study this one shall be, in place of a new study. plan: the job's rules.
        """
        for name, path in files.items():
            self.hospitals[name].configure(path, **(data or {}))
        names = {"publish_tree", "disclosure", "synthetic", "criteria", "asking"}
        if study_of is not None:
            study = str(self.cloud.people.get(f"/v1/jobs/{study_of}").json()["study"])
        else:
            terms = {key: value for key, value in plan.items() if key in names}
            study = self.cloud.study(dict(schema), name=f"study-{next(self._numbers)}", **terms)
        rules = {key: value for key, value in plan.items() if key not in names}
        return self.cloud.job(study, **{"invited": sorted(files), **rules})

    def wait(
        self, job: str, hospitals: Sequence[str], *, timeout_seconds: float = 60.0
    ) -> dict[str, JobEntry]:
        """Until the job is over at each of these hospitals and its last word is with the cloud."""
        end = time.monotonic() + timeout_seconds
        while time.monotonic() < end:
            if self.is_settled(job, hospitals):
                return {name: self._entry(name, job) for name in hospitals}
            time.sleep(_LOOK_SECONDS)
        told = "\n".join(f"--- {name}\n{self.hospitals[name].output.getvalue()}" for name in hospitals)
        raise AssertionError(f"job {job} is not over after {timeout_seconds} s\n{told}")

    def is_settled(self, job: str, hospitals: Sequence[str]) -> bool:
        """Whether the job is over at each of these hospitals and its last word is with the cloud."""
        return self._are_over(job, hospitals) and not any(map(self._pending, hospitals))

    def _are_over(self, job: str, hospitals: Sequence[str]) -> bool:
        found = [self.hospitals[name].entry(job) for name in hospitals]
        return all(entry is not None and entry.is_over for entry in found)

    def _entry(self, name: str, job: str) -> JobEntry:
        entry = self.hospitals[name].entry(job)
        assert entry is not None
        return entry

    def until(self, holds: Callable[[], bool], *, timeout_seconds: float = 60.0) -> None:
        """Wait for a condition."""
        end = time.monotonic() + timeout_seconds
        while not holds():
            assert time.monotonic() < end, f"not so after {timeout_seconds} s"
            time.sleep(_LOOK_SECONDS)

    def run_job(
        self,
        schema: Mapping[str, Any],
        files: Mapping[str, Path],
        *,
        timeout_seconds: float = 60.0,
        **options: Any,
    ) -> JobOutcome:
        """`start_job`, then `wait`, then the models of those that completed."""
        start = time.perf_counter()
        job = self.start_job(schema, files, **options)
        entries = self.wait(job, sorted(files), timeout_seconds=timeout_seconds)
        seconds = time.perf_counter() - start
        complete = [name for name, entry in entries.items() if entry.status is JobStatus.COMPLETE]
        return JobOutcome(job, entries, {name: self.hospitals[name].model(job) for name in complete}, seconds)

    def _pending(self, name: str) -> bool:
        with Journal.open(self.hospitals[name].folder) as journal:
            return bool(journal.pending())


@contextmanager
def local_federation(
    folder: Path,
    hospitals: Sequence[str] = ("h1", "h2", "h3"),
    database_url: str = "",
    *,
    bits: int = 512,
    policy: str = OPEN_POLICY,
    start: bool = True,
    threshold: int | None = None,
    **settings: Any,
) -> Iterator[LocalFederation]:
    """A running federation in `folder`. `bits=512`: toy keys; `settings`: changes to the cloud's settings.

    `threshold`: a key in shares, of which so many open a sum; `bits` 2048 or more, `hospitals` sorted.
    """
    folder.mkdir(parents=True, exist_ok=True)
    # The cloud's log would go to standard output, where the commands under test print.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    parties = SealedParties([AgentId(name) for name in hospitals], fixed_key(max(bits, 2048)))
    if threshold is not None:
        parties.dealt = dealt(bits, len(hospitals), threshold)
    toy = bits < 2048
    if toy:
        parties.key = fixed_key(bits)
    cloud_settings = {
        "allow_paper_profile": True,
        "max_wait_seconds": 2,
        "requests_per_second": 10_000,
        **settings,
    }
    with running_cloud(
        folder / "cloud", database_url, hospitals=hospitals, parties=parties, bits=bits, **cloud_settings
    ) as cloud:
        made = {name: _hospital(folder / name, name, cloud, parties, toy, policy) for name in hospitals}
        federation = LocalFederation(cloud, made)
        try:
            for hospital in made.values() if start else ():
                hospital.start()
            yield federation
        finally:
            for hospital in made.values():
                if hospital.daemon is not None:
                    hospital.daemon.stop.set()
            for hospital in made.values():
                hospital.stop()


def _hospital(
    folder: Path, name: str, cloud: CloudUnderTest, parties: SealedParties, toy: bool, policy: str
) -> Hospital:
    """A joined agent's folder, as `init` and `join` leave it."""
    make_private_folder(folder)
    os.mkdir(folder / "keys", 0o700)
    write_file(folder / "keys" / "identity.pem", parties.identities[name].to_pem())
    write_file(folder / "keys" / "sealing.key", parties.sealing[name].hex().encode())
    hospital = Hospital(name, folder, cloud.base_url, toy)
    hospital.configure()
    hospital.allow(policy)
    bundle = folder / f"{name}.bundle"
    real = SealedParties.__new__(SealedParties)
    real.__dict__.update(parties.__dict__)
    if toy:
        real.key = fixed_key(2048)
    bundle.write_bytes(agent_bundle(real, name).canonical())
    Keyring.open(folder).join(bundle, fingerprint(parties.root), name)
    return hospital
