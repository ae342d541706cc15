"""Whether a database counts its records where they are or this agent counts a copy of their codes, said to people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hospital_agent.records.source import DataSettings
from hospital_agent.records.sql_checks import read_spellings
from hospital_agent.records.sql_engine import opened
from hospital_agent.records.sql_numbers import MustCopyError
from hospital_agent.records.sql_values import match, with_conditions
from shared.tree.schema import Schema

THERE: Final = "counted where they are, in the database"
_COPIED: Final = "counted from a copy of their codes, kept by this agent"


def copied_note(reason: MustCopyError) -> str:
    """The note of a snapshot that is a copy."""
    return f"{_COPIED}: {reason}"


def with_way(notes: Sequence[str], settings: DataSettings) -> tuple[str, ...]:
    """A snapshot's notes, and for records in a database that they are counted there unless a note says otherwise."""
    is_there = settings.url is not None and not any(note.startswith(_COPIED) for note in notes)
    return (*notes, *([THERE] if is_there else []))


def refuse_measured(schema: Schema) -> None:
    """Raises: MustCopyError: the study has numbers in fixed point, which no list of conditions can tell."""
    if any(attribute.fixed_point for attribute in schema.attributes):
        raise MustCopyError("the study compares numbers as they are")


def way_of(settings: DataSettings, schema: Schema) -> str:
    """How a database's records would be counted, and why; they are checked for it as for a job.

    Raises: InputError: they do not fit. TemporaryError: no database.
    """
    try:
        refuse_measured(schema)
        with opened(settings) as rows:
            columns = match(rows, schema, settings)
            with_conditions(columns, schema, settings, read_spellings(columns, schema, settings))
    except MustCopyError as reason:
        return copied_note(reason)
    return THERE
