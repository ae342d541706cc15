"""What carries sealed frames between this agent and one peer, whichever way they go.

A channel knows nothing of keys, numbers or acknowledgements: it moves opaque bytes, finds its way back after a cut by
itself, and may lose, repeat or reorder frames then. Links (numbers, acknowledgements, sending again) stand above.

No call waits. One thread looks after all the channels of a job: it waits in one place until any of them has something
(`fileno`), so that two big messages which cross can never block each other, and a small round costs no change of
thread. A channel that works in threads of its own makes a pipe readable when a frame has come.
"""

from __future__ import annotations

from typing import Protocol


class Channel(Protocol):
    """One way to and from one peer, named when the channel was made. Used by one thread."""

    @property
    def cuts(self) -> int:
        """How many times the way was interrupted so far; when it has grown, ask which frame the peer expects next."""

    @property
    def wants_to_write(self) -> bool:
        """Whether `receive` should be called too when `fileno` becomes writable."""

    def fileno(self) -> int:
        """The descriptor to wait on; -1 while there is none. It may change with every call of `receive`."""

    def send(self, frame: bytes | bytearray) -> None:
        """Take one frame for sending, without waiting; links keep what may be on its way bounded.

        Args: frame: at most `shared.wire.relay.MAX_FRAME_BYTES`; not changed afterwards.
        Raises: PeerError: refused for good, such as a job that is over. InternalError: closed, or too long a frame.
        """

    def receive(self) -> bytes | bytearray | None:
        """Move what can be moved without waiting, both ways; the next frame, None when none is complete.

        It is also called some times a second when nothing happens, so that a channel can try again to find its way.
        Raises: as `send`.
        """

    def close(self) -> None:
        """End it. Closing twice is allowed."""
