"""What shows that this database is older than what agents saw, and the jump that keeps the two apart."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from typing import Final

from sqlalchemy import Connection, RowMapping, bindparam, case, insert, literal, select, text

from cloud_service.store.tables import Evidence, JobMember, JobRow, table_of
from shared.ids import JobId
from shared.protocol.states import TERMINAL_CLOUD_STATES
from shared.wire.base import MAX_INTEGER

_JOBS: Final = table_of(JobRow)
_MEMBERS: Final = table_of(JobMember)
_EVIDENCE: Final = table_of(Evidence)
_J, _M = _JOBS.c, _MEMBERS.c
_LIVES: Final = _J.state.not_in([state.value for state in TERMINAL_CLOUD_STATES])

_OF_AGENT: Final = _M.agent == bindparam("agent")
# The roster is a JSON list of ids of [a-z0-9-], so a quoted id is found exactly.
_TAKES_PART: Final = case(
    (_J.roster == "[]", _M.declined.is_(None)),
    else_=_J.roster.contains(literal('"').concat(_M.agent).concat('"')),
)
_STANDING: Final = (
    select(
        _J.id,
        _J.state,
        _J.failure,
        _J.cleared,
        _J.chain_seq,
        _M.chain_seq.label("answered"),
        _TAKES_PART.label("takes_part"),
    )
    .join(_MEMBERS, _M.job == _J.id)
    .where(_OF_AGENT, _J.id.in_(bindparam("jobs", expanding=True)))
)
_LIVING: Final = select(_J.id).where(_LIVES).order_by(_J.id)
_LIVING_OF_AGENT: Final = select(_J.id).join(_MEMBERS, _M.job == _J.id).where(_LIVES, _OF_AGENT, _TAKES_PART)
_SQLITE_HIGHEST: Final = text("SELECT seq FROM sqlite_sequence WHERE name = :name")
_POSTGRES_HIGHEST: Final = text("SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM outbox_id_seq")
_SAME_CLAIM: Final = select(_EVIDENCE.c.id).where(
    _EVIDENCE.c.job == bindparam("job"), _EVIDENCE.c.sender == bindparam("sender"), _EVIDENCE.c.type == "seen"
)


def standing(connection: Connection, agent: str, jobs: Collection[str]) -> dict[str, RowMapping]:
    """Of these jobs, those that the agent is invited to: `state`, `failure`, `chain_seq`, `answered`, `cleared`.

    `takes_part`: it is in the roster, or there is none yet and it has not declined.
    """
    rows = connection.execute(_STANDING, {"agent": agent, "jobs": list(jobs)}).mappings()
    return {row["id"]: row for row in rows}


def living(connection: Connection, agent: str | None = None) -> list[JobId]:
    """Jobs that are not over: all, or those in which one agent takes part."""
    query = _LIVING if agent is None else _LIVING_OF_AGENT
    return [JobId(job) for job in connection.scalars(query, {} if agent is None else {"agent": agent})]


def highest_id(connection: Connection) -> int:
    """The greatest id that the outbox has ever given out here, though its message may be deleted."""
    if connection.dialect.name == "sqlite":
        return connection.scalar(_SQLITE_HIGHEST, {"name": "outbox"}) or 0
    return connection.scalar(_POSTGRES_HIGHEST) or 0


def raise_ids(connection: Connection, to: int) -> None:
    """Let the outbox give out greater ids than `to` from now on, half of all there can be at most.

    Never smaller ones than now: an id that came twice would be passed over by everybody's cursor. The caller holds
    the outbox's lock.
    """
    top = min(to, MAX_INTEGER // 2)
    if top <= highest_id(connection):
        return
    if connection.dialect.name != "sqlite":
        connection.execute(text("SELECT setval('outbox_id_seq', :top)"), {"top": top})
        return
    changed = connection.execute(
        text("UPDATE sqlite_sequence SET seq = :top WHERE name = 'outbox'"), {"top": top}
    )
    if changed.rowcount == 0:
        connection.execute(
            text("INSERT INTO sqlite_sequence (name, seq) VALUES ('outbox', :top)"), {"top": top}
        )


def keep_claim(
    connection: Connection, job: str, agent: str, head: str, claim: bytes, now: int, *, keeps_raw: bool = True
) -> None:
    """Keep the signed claim of an agent that saw more than is here, once an agent.

    Args: head: of the job's log here. keeps_raw: with its bytes, not the hash alone.
    """
    if connection.scalar(_SAME_CLAIM, {"job": job, "sender": agent}) is not None:
        return
    row = {
        "job": job,
        "sender": agent,
        "type": "seen",
        "first_sha256": head,
        "first_raw": None,
        "second_sha256": hashlib.sha256(claim).hexdigest(),
        "second_raw": claim if keeps_raw else None,
        "received": now,
    }
    connection.execute(insert(_EVIDENCE), row)
