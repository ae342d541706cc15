"""Records of a database row by row, as codes: for the secret modes, which share rows and not counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from hospital_agent.records.matching import CodedRecords, encode
from hospital_agent.records.rows import Codes, RecordRows, sorted_rows
from hospital_agent.records.selecting import Patients
from hospital_agent.records.source import DataSettings
from hospital_agent.records.sql_checks import clean, ignored_columns, notes_of, read_spellings, without_rows
from hospital_agent.records.sql_counting import code_of
from hospital_agent.records.sql_engine import opened, place
from hospital_agent.records.sql_parting import patient_column, without_patient
from hospital_agent.records.sql_values import SqlRecords, match, text_of, with_conditions
from hospital_agent.records.sql_ways import refuse_measured
from hospital_agent.records.table import Column, Table
from shared.errors import InputError
from shared.tree.schema import Schema

_RUN_ROWS: Final = 1 << 16
_PATIENT: Final = "privet_patient"


def fetch_codes(records: SqlRecords) -> RecordRows:
    """All rows of attributes with listed values, sorted by their codes."""
    conditions = {f"a{index}": values for index, values in enumerate(records.values)}
    conditions["label"] = records.labels
    picks = {name: code_of(values, range(len(values))) for name, values in conditions.items()}
    found = records.rows.select(**picks).to_pyarrow()
    lines = [found[name].to_numpy().astype(np.uint8) for name in conditions]
    return sorted_rows(lines[:-1], lines[-1])


def encode_with_patients(schema: Schema, settings: DataSettings) -> tuple[CodedRecords, Patients | None]:
    """Every record as codes that the engine made, in any order, and its patient where the settings name a column of it.

    Beside a patient's text only small whole numbers leave the database.

    Raises: InputError: as a source. MustCopyError: the engine cannot be told how to read them. TemporaryError.
    """
    refuse_measured(schema)
    with opened(settings) as rows:
        columns = match(rows, schema, settings)
        spellings = read_spellings(columns, schema, settings)
        records = with_conditions(columns, schema, settings, spellings)
        lines = (*records.values, records.labels)
        picks = {f"c{index}": _small_code(conditions) for index, conditions in enumerate(lines)}
        runs = _runs(rows.select(**picks, **_patient(rows, settings)), settings)
        found = [(_codes_of(run, settings), _patients_of(run, settings)) for run in runs]
    codes: Codes = np.concatenate([some for some, _ in found], axis=1)
    numbers = np.empty((0, codes.shape[1]), dtype=np.uint32)
    patients = None if settings.patient_column is None else tuple(one for _, some in found for one in some)
    return CodedRecords(codes, numbers, notes_of(columns, spellings[-1])), patients


def _patient(rows: Any, settings: DataSettings) -> dict[str, Any]:
    column = patient_column(rows, settings)
    return {} if column is None else {_PATIENT: text_of(column)}


def _patients_of(run: Any, settings: DataSettings) -> list[str]:
    """Each row's patient. Raises: InputError: a row has none."""
    if settings.patient_column is None:
        return []
    known = {None: ""}
    # One text for all rows of a patient, which takes less room than one a row.
    texts = [known.setdefault(text, clean(text, settings)) for text in run[_PATIENT].to_pylist()]
    if "" in texts:
        raise without_patient(f"{place(settings)}, column {str(settings.patient_column)!r}")
    return texts


def _runs(picked: Any, settings: DataSettings) -> Iterable[Any]:
    """All rows of small codes, run by run: what drivers hold of a row takes far more room than its codes.

    DuckDB hands over its own columns as they are, all at once.
    """
    runs: Iterable[Any] = (
        picked.to_pyarrow().to_batches(max_chunksize=_RUN_ROWS)
        if (settings.url or "").startswith("duckdb:")
        else picked.to_pyarrow_batches(chunk_size=_RUN_ROWS)
    )
    return runs


def _codes_of(run: Any, settings: DataSettings) -> Codes:
    named = zip(run.schema.names, run.columns, strict=True)
    found = np.stack([column.to_numpy() for name, column in named if name != _PATIENT])
    if found.size and found.min() < 0:
        raise InputError(
            "the records changed while they were read.",
            where=place(settings),
            remedy="Try again when nothing writes to them, or name a copy of the table.",
        )
    codes: Codes = found.astype(np.uint8)
    return codes


def _small_code(conditions: Sequence[Any]) -> Any:
    """As 16 bits, the smallest numbers that all engines have."""
    return code_of(conditions, range(len(conditions))).cast("int16")


def read_codes(schema: Schema, settings: DataSettings) -> CodedRecords:
    """Every record of the database as codes made here, text by text, numbers in fixed point among them.

    Raises: as `read_with_patients`.
    """
    return read_with_patients(schema, replace(settings, patient_column=None))[0]


def read_with_patients(schema: Schema, settings: DataSettings) -> tuple[CodedRecords, Patients | None]:
    """As `read_codes`, and each record's patient where the settings name a column of it.

    Raises: InputError: no rows, a column that is missing, or a field that has no code. TemporaryError: no database.
    """
    with opened(settings) as rows:
        columns = match(rows, schema, settings)
        names = [*(attribute.name for attribute in schema.attributes), schema.class_name]
        picks = {
            f"c{index}": text_of(column) for index, column in enumerate((*columns.attributes, columns.target))
        }
        found = rows.select(**picks, **_patient(rows, settings)).to_pyarrow()
    if found.num_rows == 0:
        raise without_rows(settings)
    texts = [found[name].to_pylist() for name in picks]
    encoded = tuple(
        _column(name, position, values, settings)
        for position, (name, values) in enumerate(zip(names, texts, strict=True), start=1)
    )
    table = Table(place(settings), encoded, found.num_rows, True, lambda _row: "some row")
    coded = encode(table, schema, replace(settings, class_column=None, drop=(), rename={}))
    patients = None if settings.patient_column is None else tuple(_patients_of(found, settings))
    return replace(coded, notes=(*ignored_columns(columns), *coded.notes)), patients


def _column(name: str, position: int, texts: Sequence[str | None], settings: DataSettings) -> Column:
    cleaned = [clean(text, settings) for text in texts]
    values, codes = np.unique(np.array(cleaned, dtype=object), return_inverse=True)
    return Column(name, position, tuple(map(str, values)), codes)
