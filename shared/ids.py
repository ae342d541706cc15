"""Names of things, as types of their own, and the one rule for what a name may look like."""

from __future__ import annotations

import re
from typing import Final, NewType

AgentId = NewType("AgentId", str)
"""A hospital agent, `[a-z0-9-]{1,64}`; never `cloud` or `all`."""
JobId = NewType("JobId", str)
"""A job: 16 random bytes, 32 lower-case hex digits."""
StudyId = NewType("StudyId", str)
"""A study: `[a-z0-9-]{1,64}`."""
KeyId = NewType("KeyId", str)
"""A Paillier key: SHA-256 of its modulus, 64 lower-case hex digits."""
ManifestHash = NewType("ManifestHash", str)
"""SHA-256 of a canonical job manifest, 64 lower-case hex digits."""

ID_PATTERN: Final = r"^[a-z0-9-]{1,64}$"
HEX_16_PATTERN: Final = r"^[0-9a-f]{32}$"
HEX_32_PATTERN: Final = r"^[0-9a-f]{64}$"

CLOUD: Final = AgentId("cloud")
"""The sender and receiver name of the cloud in every envelope."""
EVERYONE: Final = AgentId("all")
"""The receiver name of a broadcast to the members of a job."""
RESERVED_IDS: Final = frozenset({CLOUD, EVERYONE})


def is_valid_id(text: str) -> bool:
    """Whether `text` may name an agent or a study."""
    return re.fullmatch(ID_PATTERN[1:-1], text) is not None and text not in RESERVED_IDS
