"""Lists of codes as others publish them: a CSV table, or a ValueSet or CodeSystem of FHIR in JSON.

A CSV has a column `code`, and perhaps `display`, `system`, `url` and `version`. Of a ValueSet its expansion is taken,
or the codes that `compose` names one by one; what only a terminology server could work out (filters, whole systems of
codes, other value sets) is refused, with the way to have it expanded. Codes that may not be chosen, since they are
abstract or inactive, are left out. A code that stands there with two meanings is refused: a column holds no system.

Source: HL7 FHIR R4, 4.9 ValueSet (compose, expansion) and 4.8 CodeSystem (concept).
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from shared.errors import InputError
from shared.wire.contract import CodeListSource
from shared.wire.manifest import MAX_VALUES

MAX_BYTES: Final = 2**24
_EXPAND: Final = "Have a terminology server expand it ($expand), and give the expanded ValueSet."
_SHAPE: Final = (
    "Give a CSV with the columns code, display and system, or a ValueSet or CodeSystem of FHIR R4 in JSON."
)


@dataclass(frozen=True, slots=True)
class Code:
    """One code and what it means."""

    code: str
    display: str = ""
    system: str = ""


@dataclass(frozen=True, slots=True)
class CodeList:
    """The codes in their order, each once, and where they are from."""

    codes: tuple[Code, ...]
    source: CodeListSource


def read_code_list(raw: bytes, where: str) -> CodeList:
    """The list in a file. Args: where: its name, for messages.

    Raises: InputError: another form, no code, more than an attribute may have, or one code with two meanings.
    """
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("not UTF-8", where=where, remedy="Save it as UTF-8.") from None
    is_json = text.lstrip().startswith("{")
    found, url, version = _of_json(text, where) if is_json else _of_table(text, where)
    codes = _each_once(found, where)
    systems = sorted({code.system for code in codes if code.system})
    source = CodeListSource(
        url=url[:500],
        version=version[:200],
        systems=[system[:500] for system in systems],
        file_sha256=hashlib.sha256(raw).hexdigest(),
    )
    return CodeList(codes, source)


def _each_once(found: Iterable[Code], where: str) -> tuple[Code, ...]:
    codes: dict[str, Code] = {}
    for code in found:
        if codes.setdefault(code.code, code) != code:
            raise InputError(
                f"the code {code.code!r} stands there twice, with different meanings or systems",
                where=where,
                remedy="Give a list of one code system, in which each code stands once.",
            )
    if not codes:
        raise InputError("no code that a record may have", where=where, remedy=_SHAPE)
    if len(codes) > MAX_VALUES:
        raise InputError(
            f"expected at most {MAX_VALUES} codes, found {len(codes)}: each is a branch wherever the column is asked",
            where=where,
            remedy="Group them: --prefix COLUMN:PREFIX=VALUE takes all codes that begin so, --other the rest.",
        )
    return tuple(codes.values())


def _of_table(text: str, where: str) -> tuple[list[Code], str, str]:
    delimiter = max(",;\t|", key=text.partition("\n")[0].count)
    rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        names = [(name or "").strip().lower() for name in rows.fieldnames or ()]
        if "code" not in names:
            raise InputError("no column code in its first line", where=where, remedy=_SHAPE)
        rows.fieldnames = names
        entries = [
            {name: (cell or "").strip() for name, cell in row.items() if isinstance(cell, str | None)}
            for row in rows
        ]
    except csv.Error as error:
        raise InputError(f"line {rows.line_num}: {error}", where=where, remedy=_SHAPE) from None
    codes = [Code(e["code"], e.get("display", ""), e.get("system", "")) for e in entries if e["code"]]
    return codes, _only(entries, "url", where), _only(entries, "version", where)


def _only(entries: Iterable[Mapping[str, str]], name: str, where: str) -> str:
    found = {entry[name] for entry in entries if entry.get(name)}
    if len(found) > 1:
        raise InputError(
            f"expected one {name} for the whole list, found {len(found)}",
            where=where,
            remedy="Give one list of one version.",
        )
    return found.pop() if found else ""


def _of_json(text: str, where: str) -> tuple[list[Code], str, str]:
    try:
        resource = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError("not JSON", where=where, remedy=_SHAPE) from None
    kind = resource.get("resourceType")
    if kind == "ValueSet":
        found = _of_value_set(resource, where)
    elif kind == "CodeSystem":
        found = _of_code_system(resource, where)
    else:
        raise InputError("expected a ValueSet or a CodeSystem", where=where, remedy=_SHAPE)
    return list(found), _text(resource, "url"), _text(resource, "version")


def _of_value_set(resource: Mapping[str, Any], where: str) -> Iterator[Code]:
    expansion = _object(resource.get("expansion"))
    if expansion:
        if _is_partial(expansion):
            raise InputError(
                "an expansion that is not whole", where=where, remedy="Ask for all of its pages."
            )
        yield from _contained(expansion, "contains", "")
        return
    compose = _object(resource.get("compose"))
    left_out = {
        (_text(part, "system"), code.code)
        for part in _objects(compose, "exclude")
        for code in _named(part, where)
    }
    for part in _objects(compose, "include"):
        yield from (code for code in _named(part, where) if (code.system, code.code) not in left_out)


def _is_partial(expansion: Mapping[str, Any]) -> bool:
    """Whether there are more codes than those of this page."""
    total, listed = expansion.get("total"), sum(1 for _ in _entries(expansion, "contains"))
    return isinstance(total, int) and total > listed


def _named(part: Mapping[str, Any], where: str) -> list[Code]:
    """The codes that a part of `compose` names. Raises: InputError: it means others too."""
    if part.get("filter") or part.get("valueSet") or not _objects(part, "concept"):
        raise InputError(
            "the value set does not list its codes: it has filters, other value sets or a whole code system",
            where=where,
            remedy=_EXPAND,
        )
    system = _text(part, "system")
    return [Code(_text(each, "code"), _text(each, "display"), system) for each in _objects(part, "concept")]


def _of_code_system(resource: Mapping[str, Any], where: str) -> Iterator[Code]:
    if resource.get("content") != "complete":
        raise InputError("a code system that does not hold all of its codes", where=where, remedy=_EXPAND)
    return _contained(resource, "concept", _text(resource, "url"))


def _contained(holder: Mapping[str, Any], member: str, system: str) -> Iterator[Code]:
    for each in _entries(holder, member):
        if each.get("abstract") is not True and each.get("inactive") is not True and _text(each, "code"):
            yield Code(_text(each, "code"), _text(each, "display"), _text(each, "system") or system)


def _entries(holder: Mapping[str, Any], member: str) -> Iterator[Mapping[str, Any]]:
    """All entries, those below an entry behind it."""
    pending = [*reversed(_objects(holder, member))]
    while pending:
        each = pending.pop()
        yield each
        pending.extend(reversed(_objects(each, member)))


def _objects(holder: Mapping[str, Any], member: str) -> list[Mapping[str, Any]]:
    found = holder.get(member)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _object(found: object) -> Mapping[str, Any]:
    return found if isinstance(found, dict) else {}


def _text(holder: Mapping[str, Any], member: str) -> str:
    found = holder.get(member)
    return found.strip() if isinstance(found, str) else ""
