"""The log of administrative acts: who did what to what, chained over the whole cloud.

`h_k = SHA-256(h_(k-1) || canonical record)`, from 32 zero bytes on, as the log of a job (protocol section 8). Whoever
changes something that is not a step of a job calls `record` in the same transaction, so that no act is without its
record:

    with database.write() as connection:
        ...the change itself...
        acts.record(connection, actor=person, act="token_created", subject=label, now=clock())

Call it last in the transaction: on PostgreSQL it holds a lock on the chain until the commit.
A record names ids, labels, codes and hashes; never a token, a password, a key or a count.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from sqlalchemy import Connection

from cloud_service.store import acts as store
from cloud_service.store.journal import Entry
from shared.errors import InternalError
from shared.protocol.audit_log import START, link
from shared.wire.base import canonical_json

PROGRAM: Final = "cloud"
"""Actor of what the cloud does by itself: housekeeping, a start."""
OPERATOR: Final = "operator"
"""Actor of commands given at the cloud's own machine."""

_WORD: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")
_MAX_TEXT: Final = 200
_RESERVED: Final = frozenset({"n", "time", "actor", "act", "subject"})

Detail = str | int | bool | list[str]


def record(
    connection: Connection,
    *,
    actor: str,
    act: str,
    subject: str,
    now: int,
    details: Mapping[str, Detail] | None = None,
) -> str:
    """Append one act to the chain, in the open write transaction.

    Args: actor: label of a person or token, `OPERATOR` or `PROGRAM`. act: what was done, a verb in the past as in
        `study_closed`. subject: id of what it was done to. now: Unix seconds. details: ids, codes and hashes.
    Returns: the chain's new head, 64 hex digits.
    Raises: InternalError: an act that is no word, or details that would hide the record's own members.
    """
    if _WORD.fullmatch(act) is None or not _RESERVED.isdisjoint(details or {}):
        raise InternalError(f"an act is a word of a-z, 0-9 and _, its details have names of their own: {act}")
    store.lock(connection)
    newest = store.newest(connection)
    number, head = (0, START) if newest is None else (newest[0] + 1, newest[1])
    entry = {"n": number, "time": now, "actor": _short(actor), "act": act, "subject": _short(subject)}
    raw = canonical_json({**(details or {}), **entry})
    digest = link(head, raw)
    store.append(connection, Entry(number, raw, digest))
    return digest


def _short(text: str) -> str:
    return text[:_MAX_TEXT]
