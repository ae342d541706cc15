"""Records as CSV in a request, and answers as CSV: encodings and delimiters as the reading of files knows them.

Nothing is written to a disk: the text lies in anonymous memory while its encoding is found out.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from hospital_agent.models import Record
from hospital_agent.records.layout import find_delimiters
from hospital_agent.records.text_file import find_encoding, private_file
from shared.errors import InputError
from shared.tree.answering import Answer

CSV_TYPE: Final = "text/csv"
BODY: Final = "body"
_SAMPLE_LINES: Final = 200
MAX_COLUMNS: Final = 10_000
"""More than any study has attributes."""
_COLUMNS: Final = (
    "record", "class", "probability", "low_95", "high_95", "covered", "missing", "path", "explanation",
)  # fmt: skip
_RISKY: Final = ("=", "+", "-", "@", "\t", "\r")


def read_csv(
    body: bytes, names: frozenset[str], most: int, encoding: str | None
) -> tuple[list[Record], list[str]]:
    """Records by the names of the header, and the columns that the study does not use.

    Args: names: of the study's attributes. most: records. encoding: as the request says, None to find it out.

    Raises: InputError: not text, no header, a name twice, a line of another width, no or too many records, a column
        that the study does not have while one of its own is absent; names lines and columns, never values.
    """
    text = _decoded(body, encoding)
    lines = list(itertools.islice(io.StringIO(text), _SAMPLE_LINES))
    delimiter, quote = _delimiters("".join(lines))
    rows = csv.reader(io.StringIO(text), delimiter=delimiter, quotechar=quote or '"', strict=True)
    try:
        header = _header(next(rows, []))
        used = [(place, name) for place, name in enumerate(header) if name in names]
        records = list(_records(rows, len(header), used, most))
    except csv.Error as error:
        raise InputError(f"no CSV: {error}", where=f"{BODY}, line {rows.line_num}") from None
    if not records:
        raise InputError(
            "no records after the header", where=BODY, remedy="Give at least one line of values."
        )
    return records, _foreign(header, names)


def write_csv(found: Sequence[Answer], head: Mapping[str, object]) -> str:
    """One line a record, in their order; the model, its hash and the notice beside each."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    tail = ("name", "role", "model", "tree_sha256", "notice")
    writer.writerow([*_COLUMNS, *tail])
    for number, answer in enumerate(found, start=1):
        told = answer.document
        low, high = told["interval_95"] or ("", "")
        writer.writerow(
            [
                number,
                _safe(told["class"]),
                "" if told["probability"] is None else told["probability"],
                low,
                high,
                "yes" if told["covered"] else "no",
                _safe("; ".join(f"{entry['attribute']} ({entry['treated']})" for entry in told["missing"])),
                _safe(told["path"]),
                _safe(told["explanation"]),
                *("" if head[name] is None else head[name] for name in tail),
            ]
        )
    return out.getvalue()


def _decoded(body: bytes, encoding: str | None) -> str:
    if not body.strip():
        raise InputError("an empty body", where=BODY, remedy="Give a header and at least one line of values.")
    with private_file() as (stream, path):
        stream.write(body)
        stream.flush()
        found = find_encoding(Path(path), encoding, BODY).name
    try:
        return body.decode(found).removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise InputError(
            f"not {found}", where=BODY, remedy="Name the encoding: Content-Type: text/csv; charset=…"
        ) from None


def _delimiters(sample: str) -> tuple[str, str]:
    """What parts and what quotes fields; a single column has nothing to part."""
    try:
        found = find_delimiters(sample, BODY, delimiter=None, quote=None, comment="")
    except InputError:
        return ",", '"'
    return (found.delimiter if len(found.delimiter) == 1 else ","), found.quote


def _header(cells: Sequence[str]) -> list[str]:
    header = [cell.strip() for cell in cells]
    if not header or not all(header):
        empty = next((place for place, cell in enumerate(header, start=1) if not cell), 1)
        raise InputError(
            "a column without a name", where=f"{BODY}, line 1, column {empty}", remedy="Name all columns."
        )
    if len(header) > MAX_COLUMNS:
        raise InputError(
            f"more than {MAX_COLUMNS} columns", where=f"{BODY}, line 1", remedy="Leave out what is not asked."
        )
    seen: set[str] = set()
    twice = next((cell for cell in header if _is_known(cell, seen)), None)
    if twice is not None:
        raise InputError("a column name repeats", where=f"{BODY}, line 1, column {twice[:200]!r}")
    return header


def _is_known(cell: str, seen: set[str]) -> bool:
    """Whether it came before; from now on it did."""
    known = cell in seen
    seen.add(cell)
    return known


def _records(
    rows: Iterable[list[str]], width: int, used: Sequence[tuple[int, str]], most: int
) -> Iterator[Record]:
    """Args: used: place and name of the columns that the study has; the others are not kept."""
    for number, row in enumerate(rows, start=1):
        if not any(row):
            continue
        if number > most:
            raise InputError(f"more than {most} records", where=BODY, remedy="Ask in several requests.")
        if len(row) != width:
            raise InputError(
                f"expected {width} fields as in the header, found {len(row)}",
                where=f"{BODY}, record {number}",
                remedy="Quote fields that hold the delimiter.",
            )
        yield {name: row[place].strip() for place, name in used}


def _foreign(header: Sequence[str], names: frozenset[str]) -> list[str]:
    """The columns that the study does not use, where all that it uses are there: else one may be misspelt."""
    foreign = [name for name in header if name not in names]
    absent = sorted(names.difference(header))
    if foreign and absent:
        raise InputError(
            f"the study has no attribute of that name, and {absent[0][:200]!r} is not among the columns",
            where=f"{BODY}, line 1, column {foreign[0][:200]!r}",
            remedy="Spell the header as the study does (GET /v1/models/{id}), or leave the column out.",
        )
    return foreign


def _safe(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(_RISKY) else text
