"""Hospitals' logs held against each other without the cloud's: whoever was told something else stands out."""

from __future__ import annotations

from typing import Any

import pytest

from shared.protocol.audit_check import Log, stretch
from shared.protocol.audit_cross import compare
from shared.protocol.audit_file import AuditFile, Header, RecordLine
from shared.protocol.audit_log import START, link
from shared.wire.base import canonical_json

JOB, OTHER_JOB = "ab" * 16, "cd" * 16


def log(hospital: str, *records: dict[str, Any]) -> Log:
    header = Header(log="hospital", exporter=hospital, certificate="AA", root="AA", exported=0)
    lines, head = [], START
    for number, record in enumerate(records):
        raw = canonical_json(record)
        head = link(head, raw)
        lines.append(RecordLine(n=number, hash=head, record=raw.decode()))
    file = AuditFile(hospital, header, tuple(lines), (), None, "00" * 32)
    return Log(file, dict(enumerate(records)))


def heard(sha256: str, job: str = JOB) -> dict[str, Any]:
    message = {"type": "aggregate", "round": 0, "attempt": 0, "sha256": sha256 * 32}
    return {"kind": "received", "job": job, "head": START, **message}


@pytest.mark.parametrize("h1", [(), (heard("22", OTHER_JOB),), (heard("11"),)])
def test_two_that_were_told_differently_are_found_whoever_else_is_there(
    h1: tuple[dict[str, Any], ...],
) -> None:
    alike = [log("h1", *h1), log("h2", heard("11")), log("h3", heard("11"))]
    assert compare(alike) == []
    (finding,) = compare([log("h1", *h1), log("h2", heard("11")), log("h3", heard("22"))])
    assert (finding.code, finding.file) == ("told_differently", "h3")


@pytest.mark.parametrize(
    "record",
    ['{"a":1.5}', '{"a":1e400}', '{"a":' + "[" * 100_000 + "]" * 100_000 + "}", '{"a":"\\ud800"}', "[]", "{"],
)
def test_a_record_without_a_canonical_form_is_a_finding(record: str) -> None:
    """Whoever keeps a log can write into it what nobody else's program would."""
    line = RecordLine(n=0, hash=link(START, record.encode()), record=record)
    assert [(one.code, one.record) for one in stretch("h1", [line], START, 0)] == [("unreadable", 0)]
