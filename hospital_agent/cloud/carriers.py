"""What moves parcels between this agent and the cloud's relay: one interface, two ways behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from shared.errors import TemporaryError

Deliver = Callable[[bytes], None]
"""Takes one parcel (`shared.wire.relay`) in the thread that runs the carrier; must not wait."""


class NoWebSocketError(TemporaryError):
    """Something between here and the cloud lets no WebSocket through; long polls may pass."""


class Carrier(Protocol):
    """An open way. `run` in one thread; `send` and `close` in any."""

    def send(self, parcel: bytes) -> None:
        """Take one parcel for sending, without waiting."""

    def run(self, deliver: Deliver) -> None:
        """Carry both ways until `close`.

        Raises: BusyError: cut; connect again. PeerError: the cloud refused, such as a job that is over.
        """

    def discard(self) -> None:
        """Instead of `run`: close at once."""

    def unsent(self) -> list[bytes]:
        """After `run`: parcels that were not handed over, oldest first. Others may be lost all the same."""

    def close(self) -> None:
        """Let `run` end soon. Closing twice is allowed."""
