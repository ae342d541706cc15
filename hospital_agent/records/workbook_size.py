"""Whether a workbook can be read at all: how much it unpacks to, and how far apart the cells of a sheet lie.

The reader holds a sheet as a full rectangle. Two cells in opposite corners, a file of 2 kB, would ask for 400 GB, and
the process would end without an error that anything could catch.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from shared.errors import InputError

MAX_CELLS: Final = 2**26
"""Of the rectangle around a sheet's cells: all rows that Excel has with 64 columns."""
MAX_UNPACKED: Final = 2**32
"""Bytes of all parts together."""
_CHUNK: Final = 2**20
_LONGEST_TAG: Final = 512
_FILLED_CELL: Final = re.compile(
    rb"""<(?:\w+:)?c\s[^<]*?\br\s*=\s*["']([A-Za-z]{1,16})([0-9]{1,64})["'][^<]*(?<!/)>"""
)
_LETTERS: Final = 26


def refuse_oversize(path: Path, where: str) -> None:
    """Raises: InputError: a workbook that no machine should unpack, or no packed file at all."""
    try:
        with zipfile.ZipFile(path) as packed:
            parts = packed.infolist()
            if sum(part.file_size for part in parts) > MAX_UNPACKED:
                raise InputError(
                    f"the workbook unpacks to more than {MAX_UNPACKED >> 30} GB.",
                    where=where,
                    remedy="Save the sheet as CSV, and leave out what is no table.",
                )
            if any(_area(packed, part) > MAX_CELLS for part in parts):
                raise InputError(
                    f"cells of a sheet lie so far apart that its rectangle has more than {MAX_CELLS:,} cells.",
                    where=where,
                    remedy="Delete what stands far right of or below the table, or save the sheet as CSV.",
                )
    except (zipfile.BadZipFile, zlib.error, OSError, RuntimeError, EOFError):
        raise InputError("the workbook is damaged.", where=where, remedy="Save it again.") from None


def _area(packed: zipfile.ZipFile, part: zipfile.ZipInfo) -> int:
    """Cells of the rectangle from A1 to the last column and row that hold something; 0 of what is no sheet."""
    columns: set[bytes] = set()
    last_row = 0
    for piece in _pieces(packed, part):
        found = _FILLED_CELL.findall(piece)
        columns.update({letters for letters, _ in found})
        last_row = max([last_row, *map(int, {digits for _, digits in found})])
    return max(map(_column, columns), default=0) * last_row


def _pieces(packed: zipfile.ZipFile, part: zipfile.ZipInfo) -> Iterator[bytes]:
    """A part in pieces, each with the end of the one before, so that no tag is cut in two."""
    rest = b""
    with packed.open(part) as stream:
        while chunk := stream.read(_CHUNK):
            yield rest + chunk
            rest = chunk[-_LONGEST_TAG:]


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters.upper():
        number = number * _LETTERS + letter - ord("A") + 1
    return number
