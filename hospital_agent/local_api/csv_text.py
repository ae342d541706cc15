"""Records as CSV in a request: encodings and delimiters as the reading of files knows them.

Nothing is written to a disk: the text lies in anonymous memory while its encoding is found out.
"""

from __future__ import annotations

import io
import itertools
from pathlib import Path
from typing import Final

from hospital_agent.records.layout import find_delimiters
from hospital_agent.records.text_file import find_encoding, private_file
from shared.errors import InputError
from shared.protocol.csv_records import BODY, read_records

_SAMPLE_LINES: Final = 200


def read_csv(
    body: bytes, names: frozenset[str], most: int, encoding: str | None
) -> tuple[list[dict[str, str]], list[str]]:
    """Records by the names of the header, and the columns that the study does not use.

    Args: names: of the study's attributes. most: records. encoding: as the request says, None to find it out.

    Raises: InputError: not text, or as `read_records`.
    """
    text = _decoded(body, encoding)
    lines = list(itertools.islice(io.StringIO(text), _SAMPLE_LINES))
    delimiter, quote = _delimiters("".join(lines))
    return read_records(text, delimiter, quote or '"', names, most, "GET /v1/models/{id}")


def _decoded(body: bytes, encoding: str | None) -> str:
    if not body.strip():
        raise InputError("an empty body", where=BODY, remedy="Give a header and at least one line of values.")
    found = encoding or "text"
    try:
        with private_file() as (stream, path):
            stream.write(body)
            stream.flush()
            found = find_encoding(Path(path), encoding, BODY).name
        return body.decode(found).removeprefix("\ufeff")
    except (
        UnicodeError,
        LookupError,
    ):  # or it is a name of Python's that is no encoding of text, such as zlib
        raise InputError(
            f"not {found[:40]}", where=BODY, remedy="Name the encoding: Content-Type: text/csv; charset=…"
        ) from None


def _delimiters(sample: str) -> tuple[str, str]:
    """What parts and what quotes fields; a single column has nothing to part."""
    try:
        found = find_delimiters(sample, BODY, delimiter=None, quote=None, comment="")
    except InputError:
        return ",", '"'
    return (found.delimiter if len(found.delimiter) == 1 else ","), found.quote
