"""The only room that sees patients: from a file or an SQL table to the counts of a round."""

from __future__ import annotations

from pathlib import Path

from hospital_agent.records.asked_source import AskedSource, QuestionSource
from hospital_agent.records.file_source import FileSource
from hospital_agent.records.rows import RecordRows
from hospital_agent.records.source import DataSettings, RecordSource, Snapshot
from hospital_agent.records.sql_source import SqlSource
from shared.errors import InputError

__all__ = [
    "AskedSource",
    "DataSettings",
    "QuestionSource",
    "RecordRows",
    "RecordSource",
    "Snapshot",
    "open_source",
]


def open_source(settings: DataSettings, directory: Path) -> RecordSource:
    """The records that the settings name; snapshots are kept in `directory`, private to the agent.

    Raises: InputError: neither or both of a path and a URL, or a URL without exactly one of table and query.
    """
    if (settings.path is None) == (settings.url is None):
        raise InputError(
            "exactly one of path and url is needed.",
            where="data settings",
            remedy="Name the file of the records, or the database that holds them.",
        )
    if settings.path is not None:
        return FileSource(settings, directory)
    if (settings.table is None) == (settings.query is None):
        raise InputError(
            "a database needs exactly one of table and query.",
            where="data settings",
            remedy="Name the table of the records, or write a query that selects them.",
        )
    return SqlSource(settings, directory)
