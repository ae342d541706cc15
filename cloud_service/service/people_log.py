"""The people's log: every sign-in and every change of accounts and tokens, chained as the log of a job is.

`h_k = SHA-256(h_(k-1) || canonical record)`, from 32 zero bytes on. A record names who, what and when: no password,
token or code, nor a name that nobody here has, because people type passwords where names belong.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Connection

from cloud_service.store import people
from cloud_service.store.journal import Entry
from shared.protocol.audit_log import link
from shared.wire.base import canonical_json

START: Final = "0" * 64
OPERATOR: Final = "operator at the cloud's machine"
"""Who gives commands in the cloud's folder."""
UNKNOWN: Final = "somebody unknown"
_MAX_NAME: Final = 255


def record(connection: Connection, actor: str, act: str, subject: str, now: int, **details: Any) -> None:
    """Append what `actor` did to `subject`, in the open write transaction; last in it, as it holds the chain's lock.

    Args: act: a verb in the past, as in `token_created`. now: Unix seconds. details: plain JSON values.
    """
    newest = people.lock_records(connection)
    number, head = (0, START) if newest is None else (newest[0] + 1, newest[1])
    entry = {"n": number, "time": now, "actor": actor[:_MAX_NAME], "act": act, "subject": subject[:_MAX_NAME]}
    raw = canonical_json({**details, **entry})
    people.append_record(connection, Entry(number, raw, link(head, raw)))
