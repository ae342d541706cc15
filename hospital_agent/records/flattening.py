"""FHIR resources in NDJSON files to one flat table by a view definition, written as Parquet or CSV.

Resources are read line by line and rows go into anonymous memory, so that nothing but the result lies on a disk.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hospital_agent.records.dictionary import literal, quoted, sealed_engine
from hospital_agent.records.text_file import private_file
from hospital_agent.records.time_limit import at_most
from hospital_agent.records.view_definition import Scalar, ViewColumn, ViewDefinition
from shared.errors import InputError
from shared.wire.exact_json import RepeatedNameError, read_exact

_TYPES: Final = {
    "boolean": "BOOLEAN",
    "integer": "BIGINT",
    "positiveInt": "BIGINT",
    "unsignedInt": "BIGINT",
    "integer64": "BIGINT",
    "decimal": "DOUBLE",
}
"""FHIR types that become typed columns; all others are texts."""
_PROGRESS_LINES: Final = 1000
_TOO_LONG: Final = "Look for repeat() or forEach over much in the view; or allow more with --limit SECONDS."


@dataclass(frozen=True, slots=True)
class Flattened:
    """What became of the files: resources read, resources of the view's type, rows written."""

    resources: int
    rows: int
    columns: tuple[str, ...]


def flatten(
    view_path: Path,
    files: Sequence[Path],
    out: Path,
    told: Callable[[int], None] = lambda _lines: None,
    seconds: float = 60,
) -> Flattened:
    """Write the rows of a view, in the main thread.

    Args: told: gets the number of resources read, now and then. seconds: that one resource may take at most.
    Raises: InputError: naming the file and line, where a line is no resource, a path gives more than one value, or a
        resource takes too long.
    """
    view = _read_view(view_path)
    if out.suffix not in (".parquet", ".csv"):
        raise InputError(
            "expected a name that ends in .parquet or .csv.", where=str(out), remedy="Rename it."
        )
    seen = rows = 0
    with private_file() as (stream, name):
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=False)
        writer = csv.writer(text, lineterminator="\n")
        for place, resource in read_resources(files):
            seen += 1
            with at_most(seconds, place, _TOO_LONG):
                rows += _write_rows(view, resource, place, writer)
            if seen % _PROGRESS_LINES == 0:
                told(seen)
        text.flush()
        _store(name, view.columns, out)
        text.detach()
    return Flattened(seen, rows, tuple(column.name for column in view.columns))


def _read_view(path: Path) -> ViewDefinition:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            error.strerror or "cannot be read", where=str(path), remedy="Correct the path."
        ) from None
    except (ValueError, RecursionError):
        raise InputError(
            "the view is not JSON.", where=path.name, remedy="Correct the view definition."
        ) from None
    try:
        return ViewDefinition.parse(document, path.name)
    except (AttributeError, KeyError, TypeError, RecursionError):
        raise InputError(
            "an element of the view has another form than a ViewDefinition gives it.",
            where=path.name,
            remedy="Correct the view definition.",
        ) from None


def read_resources(files: Iterable[Path]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every resource, with the place it was read from."""
    for path in files:
        if not path.is_file():
            raise InputError("there is no such file.", where=str(path), remedy="Correct the path.")
        with path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    place = f"{path.name}, line {number}"
                    yield place, _resource(line, place)


def _resource(line: bytes, place: str) -> Mapping[str, Any]:
    try:
        found = read_exact(line)
    except RepeatedNameError as error:
        raise InputError(str(error), where=place) from None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, Mapping) or "resourceType" not in found:
        raise InputError(
            "expected one FHIR resource as JSON.",
            where=place,
            remedy="Give NDJSON as bulk exports write it: a resource a line.",
        )
    return found


def _write_rows(view: ViewDefinition, resource: Mapping[str, Any], place: str, writer: Any) -> int:
    count = 0
    try:
        for row in view.rows(resource):
            writer.writerow([_text(row[column.name]) for column in view.columns])
            count += 1
    except InputError as error:
        what = str(error).removeprefix(f"{error.where}:").removesuffix(error.remedy).strip()
        raise InputError(what, where=f"{place}, {error.where}", remedy=error.remedy) from None
    except UnicodeEncodeError:
        raise InputError(
            "a text holds half of a character (a lone surrogate).",
            where=place,
            remedy="Have the resources exported again, as UTF-8.",
        ) from None
    return count


def _text(value: Scalar) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _store(name: str, columns: Sequence[ViewColumn], out: Path) -> None:
    """From CSV in memory to the file, typed as the view says; readable by its owner only."""
    kinds = ", ".join(f"{literal(column.name)}: '{_TYPES.get(column.kind, 'VARCHAR')}'" for column in columns)
    picks = ", ".join(quoted(column.name) for column in columns)
    form = "FORMAT parquet, COMPRESSION zstd" if out.suffix == ".parquet" else "FORMAT csv, HEADER"
    # Into the private file made here, not beside it and renamed.
    form += ", USE_TMP_FILE false"
    out.touch(mode=0o600)
    with sealed_engine(out.name) as engine:
        try:
            engine.execute(
                f"COPY (SELECT {picks} FROM read_csv({literal(name)}, auto_detect = false, header = false, "  # noqa: S608
                f"quote = '\"', escape = '\"', delim = ',', columns = {{{kinds}}})) TO {literal(str(out))} ({form})"
            )
        except Exception as error:
            if "OutOfMemory" in type(error).__name__:
                raise
            raise InputError(
                "the rows cannot be written with the types of the view.",
                where=out.name,
                remedy="Correct the types in the view definition, or the folder.",
            ) from None
