"""Many patients at once: files of resources, as bulk exports write them, to one record a patient.

Through the very reader that answers single questions, so that a tree is trained on what it will be asked with. All
resources are held in memory. A patient without a Patient resource counts where others name them.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Final

from hospital_agent.clinical.asked import parsed
from hospital_agent.clinical.outcomes import ClinicalError
from hospital_agent.records.flattening import read_resources
from machine.files import read_file
from shared.contract.fhir import MappedRecord, MappingReader
from shared.contract.fhir_resources import Gathered, Json, owner_of, resources_in
from shared.contract.fhir_values import Value
from shared.errors import InputError

_MAX_FILE_BYTES: Final = 2**26
_STEP: Final = 1000


def resources_of(path: Path) -> list[tuple[Json, str]]:
    """The resources of a file of JSON: a Bundle, a list, or one. Raises: InputError."""
    raw = read_file(path, max_bytes=_MAX_FILE_BYTES, remedy="Name a file of FHIR resources as JSON.")
    try:
        return resources_in(parsed(raw), str(path))
    except ClinicalError as error:
        raise InputError(error.detail, where=str(path), remedy="Name a file of FHIR resources.") from None


def records_of(
    files: Sequence[Path],
    reader: MappingReader,
    asked: datetime,
    told: Callable[[int], None] = lambda _resources: None,
) -> list[MappedRecord]:
    """A record for each patient, in the order in which the files first name them.

    Raises: InputError: a line that is no resource, or a unit that the mapping does not know.
    """
    patients: dict[str, list[Json]] = {}
    for number, (_, resource) in enumerate(read_resources(files), start=1):
        owner = owner_of(resource)
        if owner:
            patients.setdefault(owner, []).append(resource)
        if number % _STEP == 0:
            told(number)
    return [reader.read(Gathered(tuple(found)), asked) for found in patients.values()]


def table_of(reader: MappingReader, records: Iterable[MappedRecord]) -> bytes:
    """Records as CSV: a column an attribute, empty where missing."""
    names = [one.name for one in reader.mapping.attributes]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    for record in records:
        values = record.values
        writer.writerow([_written(values.get(name)) for name in names])
    return text.getvalue().encode()


def _written(value: Value | None) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:f}" if isinstance(value, Decimal) else value
