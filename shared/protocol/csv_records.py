"""Records as CSV in a question, and answers as CSV: the same at hospital and cloud once the text is decoded."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from shared.errors import InputError
from shared.tree.answering import Answer

CSV_TYPE: Final = "text/csv"
JSON_TYPE: Final = "application/json"
BODY: Final = "body"
MAX_COLUMNS: Final = 10_000
"""More than any study has attributes."""
_COLUMNS: Final = (
    "record", "class", "probability", "low_95", "high_95", "covered", "missing", "path", "explanation",
)  # fmt: skip
_RISKY: Final = ("=", "+", "-", "@", "\t", "\r")


def read_records(
    text: str, delimiter: str, quote: str, names: frozenset[str], most: int, see: str
) -> tuple[list[dict[str, str]], list[str]]:
    """Records by the names of the header, and the columns that the study does not use.

    Args: names: of the study's attributes. most: records. see: the request that shows the names.

    Raises: InputError: no header, a name twice, a line of another width, no or too many records, a column that the
        study does not have while one of its own is absent; names lines and columns, never values.
    """
    rows = csv.reader(io.StringIO(text), delimiter=delimiter, quotechar=quote, strict=True)
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
    return records, _foreign(header, names, see)


def write_answers(found: Sequence[Answer], head: Mapping[str, object]) -> str:
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


def wants_csv(accept: str) -> bool:
    """Whether a client's `Accept` names CSV, and before JSON."""
    if not accept or accept == "*/*":
        return False
    kinds = [part.partition(";")[0].strip().lower() for part in accept.split(",")]
    return CSV_TYPE in kinds and (JSON_TYPE not in kinds or kinds.index(CSV_TYPE) < kinds.index(JSON_TYPE))


def charset_of(parameters: str) -> str | None:
    """The character set among the parameters of a `Content-Type`; None where none is named."""
    for part in parameters.split(";"):
        name, _, value = part.partition("=")
        if name.strip().lower() == "charset":
            return value.strip().strip('"') or None
    return None


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
) -> Iterator[dict[str, str]]:
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


def _foreign(header: Sequence[str], names: frozenset[str], see: str) -> list[str]:
    """The columns that the study does not use, where all that it uses are there: else one may be misspelt."""
    foreign = [name for name in header if name not in names]
    absent = sorted(names.difference(header))
    if foreign and absent:
        raise InputError(
            f"the study has no attribute of that name, and {absent[0][:200]!r} is not among the columns",
            where=f"{BODY}, line 1, column {foreign[0][:200]!r}",
            remedy=f"Spell the header as the study does ({see}), or leave the column out.",
        )
    return foreign


def _safe(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(_RISKY) else text
