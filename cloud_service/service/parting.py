"""By which hash a new job's hospitals part their records: HMAC-SHA-256 where every agent knows it (decision record 45).

Jobs of one seed part alike, so a job under a seed of earlier jobs takes the hash of those, whatever its agents know by
now: folds of one division must not meet.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection

from cloud_service.store import directory, jobs
from shared.crypto.parting import HASH
from shared.protocol.versions import knows_of
from shared.wire.tally import PartingHash, SelectionSpec

_SINCE = (0, 4)


def with_hash(
    connection: Connection, study: str, spec: SelectionSpec, invited: Iterable[str]
) -> SelectionSpec:
    """The selection of a job that grows a tree or counts, as its manifest names it. Args: invited: agents' ids."""
    earlier = jobs.parted_by(connection, study, spec.seed)
    alike = [one.hash for one in earlier if one.parts == spec.parts]
    return spec.model_copy(update={"hash": alike[0] if alike else _known_to(connection, invited)})


def _known_to(connection: Connection, invited: Iterable[str]) -> PartingHash | None:
    """An agent of an earlier release leaves an offer unanswered whose selection names a hash."""
    rows = [directory.hospital(connection, agent) for agent in invited]
    knows = all(row is not None and knows_of(row.version, _SINCE) for row in rows)
    return HASH if knows else None
