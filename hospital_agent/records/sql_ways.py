"""Whether a database counts its records where they are or this agent counts a copy of their codes, said to people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hospital_agent.records.selecting import KEY_BYTES, Selector
from hospital_agent.records.source import DataSettings
from hospital_agent.records.sql_checks import read_spellings
from hospital_agent.records.sql_engine import opened
from hospital_agent.records.sql_numbers import MustCopyError
from hospital_agent.records.sql_parting import check_engine, check_patients
from hospital_agent.records.sql_values import match, with_conditions
from shared.crypto.parting import HASH
from shared.tree.schema import Schema
from shared.wire.tally import SelectionSpec

THERE: Final = "counted where they are, in the database"
BY_THEMSELVES: Final = "a job that holds records out has them parted there too, each record by itself"
BY_PATIENT: Final = "a job that holds records out has them parted there too, all records of a patient alike"
_COPIED: Final = "counted from a copy of their codes, kept by this agent"


_PROBE: Final = Selector(
    SelectionSpec(seed="00" * 16, parts=2, first=0, last=1, use="test", hash=HASH), bytes(KEY_BYTES)
)
"""Of no job: any key tells whether an engine can do it."""


def copied_note(reason: MustCopyError) -> str:
    """The note of a snapshot that is a copy."""
    return f"{_COPIED}: {reason}"


def with_way(notes: Sequence[str], settings: DataSettings) -> tuple[str, ...]:
    """A snapshot's notes, and for records in a database that they are counted there unless a note says otherwise."""
    is_there = settings.url is not None and not any(note.startswith(_COPIED) for note in notes)
    return (*notes, *([THERE] if is_there else []))


def parting_notes(settings: DataSettings, schema: Schema) -> tuple[str, ...]:
    """Of records that are counted in a database, whether it also parts them for a job that holds records out.

    Raises: InputError: a record without its patient. TemporaryError: no database.
    """
    try:
        check_engine(settings, _PROBE)
        with opened(settings) as rows:
            check_patients(match(rows, schema, settings), settings)
    except MustCopyError as reason:
        return (f"of a job that holds records out {_COPIED}: {reason}",)
    return (BY_THEMSELVES if settings.patient_column is None else BY_PATIENT,)


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
