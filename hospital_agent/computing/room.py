"""The secret jobs of one agent: a thread each, from the roster to the end of the job.

The daemon's thread starts and ends them and takes what they came to; nothing else passes between. A thread goes on
after its result is there, because the others may still ask for its frames, until the daemon ends it with the job.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hospital_agent.cloud import Patience
from hospital_agent.computing.assignment import Assignment
from hospital_agent.computing.member import Finished, Keeper, Routine
from hospital_agent.computing.modes import SecretMode
from hospital_agent.computing.standing import Place
from hospital_agent.links.channel import Channel
from hospital_agent.links.fallback import FallbackChannel
from hospital_agent.links.frame_log import FrameLog
from hospital_agent.links.meeting import direct_channels, listen, meet
from hospital_agent.links.mesh import Mesh, StoppedError, repeatable
from hospital_agent.links.relayed import Door, Relayed
from hospital_agent.links.tls import KEY_PREFIX
from hospital_agent.settings import Way
from machine.files import make_private_folder
from shared.errors import (
    ErrorCode,
    InputError,
    InternalError,
    JobCode,
    JobFailure,
    PeerError,
    TemporaryError,
    kind_and_place,
)
from shared.ids import AgentId
from shared.mpc.ring import Words

if TYPE_CHECKING:
    from socket import socket

FOLDER: Final = "computing"
_SUFFIX: Final = ".frames"
_LINGER_SECONDS: Final = 7 * 86400.0
"""How long at most a thread waits for the daemon to end it; the cloud ends a silent job much earlier."""
_END_SECONDS: Final = 10.0
_GRACE_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Work:
    """All that a thread works with. `door`: to the cloud's relay. `listen`: where direct connections are taken."""

    assignment: Assignment
    mode: SecretMode
    blocks: list[Words] = field(repr=False)
    keeper: Keeper
    door: Door
    way: Way
    patience: Patience
    listen: tuple[str, int] | None
    tell: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class News:
    """What a thread came to: a result, or why there is none."""

    job: str
    finished: Finished | None = None
    failure: JobFailure | None = None


class Room:
    """The threads by job. Used by the daemon's thread only."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FOLDER
        self._tasks: dict[str, _Task] = {}
        self._news: queue.SimpleQueue[News] = queue.SimpleQueue()

    @property
    def jobs(self) -> Mapping[str, Place]:
        """Where each running job stands."""
        return {job: task.place for job, task in self._tasks.items()}

    @property
    def is_busy(self) -> bool:
        """Whether a job is on its way to its result."""
        return any(not task.told for task in self._tasks.values())

    def begin(self, work: Work) -> None:
        """Start a job's thread, or go on with a job from its log. Raises: InputError: its log cannot be used."""
        job = work.assignment.manifest.job
        if job in self._tasks:
            return
        make_private_folder(self._folder)
        task = _Task(work, self._folder, self._news)
        self._tasks[job] = task
        task.start()

    def next_news(self, wait_seconds: float) -> News | None:
        """What a thread came to, as soon as there is something."""
        try:
            return self._news.get(timeout=wait_seconds)
        except queue.Empty:
            return None

    def end(self, job: str) -> None:
        """The job is over: its thread stops, and nothing of its frames remains."""
        task = self._tasks.pop(job, None)
        if task is not None:
            task.stop(delete=True)
        self._path(job).unlink(missing_ok=True)

    def close(self) -> None:
        """The agent stops; its jobs go on from their logs at the next start."""
        for task in self._tasks.values():
            task.stop(delete=False)
        self._tasks.clear()

    def discard_all_but(self, jobs: Collection[str]) -> None:
        """Delete logs that no running job has, and keys that a kill left beside them. Before any thread begins."""
        for path in self._folder.glob(f"{KEY_PREFIX}*"):
            path.unlink(missing_ok=True)
        for path in self._folder.glob(f"*{_SUFFIX}"):
            if path.stem not in jobs:
                path.unlink(missing_ok=True)

    def _path(self, job: str) -> Path:
        return self._folder / f"{job}{_SUFFIX}"


class _Task:
    """One job's thread."""

    def __init__(self, work: Work, folder: Path, news: queue.SimpleQueue[News]) -> None:
        task = work.assignment
        self.place = Place(task.own, task.manifest.job, task.index is not None, work.mode.layers)
        self.told = False
        self._work = work
        self._folder = folder
        self._news = news
        self._stop = threading.Event()
        self._log = FrameLog.open(folder / f"{task.manifest.job}{_SUFFIX}", task.log_context)
        self._delete = False
        self._thread = threading.Thread(target=self._run, name=f"job {task.manifest.job[:8]}", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self, *, delete: bool) -> None:
        """End after the computing at hand; `delete`: the log with it."""
        self._delete = delete
        self._stop.set()
        self._thread.join(_END_SECONDS)

    def _run(self) -> None:
        try:
            self._compute()
        except StoppedError:
            pass
        except JobFailure as failure:
            self._tell(failure=failure)
        except PeerError as error:
            # The cloud says that the job is over; how it ended comes through the inbox.
            if error.code is not ErrorCode.LATE:
                self._tell(failure=JobFailure(JobCode.CANCELLED, str(error)))
        except TemporaryError as error:
            self._tell(failure=JobFailure(JobCode.MEMBER_LOST, str(error)))
        except (InputError, InternalError) as error:
            self._tell(failure=JobFailure(JobCode.CANCELLED, str(error)))
        except Exception as error:  # a bug must end the job at once, not leave the others waiting for a day
            self._tell(failure=JobFailure(JobCode.CANCELLED, f"an error of ours: {kind_and_place(error)}"))
        finally:
            with suppress(
                TemporaryError
            ):  # a disk that is full has been told of; peers send again what it lacks
                if self._delete:
                    self._log.delete()
                else:
                    self._log.close()

    def _compute(self) -> None:
        work, task = self._work, self._work.assignment
        routine = Routine(task, work.mode, work.blocks, self.place, work.keeper)
        mesh = self._meet()
        try:
            repeatable(mesh, lambda links: self._to_the_end(routine, links))
        finally:
            mesh.close()

    def _to_the_end(self, routine: Routine, mesh: Mesh) -> None:
        finished = routine.run(mesh)
        if not self.told:
            self._tell(finished=finished)
        self.place.enter("done")
        mesh.finish(_LINGER_SECONDS)

    def _tell(self, *, finished: Finished | None = None, failure: JobFailure | None = None) -> None:
        self.told = True
        self._news.put(News(self.place.job, finished, failure))

    def _meet(self) -> Mesh:
        """Every peer through the cloud, and compute parties directly while they can be reached."""
        work, task = self._work, self._work.assignment
        deadlines = task.manifest.deadlines
        way = Relayed(work.door, task.linked, way=work.way, patience=work.patience, tell=work.tell)
        channels: dict[AgentId, Channel] = {agent: way.channel(agent) for agent in task.linked}
        if task.index is not None:
            others = [agent for agent in task.linked if agent in task.compute_parties]
            for agent, direct in direct_channels(task.own, others, task.addresses).items():
                channels[agent] = FallbackChannel(direct, channels[agent], tell=partial(self._changed, agent))
                self._changed(agent, True)
        return meet(
            task.membership,
            channels,
            self._log,
            listening=self._listen(),
            folder=self._folder,
            patience_seconds=deadlines.round_seconds + deadlines.pause_seconds + _GRACE_SECONDS,
            stop=self._stop,
            on_waiting=self.place.wait,
        )

    def _listen(self) -> socket | None:
        """The door for direct connections; the relay does without it where the address cannot be had."""
        if self._work.listen is None:
            return None
        try:
            return listen(*self._work.listen)
        except InputError as error:
            self._work.tell(f"{error} Frames go through the cloud meanwhile.")
            return None

    def _changed(self, peer: AgentId, is_direct: bool) -> None:
        self.place.channel = "direct" if is_direct else "relayed"
        self._work.tell(f"frames to {peer} go {'directly' if is_direct else 'through the cloud'}")
