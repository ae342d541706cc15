"""Where a member stands in a secret job, for its own people and for the cloud: phases, sizes and times."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Final

from hospital_agent.computing.driver import Standing
from hospital_agent.links.mesh import Waiting
from shared.ids import AgentId
from shared.protocol.phases import phase_in_words
from shared.texts import text
from shared.wire.secret import FramesGo, Progress

_SILENT_SECONDS: Final = 2.0
"""A wait that is shorter is the ordinary way of a round."""
_MEGABYTE: Final = 1e6


@dataclass(slots=True)
class Place:
    """What a member's thread has told last; the daemon's thread reads it.

    `layers`: how many layers are public knowledge, 0 where the tree's shape decides. Each layer costs alike then, which
    is the ground of the estimate.
    """

    own: AgentId
    job: str
    computes: bool
    layers: int = 0
    begun: float = field(default_factory=time.monotonic)
    phase: str = "sharing records"
    standing: Standing | None = None
    waiting: Waiting | None = None
    channel: FramesGo = "relayed"
    _layer_times: list[float] = field(default_factory=list)

    def enter(self, phase: str) -> None:
        """A part of the work that is not the program's begins."""
        self.phase, self.waiting = phase, None

    def tell(self, standing: Standing) -> None:
        """The program goes on."""
        if standing.replays:
            self.phase = "replaying"
        else:
            self.phase = standing.phase
            while len(self._layer_times) < standing.layer:
                self._layer_times.append(time.monotonic())
        self.standing, self.waiting = standing, None

    def wait(self, waiting: Waiting) -> None:
        """The program waits for another member."""
        self.waiting = waiting if waiting.seconds >= _SILENT_SECONDS else None

    @property
    def seconds(self) -> float:
        """Since the job began here, or went on after a restart."""
        return time.monotonic() - self.begun

    @property
    def layer(self) -> int:
        """The layer that is worked on, from 1; 0 before the first."""
        return 0 if self.standing is None else self.standing.layer

    @property
    def remaining_seconds(self) -> int | None:
        """By the layers done so far, once one is done and their number is known."""
        done = len(self._layer_times) - 1
        if not self.layers or done < 1:
            return None
        a_layer = (self._layer_times[-1] - self._layer_times[0]) / done
        since = time.monotonic() - self._layer_times[-1]
        return math.ceil(max(0.0, (self.layers - done) * a_layer - since))

    def report(self, now: int) -> Progress:
        """For the cloud. Args: now: Unix seconds."""
        standing, waiting = self.standing, self.waiting
        return Progress(
            agent=self.own,
            job=self.job,
            time=now,
            part="compute" if self.computes else "contributor",
            phase=self.phase,
            layer=self.layer,
            layers=self.layers,
            rounds=0 if standing is None else standing.rounds,
            sent_bytes=0 if standing is None else standing.sent_bytes,
            seconds=int(self.seconds),
            remaining_seconds=self.remaining_seconds,
            waiting_for=[] if waiting is None else [waiting.peer],
            waiting_seconds=0 if waiting is None else int(waiting.seconds),
            channel=self.channel,
        )

    def text(self) -> str:
        """For the hospital's own people."""
        parts = [self._phase_text()]
        standing = self.standing
        if standing is not None:
            megabytes = f"{standing.sent_bytes / _MEGABYTE:.1f}"
            parts.append(text("standing.sent", rounds=standing.rounds, megabytes=megabytes))
        if self.remaining_seconds is not None:
            parts.append(text("standing.left", seconds=self.remaining_seconds))
        if self.waiting is not None:
            since = f"{self.waiting.seconds:.0f}"
            parts.append(text("standing.waits", who=self.waiting.peer, seconds=since))
        return "; ".join(parts)

    def _phase_text(self) -> str:
        phase = phase_in_words(self.phase)
        if self.standing is None or not self.layer:
            return phase
        if self.layers:
            return text("standing.layer_of", layer=self.layer, layers=self.layers, phase=phase)
        return text("standing.layer", layer=self.layer, phase=phase)


def told_anew(before: Progress | None, after: Progress) -> bool:
    """Whether a report says something that the one before did not: another phase or layer, or a second has gone by."""
    if before is None:
        return True
    same = {"time": 0, "seconds": 0}
    return before.model_copy(update=same) != after.model_copy(update=same) and (
        (before.phase, before.layer) != (after.phase, after.layer) or after.time > before.time
    )
