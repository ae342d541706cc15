"""How far apart agent and cloud may be: one minor version, so that each side can be upgraded on its own day.

The version of a program is `MAJOR.MINOR` and more, of which the rest does not matter. Within a major version neighbours
in the minor one work together, and a test holds the release before to it. Beyond that nobody has tried.
"""

from __future__ import annotations

import re
from typing import Final

from shared.errors import ErrorCode, PeerError

WINDOW: Final = 1
"""Minor versions between an agent and its cloud."""
_NUMBER: Final = re.compile(r"(\d{1,6})\.(\d{1,6})(?!\d)")


def check_window(agent: str, cloud: str) -> None:
    """Whether an agent of one version may work with a cloud of another.

    Raises: PeerError: `malformed`: too far apart, or no version; names who must be upgraded.
    """
    theirs, ours = _parsed(agent), _parsed(cloud)
    if theirs is None or ours is None:
        raise PeerError(ErrorCode.MALFORMED, "registration: the agent's version is not MAJOR.MINOR and more")
    if theirs[0] == ours[0] and abs(theirs[1] - ours[1]) <= WINDOW:
        return
    older = "agent" if theirs < ours else "cloud"
    raise PeerError(
        ErrorCode.MALFORMED,
        f"agent {agent} and cloud {cloud} are more than {WINDOW} minor version apart; upgrade the {older} step by step",
    )


def knows_of(version: str, since: tuple[int, int]) -> bool:
    """Whether a program knows what came with a release. Args: since: its major and minor number."""
    found = _parsed(version)
    return found is not None and found >= since


def _parsed(version: str) -> tuple[int, int] | None:
    found = _NUMBER.match(version)
    return None if found is None else (int(found[1]), int(found[2]))
