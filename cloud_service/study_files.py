"""The files that commands about studies read: a schema, a data contract, JSON at all."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from machine.files import read_file
from shared.errors import InputError

_MAX_FILE_BYTES: Final = 2**25


class FigureName(StrEnum):
    """Figures of finished jobs that hospitals send to the cloud."""

    EVALUATION = "evaluation"
    IMPORTANCE = "importance"


def read_json(path: Path, remedy: str) -> Any:
    """A file's JSON. Raises: InputError: it cannot be read, or is none; `remedy` says what to give instead."""
    try:
        return json.loads(read_file(path, max_bytes=_MAX_FILE_BYTES, remedy=remedy))
    except (ValueError, RecursionError):
        raise InputError("not JSON", where=str(path), remedy="Give it as JSON.") from None


def read_schema(path: Path) -> Any:
    """The schema, alone in the file or as a member of it."""
    document = read_json(path, "Name the file with the study's schema.")
    return document["schema"] if isinstance(document, dict) and "schema" in document else document


def read_mapping(path: Path | None) -> dict[str, Any]:
    """The FHIR mapping of a file, as a rule of a study."""
    return {} if path is None else {"fhir": read_json(path, "Name the file with the FHIR mapping.")}


def read_contract(path: Path | None) -> dict[str, Any]:
    """The contract of a file, and the schema that it stands for."""
    if path is None:
        return {}
    from shared.contract.files import contract_of
    from shared.contract.schema import schema_of_contract

    document = read_json(path, "Name the file with the data contract.")
    contract = contract_of(document, str(path))
    written = contract.model_dump(mode="json", by_alias=True)
    return {"schema": schema_of_contract(contract).to_json(), "contract": written}
