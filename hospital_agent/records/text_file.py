"""From a hospital's bytes to UTF-8 text that DuckDB can parse: encodings, line ends, comments, runs of blanks.

A file that is plain UTF-8 with even line ends and no comments is handed on as it is. Everything else is rewritten into
anonymous memory (on systems without it, into a private temporary file), so that no second copy of records is left on a
disk. Line numbers stay what an editor shows: a comment becomes an empty line.
"""

from __future__ import annotations

import codecs
import io
import mmap
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final, cast

from shared.errors import InputError
from shared.texts import text

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
_ZERO_PATTERNS: Final = (
    ("utf-32-le", (False, True, True, True)),
    ("utf-32-be", (True, True, True, False)),
    ("utf-16-le", (False, True, False, True)),
    ("utf-16-be", (True, False, True, False)),
)
"""Which of four bytes in a row are zero in plain letters and digits."""
_MULTIBYTE: Final = re.compile(rb"[\xc3-\xf4][\x80-\xbf]{1,3}")
_ONLY_WINDOWS: Final = re.compile(rb"[\x80-\x9f]")
_NOT_WINDOWS: Final = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
_LINE_ENDS: Final = {"\n": "LF", "\r\n": "CR LF", "\r": "CR"}


@dataclass(frozen=True, slots=True)
class Encoding:
    """Python's name of an encoding, and why it was taken."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Rewriting:
    """What to change. `join_blanks`: fields are parted by runs of blanks: make each run one blank, none at the ends of
    a line. `comment`: leave out lines that begin so, unless `quote` holds them in a field. `is_record`: a doubtful
    comment that this says to have a record's fields is refused.
    """

    join_blanks: bool = False
    comment: str = ""
    quote: str = '"'
    is_record: Callable[[str], bool] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Utf8Text:
    """A path with the text. `line_ends`: names of those that the file had. `comments`: lines left out. `joined`: lines
    that ended in blanks before their runs were made one.
    """

    path: str
    line_ends: tuple[str, ...]
    comments: int = 0
    joined: int = 0


def find_encoding(path: Path, override: str | None, where: str) -> Encoding:
    """The file's encoding: by override, by byte-order mark, by zero bytes, else UTF-8, Windows-1252 or Latin-1.

    Raises: InputError: unknown override, zero bytes in no order, or lines of different encodings.
    """
    if override is not None:
        return Encoding(_named_encoding(override, path, where), text("reading.setting"))
    with path.open("rb") as stream:
        head = stream.read(_HEAD_BYTES)
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return Encoding(encoding, text("reading.byte_order_mark"))
    if b"\0" in head:
        wide = _wide_encoding(head)
        if wide is not None:
            return Encoding(wide, text("reading.zero_bytes"))
    _refuse_zero_bytes(path, where)
    wrong = _first_line_not_utf8(path)
    if wrong is None:
        return Encoding("utf-8", text("reading.every_byte"))
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        if _MULTIBYTE.search(content):
            raise InputError(
                "the line is not UTF-8, while other lines are.",
                where=f"{where}, line {wrong}",
                remedy="Save the file in one encoding, or name one with encoding in the data settings.",
            )
        windows = _ONLY_WINDOWS.search(content) is not None and _NOT_WINDOWS.search(content) is None
    return Encoding("cp1252" if windows else "latin-1", text("reading.not_utf8", line=wrong))


@contextmanager
def utf8_copy(path: Path, encoding: str, where: str, rewriting: Rewriting) -> Iterator[Utf8Text]:
    """The file as UTF-8 with single line feeds; line numbers stay.

    Raises: InputError: bytes that are not of this encoding, a comment that might be a record.
    """
    if encoding == "utf-8" and not rewriting.join_blanks and not rewriting.comment and not has_pattern(path):
        ends = _line_ends(path)
        if len(ends) < 2 and "CR" not in ends:
            yield Utf8Text(str(path), ends)
            return
    with private_file() as (stream, name):
        try:
            with path.open(encoding=encoding, newline=None) as text:
                comments, joined = _rewrite(text, stream, rewriting, where)
                ends = _names_of(text.newlines)
        except UnicodeError:
            raise _wrong_encoding(encoding, where) from None
        yield Utf8Text(name, ends, comments, joined)


def has_pattern(path: Path) -> bool:
    """Whether DuckDB would take the path for a pattern of several files, as in `data[1].csv`."""
    return any(character in str(path) for character in "*?[")


def sample_of(path: str | Path, encoding: str) -> str:
    """The beginning of a text file, cut after its last whole line; bytes out of place show as question marks."""
    with open(path, encoding=encoding, errors="replace", newline=None) as stream:
        text = stream.read(SAMPLE_CHARACTERS)
        cut_off = bool(stream.read(1))
    return text[: text.rfind("\n") + 1] or text if cut_off else text


@contextmanager
def private_file() -> Iterator[tuple[BinaryIO, str]]:
    """A file in anonymous memory, and the path under which it can be opened again while it lives."""
    if hasattr(os, "memfd_create") and Path("/proc/self/fd").is_dir():
        with os.fdopen(os.memfd_create("records"), "wb") as stream:
            yield stream, f"/proc/self/fd/{stream.fileno()}"
    else:
        with tempfile.NamedTemporaryFile(prefix="records-", suffix=".csv") as stream:  # mode 0600
            yield cast(BinaryIO, stream), stream.name


def _rewrite(text: io.TextIOWrapper, stream: BinaryIO, rewriting: Rewriting, where: str) -> tuple[int, int]:
    """Returns: the numbers of comment lines, and of lines whose blanks at the end went."""
    if rewriting.join_blanks or rewriting.comment:
        counts = _rewrite_lines(text, stream, rewriting, where)
    else:
        counts = (0, 0)
        while chunk := text.read(_CHUNK_BYTES):
            stream.write(chunk.encode())
    stream.flush()
    return counts


def _rewrite_lines(
    text: io.TextIOWrapper, stream: BinaryIO, rewriting: Rewriting, where: str
) -> tuple[int, int]:
    comments = joined = 0
    in_quotes = False
    for number, line in enumerate(text, start=1):
        if rewriting.comment and not in_quotes and line.lstrip().startswith(rewriting.comment):
            _refuse_record(line, number, rewriting, where)
            comments += 1
            stream.write(b"\n")
            continue
        if rewriting.quote and line.count(rewriting.quote) % 2:
            in_quotes = not in_quotes
        joined += rewriting.join_blanks and line.rstrip("\n").endswith((" ", "\t"))
        stream.write(((_BLANKS.sub(" ", line.strip()) + "\n") if rewriting.join_blanks else line).encode())
    return comments, joined


def _refuse_record(line: str, number: int, rewriting: Rewriting, where: str) -> None:
    if rewriting.is_record is not None and rewriting.is_record(line):
        raise InputError(
            f"the line begins with {rewriting.comment!r} as comments do, and has as many fields as a record.",
            where=f"{where}, line {number}",
            remedy=f"Set comment to {rewriting.comment!r} to leave such lines out, or to nothing to keep them all.",
        )


def _named_encoding(name: str, path: Path, where: str) -> str:
    try:
        encoding = codecs.lookup(name).name
    except LookupError:
        raise InputError(
            f"the encoding {name!r} is not known.", where=where, remedy="Use utf-8, utf-16 or latin-1."
        ) from None
    if encoding != "utf-8":
        return encoding
    if _first_line_not_utf8(path) is not None:
        raise _wrong_encoding(encoding, where)
    with path.open("rb") as stream:
        return "utf-8-sig" if stream.read(3) == codecs.BOM_UTF8 else encoding


def _wrong_encoding(encoding: str, where: str) -> InputError:
    return InputError(
        f"the bytes are not {encoding} text.",
        where=where,
        remedy="Name the right encoding in the data settings, or save the file as UTF-8.",
    )


def _wide_encoding(head: bytes) -> str | None:
    """UTF-16 or UTF-32 by where zero bytes stand; None where they stand in no order."""
    head = head[: len(head) // 4 * 4] or head.ljust(4, b"?")
    zero = [[byte == 0 for byte in head[start::4]] for start in range(4)]
    share = [sum(column) / len(column) for column in zero]
    for encoding, pattern in _ZERO_PATTERNS:
        if all(
            (part > 0.2) if expected else (part < 0.05) for part, expected in zip(share, pattern, strict=True)
        ):
            return encoding
    return None


def _refuse_zero_bytes(path: Path, where: str) -> None:
    lines = 1
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            if (place := chunk.find(b"\0")) >= 0:
                lines += chunk.count(b"\n", 0, place)
                raise InputError(
                    "there is a zero byte, which no text has.",
                    where=f"{where}, line {lines}",
                    remedy="Export the records again; name the encoding in the data settings if it is an unusual one.",
                )
            lines += chunk.count(b"\n")


def _first_line_not_utf8(path: Path) -> int | None:
    """The number of the first line that is not UTF-8; None where all are."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    lines = 1
    with path.open("rb") as stream:
        chunk = b""
        try:
            while chunk := stream.read(_CHUNK_BYTES):
                decoder.decode(chunk)
                lines += chunk.count(b"\n")
            decoder.decode(b"", final=True)
        except UnicodeDecodeError as error:
            return lines + (error.object[: error.start].count(b"\n") if chunk else 0)
    return None


def _line_ends(path: Path) -> tuple[str, ...]:
    """Names of the line ends of a file whose characters are single bytes or UTF-8."""
    pairs = feeds = returns = 0
    last = b""
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            pairs += chunk.count(b"\r\n") + (last == b"\r" and chunk.startswith(b"\n"))
            feeds += chunk.count(b"\n")
            returns += chunk.count(b"\r")
            last = chunk[-1:]
    kinds = (("LF", feeds > pairs), ("CR LF", pairs > 0), ("CR", returns > pairs))
    return tuple(name for name, occurs in kinds if occurs)


def _names_of(newlines: str | tuple[str, ...] | None) -> tuple[str, ...]:
    found = (newlines,) if isinstance(newlines, str) else newlines or ()
    return tuple(name for end, name in _LINE_ENDS.items() if end in found)
