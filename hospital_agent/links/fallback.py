"""A direct connection where there is one, the relay where there is none: a wrong port costs speed, not the job.

Frames go over the connection while it stands and over the relay when it was away for a while; they are taken from
both, since the peer decides for itself. Links do not mind which way a frame came, nor the same one twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from hospital_agent.links.channel import Channel
from hospital_agent.links.direct import DirectChannel

GRACE_SECONDS: Final = 5.0
"""How long a connection may be away, at the start or after a cut, before the relay takes its place."""


class FallbackChannel:
    """Two ways to one peer (see `links.channel`). tell: is told when the way changes, with whether it is direct."""

    def __init__(
        self,
        direct: DirectChannel,
        relayed: Channel,
        *,
        clock: Callable[[], float] = time.monotonic,
        tell: Callable[[bool], None] | None = None,
    ) -> None:
        self.direct = direct
        self._relayed = relayed
        self._clock = clock
        self._tell = tell
        self._changes = 0
        self._is_direct = True
        self._away_since: float = clock()

    @property
    def cuts(self) -> int:
        """See `Channel`. A change of the way counts, for what was on the former may be lost."""
        return self._changes + self.direct.cuts + self._relayed.cuts

    @property
    def wants_to_write(self) -> bool:
        """See `Channel`."""
        return self._active.wants_to_write

    def fileno(self) -> int:
        """See `Channel`: of the way in use. The other is looked at some times a second."""
        return self._active.fileno()

    def send(self, frame: bytes | bytearray) -> None:
        """See `Channel`."""
        self._active.send(frame)

    def receive(self) -> bytes | bytearray | None:
        """See `Channel`."""
        frame = self.direct.receive()
        self._choose()
        return self._relayed.receive() if frame is None else frame

    def close(self) -> None:
        """See `Channel`."""
        self.direct.close()
        self._relayed.close()

    @property
    def _active(self) -> Channel:
        return self.direct if self._is_direct else self._relayed

    def _choose(self) -> None:
        now = self._clock()
        if self.direct.is_open:
            self._away_since = now
        is_direct = self.direct.is_open or (self._is_direct and now - self._away_since < GRACE_SECONDS)
        if is_direct != self._is_direct:
            self._is_direct = is_direct
            self._changes += 1
            if self._tell is not None:
                self._tell(is_direct)
