"""Which way of computing a job's manifest asks for."""

from __future__ import annotations

from pathlib import Path

from hospital_agent.computing.assignment import Assignment
from hospital_agent.computing.modes import SecretMode
from shared.protocol.participation import rules_of, schema_of


def mode_of(assignment: Assignment, models: Path) -> SecretMode:
    """The mode of a job. Args: models: folder where shared trees of earlier jobs are kept.

    Raises: InputError: the job asks for what it cannot have here.
    """
    from hospital_agent.computing.id3 import Id3Mode

    manifest = assignment.manifest
    return Id3Mode(
        schema_of(manifest), rules_of(manifest), assignment.total_records, assignment.secret.open_empty
    )
