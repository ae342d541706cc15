"""From a hospital's bytes to UTF-8 text that DuckDB can parse: encodings, line ends, runs of blanks.

A file that is plain UTF-8 with even line ends is handed on as it is. Everything else is rewritten into anonymous memory
(on systems without it, into a private temporary file), so that no second copy of records is left on a disk.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final, cast

from shared.errors import InputError

SAMPLE_CHARACTERS: Final = 1 << 18
_HEAD_BYTES: Final = 1 << 12
_CHUNK_BYTES: Final = 1 << 20
_BLANKS: Final = re.compile(r"[ \t]+")
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_FOREIGN: Final = (
    (b"PK\x03\x04", "a spreadsheet or zip archive"),
    (b"\xd0\xcf\x11\xe0", "an old spreadsheet"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"%PDF", "a PDF document"),
)


def find_encoding(path: Path, override: str | None) -> str:
    """The Python name of the file's encoding: by override, by byte-order mark, by zero bytes, else UTF-8 or Latin-1.

    Raises: InputError: unknown override, or a file of another kind.
    """
    if override is not None:
        return _named_encoding(override, path)
    with path.open("rb") as stream:
        head = stream.read(_HEAD_BYTES)
    for magic, kind in _FOREIGN:
        if head.startswith(magic):
            raise InputError(
                f"this is {kind}, not a table of text.",
                where=path.name,
                remedy="Export it as CSV or Parquet.",
            )
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding
    if b"\0" in head:
        return "utf-16-le" if head[1:2] == b"\0" else "utf-16-be"
    return "utf-8" if _is_utf8(path) else "latin-1"


@contextmanager
def utf8_copy(path: Path, encoding: str, *, join_blanks: bool) -> Iterator[str]:
    """A path whose content is the file as UTF-8 with single line feeds; line numbers stay.

    Args: join_blanks: fields are parted by runs of blanks: make each run one blank, none at the ends of a line.
    Raises: InputError: bytes that are not of this encoding.
    """
    if encoding == "utf-8" and not join_blanks and not has_pattern(path) and _has_even_line_ends(path):
        yield str(path)
        return
    with _private_file() as (stream, name):
        try:
            with path.open(encoding=encoding, newline=None) as text:
                _rewrite(text, stream, join_blanks=join_blanks)
        except UnicodeError:
            raise _wrong_encoding(encoding, path) from None
        yield name


def has_pattern(path: Path) -> bool:
    """Whether DuckDB would take the path for a pattern of several files, as in `data[1].csv`."""
    return any(character in str(path) for character in "*?[")


def sample_of(path: str | Path, encoding: str) -> str:
    """The beginning of a text file, cut after its last whole line; bytes out of place show as question marks."""
    with open(path, encoding=encoding, errors="replace", newline=None) as stream:
        text = stream.read(SAMPLE_CHARACTERS)
        cut_off = bool(stream.read(1))
    return text[: text.rfind("\n") + 1] or text if cut_off else text


def _rewrite(text: io.TextIOWrapper, stream: BinaryIO, *, join_blanks: bool) -> None:
    if join_blanks:
        for line in text:
            stream.write((_BLANKS.sub(" ", line.strip()) + "\n").encode())
    else:
        while chunk := text.read(_CHUNK_BYTES):
            stream.write(chunk.encode())
    stream.flush()


@contextmanager
def _private_file() -> Iterator[tuple[BinaryIO, str]]:
    if hasattr(os, "memfd_create") and Path("/proc/self/fd").is_dir():
        with os.fdopen(os.memfd_create("records"), "wb") as stream:
            yield stream, f"/proc/self/fd/{stream.fileno()}"
    else:
        with tempfile.NamedTemporaryFile(prefix="records-", suffix=".csv") as stream:  # mode 0600
            yield cast(BinaryIO, stream), stream.name


def _named_encoding(name: str, path: Path) -> str:
    try:
        encoding = codecs.lookup(name).name
    except LookupError:
        raise InputError(
            f"the encoding {name!r} is not known.", where=path.name, remedy="Use utf-8, utf-16 or latin-1."
        ) from None
    if encoding != "utf-8":
        return encoding
    if not _is_utf8(path):
        raise _wrong_encoding(encoding, path)
    with path.open("rb") as stream:
        return "utf-8-sig" if stream.read(3) == codecs.BOM_UTF8 else encoding


def _wrong_encoding(encoding: str, path: Path) -> InputError:
    return InputError(
        f"the bytes are not {encoding} text.",
        where=path.name,
        remedy="Name the right encoding in the data settings, or save the file as UTF-8.",
    )


def _is_utf8(path: Path) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with path.open("rb") as stream:
            while chunk := stream.read(_CHUNK_BYTES):
                decoder.decode(chunk)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _has_even_line_ends(path: Path) -> bool:
    """Whether all lines end alike, LF or CR LF; DuckDB's strict parser wants that."""
    pairs = feeds = returns = 0
    last = b""
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            pairs += chunk.count(b"\r\n") + (last == b"\r" and chunk.startswith(b"\n"))
            feeds += chunk.count(b"\n")
            returns += chunk.count(b"\r")
            last = chunk[-1:]
    return returns == pairs and pairs in (0, feeds)
