"""What a supervisor such as systemd is told: ready, alive, stopping. Without one nothing is sent.

The protocol is systemd's sd_notify(3): lines of text as one datagram to the socket that `NOTIFY_SOCKET` names.
"""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress
from typing import Final

_MICROSECONDS: Final = 1_000_000


def notify(*lines: str) -> None:
    """Tell the supervisor, if there is one; one that does not listen is no reason to stop."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if address:
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
            channel.setblocking(False)  # a supervisor that does not read holds nobody up
            channel.connect(f"\0{address[1:]}" if address.startswith("@") else address)
            channel.send("\n".join(lines).encode())


class Heartbeat:
    """Says that the program lives, often enough for a supervisor that restarts it otherwise."""

    def __init__(self) -> None:
        self._every_seconds = int(os.environ.get("WATCHDOG_USEC") or 0) / _MICROSECONDS / 3
        self._last = float("-inf")

    def beat(self) -> None:
        """Tell, if it is time to."""
        now = time.monotonic()
        if self._every_seconds and now - self._last >= self._every_seconds:
            self._last = now
            notify("WATCHDOG=1")
