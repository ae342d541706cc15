"""What carries sealed frames between this agent and one peer, whichever way they go.

A channel knows nothing of keys, numbers or acknowledgements: it moves opaque bytes, finds its way back after a cut by
itself, and may lose, repeat or reorder frames then. Links (numbers, acknowledgements, sending again) stand above.
"""

from __future__ import annotations

from typing import Protocol


class Channel(Protocol):
    """One way to and from one peer, named when the channel was made. Safe to use from several threads."""

    @property
    def cuts(self) -> int:
        """How many times the way was interrupted so far; when it has grown, ask which frame the peer expects next."""

    def send(self, frame: bytes) -> None:
        """Hand over one frame; waits while too much is on its way already.

        Args: frame: at most `shared.wire.relay.MAX_FRAME_BYTES`.
        Raises: TemporaryError: no way for longer than the patience. PeerError: refused for good, such as a job that
            is over. InternalError: closed, or a frame that is too long.
        """

    def receive(self, timeout_seconds: float) -> bytes | None:
        """The next frame; None when none came in time. Raises: as `send`."""

    def close(self) -> None:
        """End it; who waits in `receive` gets None. Closing twice is allowed."""
