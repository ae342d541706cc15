"""Programs that end their own lives with SIGKILL exactly before or after a durable step, one life after another.

    with mortal_cloud(federation) as cloud:
        deaths = die_on(cloud, is_over, every=1)

The product knows nothing of it: a forked process (`forkserver`, so that a life begins in a moment and no thread of the
test is in it) hooks the commits of its own database or journal, and what is synced or renamed in the agent's folder.
"""

from __future__ import annotations

import io
import logging
import multiprocessing
import os
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Literal

import structlog
import time_machine
from sqlalchemy import Connection, event

from cloud_service.api.server import Server, server_config
from cloud_service.app import create_app
from cloud_service.service.federation import Membership
from cloud_service.service.folder import CloudKeyPair
from cloud_service.service.services import build_services
from cloud_service.settings import Settings
from cloud_service.store.database import Database
from hospital_agent.daemon.loop import Daemon
from hospital_agent.daemon.progress import Progress
from hospital_agent.journal.store import JOURNAL_FILE
from hospital_agent.keyring import Keyring
from shared.crypto.identity import IdentityKey
from shared.crypto.wrapping import UnwrappingKey
from shared.ids import CLOUD
from tests.support.cloud_server import FixedMembership
from tests.support.federation import QUICK, FixedKeyring, Hospital, LocalFederation
from tests.support.toy_keys import fixed_key
from tests.support.world import UNWRAPPING

Moment = Literal["before", "after"]
PATIENCE_SECONDS = 180.0
_WITHOUT_JOB = ("acts", "leases", "hospitals")
"""Tables that are written at a start or by the clock, without any job."""

_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(["tests.support.lives"])


def _nothing() -> None:
    """Waiting for its end waits for the server of processes, whose imports would count as the first life's."""


@dataclass(frozen=True)
class Death:
    """At durable step `number`, from 1 on, of this life. `number=0`: it lives on."""

    moment: Moment = "after"
    number: int = 0


class _Reaper:
    """Counts durable steps in the dying process."""

    def __init__(self, death: Death) -> None:
        self._death = death
        self._count = 0

    def pass_by(self, step: Callable[[], Any]) -> Any:
        """Do one durable step, unless death comes before it."""
        self._count += 1
        due = self._count == self._death.number
        if due and self._death.moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = step()
        if due:
            os.kill(os.getpid(), signal.SIGKILL)
        return result


@dataclass(frozen=True)
class CloudLife:
    """Everything that a cloud's process needs. `bits`: of a toy key, or 0 for the joined document's."""

    settings: dict[str, Any]
    identity: bytes = field(repr=False)
    unwrapping: bytes = field(repr=False)
    bits: int

    def __call__(self, death: Death) -> None:
        """Serve until killed."""
        _be_quiet()
        _obey_clock()
        settings = Settings.model_validate(self.settings)
        database = Database(settings.database)
        _watch_commits(database, _Reaper(death))
        keys = CloudKeyPair(IdentityKey.from_pem(self.identity), UnwrappingKey.from_pem(self.unwrapping))
        membership = (
            FixedMembership(database, keys, fixed_key(self.bits).public)
            if self.bits
            else Membership(database, keys)
        )
        services = build_services(settings, database, keys, membership)
        Server(server_config(create_app(services), settings), services.notifier.close).run()


def writes_of_a_job(statement: str) -> bool:
    """Whether a statement changes what is known of a job."""
    verb, *words = statement.split(maxsplit=3)
    return verb in ("INSERT", "UPDATE", "DELETE") and not {*words[:2]} & {*_WITHOUT_JOB}


def _watch_commits(database: Database, reaper: _Reaper) -> None:
    """Commits that change what is known of a job."""

    def note(connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if writes_of_a_job(statement):
            connection.info["of_a_job"] = True

    def commit(connection: Connection) -> None:
        if connection.info.pop("of_a_job", False):
            driver = connection.connection.driver_connection
            assert driver is not None
            reaper.pass_by(driver.commit)

    def rollback(connection: Connection) -> None:
        connection.info.pop("of_a_job", None)

    event.listen(database.engine, "before_cursor_execute", note)
    event.listen(database.engine, "commit", commit)
    event.listen(database.engine, "rollback", rollback)


@dataclass(frozen=True)
class AgentLife:
    """Everything that an agent's process needs."""

    folder: Path
    toy: bool

    def __call__(self, death: Death) -> None:
        """Work until killed."""
        _be_quiet()
        _obey_clock()
        _watch_files(self.folder, _Reaper(death))
        keyring = (FixedKeyring if self.toy else Keyring).open(self.folder)
        daemon = Daemon.assemble(
            self.folder, keyring, progress=Progress("agent", stream=io.StringIO()), patience=QUICK
        )
        daemon.client.wait_seconds = 1
        daemon.run()


def _watch_files(folder: Path, reaper: _Reaper) -> None:
    """Commits of the journal, files that are synced and files that are renamed."""
    connect, sync, rename = sqlite3.connect, os.fsync, os.replace

    class Watched(sqlite3.Connection):
        def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
            step = partial(super().execute, statement, *values)
            result = reaper.pass_by(step) if statement == "COMMIT" else step()
            assert isinstance(result, sqlite3.Cursor)
            return result

    def watched(path: Any, *arguments: Any, **options: Any) -> sqlite3.Connection:
        if Path(path) == folder / JOURNAL_FILE:
            options["factory"] = Watched
        connection: sqlite3.Connection = connect(path, *arguments, **options)
        return connection

    def synced(fd: Any) -> None:
        reaper.pass_by(partial(sync, fd))

    def renamed(*names: Any, **options: Any) -> None:
        reaper.pass_by(partial(rename, *names, **options))

    sqlite3.connect = watched  # type: ignore[assignment]  # in this process, which has no other purpose
    os.fsync, os.replace = synced, renamed


_DAY_SECONDS = 86_400
_JUMPS = {signal.SIGUSR1: _DAY_SECONDS, signal.SIGUSR2: -_DAY_SECONDS}


def _obey_clock() -> None:
    """From a signal on, this process's clock stands a day later, or a day earlier."""

    def jump(number: int, _frame: object) -> None:
        time_machine.travel(time.time() + _JUMPS[signal.Signals(number)], tick=True).start()

    for number in _JUMPS:
        signal.signal(number, jump)


def _be_quiet() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    logging.disable(logging.CRITICAL)


@dataclass
class Mortal:
    """A program with many lives. `state`: what tells whether a life has brought the job on. `seconds`: of each."""

    life: Callable[[Death], None]
    state: Callable[[], Any]
    seconds: list[float] = field(default_factory=list)
    _process: BaseProcess | None = None

    def __post_init__(self) -> None:
        first = _processes.Process(target=_nothing)
        first.start()
        first.join(PATIENCE_SECONDS)

    def live(self, death: Death, is_over: Callable[[], bool]) -> bool:
        """One life; whether it ended as was wanted. False: the job was over first, and the program still lives."""
        began, end = time.monotonic(), time.monotonic() + PATIENCE_SECONDS
        self._process = process = _processes.Process(target=self.life, args=(death,), daemon=True)
        process.start()
        while process.exitcode is None:
            if is_over():
                return False
            assert time.monotonic() < end, f"nothing happened for {PATIENCE_SECONDS} s before {death}"
            process.join(0.05)
        assert process.exitcode == -signal.SIGKILL, f"ended by itself with {process.exitcode} before {death}"
        self.seconds.append(time.monotonic() - began)
        self._process = None
        return True

    def start(self) -> None:
        """A life without an end of its own."""
        self._process = _processes.Process(target=self.life, args=(Death(),), daemon=True)
        self._process.start()

    def jump(self, *, forward: bool) -> None:
        """Put its clock a day forward, or a day back."""
        assert self._process is not None
        assert self._process.pid is not None
        os.kill(self._process.pid, signal.SIGUSR1 if forward else signal.SIGUSR2)

    @property
    def is_alive(self) -> bool:
        """Whether it works."""
        return self._process is not None and self._process.is_alive()

    def end(self) -> None:
        """The last life."""
        if self._process is not None:
            self._process.kill()
            self._process.join(30)


@contextmanager
def mortal_cloud(federation: LocalFederation) -> Iterator[Mortal]:
    """The federation's cloud as a process at its address; what served there so far is stopped."""
    cloud = federation.cloud
    settings = cloud.settings.model_dump() | {"port": int(cloud.base_url.rpartition(":")[2])}
    identity = cloud.parties.identities[CLOUD].to_pem()
    bits = 0 if cloud.membership_key is None else cloud.membership_key.bits
    cloud.people.close()
    cloud.stop()
    database = Database(cloud.settings.database)

    def state() -> list[Any]:
        with database.read() as connection:
            return list(
                map(tuple, connection.exec_driver_sql("SELECT id, audited, chain_seq, state FROM jobs"))
            )

    mortal = Mortal(CloudLife(settings, identity, UNWRAPPING.to_pem(), bits), state)
    try:
        yield mortal
    finally:
        mortal.end()
        database.dispose()


@contextmanager
def mortal_agent(hospital: Hospital) -> Iterator[Mortal]:
    """One hospital's agent as a process; it must not run in a thread."""
    assert hospital.daemon is None

    def state() -> list[Any]:
        path = hospital.folder / JOURNAL_FILE
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as journal:
            found = journal.execute(
                "SELECT (SELECT max(n) FROM audit), (SELECT value FROM place WHERE name = 'cursor')"
            ).fetchall()
        journal.close()
        return found

    mortal = Mortal(AgentLife(hospital.folder, hospital.toy), state)
    try:
        yield mortal
    finally:
        mortal.end()


def die_on(
    mortal: Mortal, moment: Moment, is_over: Callable[[], bool], check: Callable[[], None], *, every: int = 1
) -> int:
    """Let each life die at its `every`-th durable step until the job is over; how many deaths there were.

    Where a life brought nothing that lasts, the next one may do one step more. `check`: called after each death.
    """
    first = every + (moment == "before")
    number, deaths = first, 0
    while not is_over():
        before = mortal.state()
        if not mortal.live(Death(moment, number), is_over):
            break
        deaths += 1
        check()
        number = first if mortal.state() != before else number + 1
    return deaths
