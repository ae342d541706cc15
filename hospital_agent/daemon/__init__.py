"""The agent's loop: fetch, step, journal, act."""

from __future__ import annotations

from hospital_agent.daemon.lock import is_running
from hospital_agent.daemon.loop import Daemon

__all__ = ["Daemon", "is_running"]
