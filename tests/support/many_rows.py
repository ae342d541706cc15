"""A cloud's database with thousands of studies and jobs: copies of real rows under other ids."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, insert, select

from cloud_service.store.study_tables import StudyDocumentRow, StudyMember
from cloud_service.store.tables import JobMember, JobRow, Study, table_of
from tests.support.cloud_server import CloudUnderTest

_AT_ONCE = 500
DAY = 86_400


def fill(cloud: CloudUnderTest, *, study: str, job: str, studies: int, jobs: int, start: int = 0) -> None:
    """Copy a study and a job of it so often. Every third study is closed; four of five jobs are over.

    Args: start: the number of the first copy.
    """
    with cloud.services.database.write() as connection:
        _copy_studies(connection, study, range(start, start + studies))
        _copy_jobs(connection, job, range(start, start + jobs), studies)


def _copy_studies(connection: Connection, study: str, numbers: range) -> None:
    studies, documents, members = table_of(Study), table_of(StudyDocumentRow), table_of(StudyMember)
    row = dict(connection.execute(select(studies).where(studies.c.id == study)).mappings().one())
    document = dict(connection.execute(select(documents).where(documents.c.study == study)).mappings().one())
    invited = connection.scalars(select(members.c.agent).where(members.c.study == study)).all()
    lines: list[dict[str, Any]] = []
    papers: list[dict[str, Any]] = []
    for number in numbers:
        name = _study(number)
        expires = row["created"] + (DAY if number % 7 == 0 else 300 * DAY)
        told = json.loads(bytes(document["document"])) | {"id": name, "expires": expires}
        raw = json.dumps(told).encode()
        lines.append({**row, "id": name, "question": f"Question {number}?"})
        closed = row["created"] if number % 3 == 2 else None
        sha256 = hashlib.sha256(raw).hexdigest()
        fresh = {"study": name, "sha256": sha256, "document": raw, "closed": closed, "expires": expires}
        papers.append({**document, **fresh, "change": document["change"] + number + 1})
    _put(connection, studies, lines)
    _put(connection, documents, papers)
    _put(connection, members, [{"study": line["id"], "agent": agent} for line in lines for agent in invited])


def _copy_jobs(connection: Connection, job: str, numbers: range, studies: int) -> None:
    jobs, members = table_of(JobRow), table_of(JobMember)
    row = dict(connection.execute(select(jobs).where(jobs.c.id == job)).mappings().one())
    seats = [
        dict(seat) for seat in connection.execute(select(members).where(members.c.job == job)).mappings()
    ]
    lines: list[dict[str, Any]] = []
    for number in numbers:
        name = hashlib.sha256(str(number).encode()).hexdigest()[:32]
        manifest = json.loads(bytes(row["manifest"])) | {"job": name}
        is_over = number % 5 != 0
        ended = {"state": "FAILED", "failure": "deadline", "finished": row["created"] + number}
        lines.append(
            {
                **row,
                "id": name,
                "study": _study(number % studies),
                "manifest": json.dumps(manifest).encode(),
                "created": row["created"] - numbers.stop + number,
                **(ended if is_over else {}),
            }
        )
    _put(connection, jobs, lines)
    _put(connection, members, [{**seat, "job": line["id"]} for line in lines for seat in seats])


def _study(number: int) -> str:
    return f"copy-{number:05}"


def _put(connection: Connection, table: Any, rows: list[dict[str, Any]]) -> None:
    for batch in _batches(rows):
        connection.execute(insert(table), batch)


def _batches(rows: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    for start in range(0, len(rows), _AT_ONCE):
        yield rows[start : start + _AT_ONCE]
