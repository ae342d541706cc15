"""The hospital's own audit chain: `h_k = SHA-256(h_{k-1} || canonical record)` (protocol section 8).

Each record of a job holds the cloud's last log head, so that a cloud which shows two histories leaves evidence.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from shared.errors import InputError
from shared.protocol import audit_log
from shared.wire.base import canonical_json

START: Final = "0" * 64


def link(head: str, record: Mapping[str, Any]) -> tuple[str, str]:
    """The canonical text of a record, and the head of the chain with it."""
    canonical = canonical_json(dict(record))
    return canonical.decode(), audit_log.link(head, canonical)


def check(rows: Sequence[tuple[str, str]]) -> list[Mapping[str, Any]]:
    """The records of (text, hash) rows in order. Raises: InputError: the chain is broken, from which record on."""
    head = START
    for number, (text, stored) in enumerate(rows):
        head = checked(number, head, text, stored)
    return [json.loads(text) for text, _ in rows]


def checked(number: int, head: str, text: str, stored: str) -> str:
    """The head after a record. Args: head: that before it. stored: that the journal has after it.

    Raises: InputError: the record was altered, or stands at another place.
    """
    after = audit_log.link(head, text.encode())
    if after != stored or json.loads(text)["n"] != number:
        raise broken_at(number)
    return after


def broken_at(number: int) -> InputError:
    """The chain is broken from this record on."""
    return InputError(
        f"the audit chain is broken at record {number}",
        where="journal",
        remedy="Keep the folder as evidence and compare it with a backup.",
    )
