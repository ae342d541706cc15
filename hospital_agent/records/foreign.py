"""What kind of file this is, by its first bytes; kinds that hold no table of cases are refused by name.

A file's ending is never believed: programs save HTML under `.xls` and spreadsheets under `.csv`.
"""

from __future__ import annotations

import gzip
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import IO, Final

from hospital_agent.records.text_file import private_file
from hospital_agent.records.workbook_size import MAX_UNPACKED
from shared.errors import InputError

_HEAD_BYTES: Final = 1 << 16
_CHUNK: Final = 1 << 20
_OPEN_DOCUMENT: Final = b"application/vnd.oasis.opendocument.spreadsheet"
_CSV: Final = "Export it as CSV or Parquet."
_OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_MAGIC: Final = (
    (b"%PDF", "a PDF document", "Ask for the table behind it, as CSV or Parquet."),
    (b"{\\rtf", "a text document (RTF)", _CSV),
    (b"BZh", "a bzip2 archive", "Unpack it first."),
    (b"\xfd7zXZ\0", "an xz archive", "Unpack it first."),
    (b"\x28\xb5\x2f\xfd", "a zstd archive", "Unpack it first."),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "Unpack it first."),
    (b"SQLite format 3\0", "an SQLite database", "Export the table of the cases as CSV or Parquet."),
    (b"$FL2", "an SPSS file", _CSV),
    (b"<stata_dta>", "a Stata file", _CSV),
    (b"\0\0\0\0\0\0\0\0\0\0\0\0\xc2\xea\x81\x60", "a SAS file", _CSV),
    (b"\x89HDF", "an HDF5 file", _CSV),
    (b"ARROW1", "an Arrow file", "Export it as Parquet."),
    (b"\x89PNG", "a picture", "Ask for the table behind it, as CSV or Parquet."),
    (b"\xff\xd8\xff", "a picture", "Ask for the table behind it, as CSV or Parquet."),
)
_MARKUP: Final = re.compile(
    r"\s*(<!doctype html|<html|<head|<meta|<style|<body|<div|<table|<!--)", re.IGNORECASE
)
_JSON: Final = re.compile(r"""\s*(\{\s*["}]|\[\s*[\[{"0-9\]])""")


class Kind(StrEnum):
    """How a file is to be read."""

    TEXT = "text"
    PARQUET = "Parquet"
    EXCEL = "Excel"
    GZIP = "gzip"


def kind_of(path: Path, where: str) -> Kind:
    """The file's kind. Raises: InputError: it is of a kind that is not read."""
    with path.open("rb") as stream:
        head = stream.read(_HEAD_BYTES)
    if head.startswith(b"PAR1"):
        return Kind.PARQUET
    if head.startswith(b"\x1f\x8b"):
        return Kind.GZIP
    if head.startswith(b"PK\x03\x04"):
        return _kind_of_zip(path, where)
    if head.startswith(_OLE):
        raise _refusal_of_ole(path, where)
    if head[8:12] == b"DUCK":
        raise _refusal(
            "a DuckDB database", where, 'Name it by url = "duckdb://PATH", with its table or a query.'
        )
    for magic, kind, remedy in _MAGIC:
        if head.startswith(magic):
            raise _refusal(kind, where, remedy)
    return Kind.TEXT


def refuse_marked_up(sample: str, where: str) -> None:
    """Raises InputError where a text is HTML, XML or JSON, which hold no lines of fields."""
    place = f"{where}, line {_first_line(sample)}"
    if sample.lstrip("\ufeff").lstrip().startswith("<?xml"):
        raise _refusal(
            "an XML document", place, "Open it in the program it came from and save it as CSV or .xlsx."
        )
    if _MARKUP.match(sample):
        remedy = (
            "Many programs save HTML under a spreadsheet's name; open it there and save it as CSV or .xlsx."
        )
        raise _refusal("an HTML page", place, remedy)
    if _JSON.match(sample):
        remedy = _CSV
        if '"resourceType"' in sample:
            remedy = "Flatten FHIR resources with a view definition first: privet data flatten."
        raise _refusal("JSON", place, remedy)


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """A gzipped text in anonymous memory. Raises: InputError: it is damaged, or holds no text."""
    with private_file() as (stream, name):
        try:
            with gzip.open(path) as packed:
                _unpack(packed, stream, path.name)
        except (OSError, EOFError, zlib.error):
            raise InputError(
                "the gzip archive is damaged.", where=path.name, remedy="Export it again."
            ) from None
        stream.flush()
        found = kind_of(Path(name), path.name)
        if found is not Kind.TEXT:
            raise _refusal(f"a gzip archive of {found.value}", path.name, "Unpack it first.")
        yield Path(name)


def _unpack(packed: gzip.GzipFile, stream: IO[bytes], where: str) -> None:
    left = MAX_UNPACKED
    while chunk := packed.read(_CHUNK):
        left -= len(chunk)
        if left < 0:
            raise _refusal(
                f"a gzip archive of more than {MAX_UNPACKED >> 30} GB", where, "Unpack it to a file first."
            )
        stream.write(chunk)


def _kind_of_zip(path: Path, where: str) -> Kind:
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
            is_open_document = "mimetype" in names and _begins_with(archive, "mimetype", _OPEN_DOCUMENT)
    except (zipfile.BadZipFile, OSError, RuntimeError, zlib.error):
        raise InputError(
            "the file is a damaged spreadsheet or zip archive.", where=where, remedy="Export it again."
        ) from None
    if "xl/workbook.xml" in names:
        return Kind.EXCEL
    if "xl/workbook.bin" in names:
        raise _refusal("a binary spreadsheet (.xlsb)", where, "Save it as .xlsx.")
    if is_open_document:
        raise _refusal("an OpenDocument spreadsheet (.ods)", where, "Save it as .xlsx or CSV.")
    if "word/document.xml" in names:
        raise _refusal("a text document (.docx)", where, _CSV)
    raise _refusal("a zip archive", where, "Unpack it, and name the file in it.")


def _begins_with(archive: zipfile.ZipFile, name: str, head: bytes) -> bool:
    with archive.open(name) as stream:
        return stream.read(len(head)) == head


def _refusal_of_ole(path: Path, where: str) -> InputError:
    """An .xlsx with a password lies in the same container as an old .xls; its parts are named in UTF-16."""
    if "EncryptedPackage".encode("utf-16-le") in path.read_bytes():
        return _refusal("a spreadsheet with a password", where, "Open it, and save it without the password.")
    return _refusal("an old spreadsheet (.xls)", where, "Open it, and save it as .xlsx or CSV.")


def _refusal(kind: str, where: str, remedy: str) -> InputError:
    return InputError(f"this is {kind}, not a table of text.", where=where, remedy=remedy)


def _first_line(sample: str) -> int:
    return 1 + sample[: len(sample) - len(sample.lstrip("\ufeff \t\r\n"))].count("\n")
