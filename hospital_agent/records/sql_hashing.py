"""HMAC-SHA-256 worked out by an engine: what of its functions make the tag of a text, and how the key comes to it.

The key must not stand in a statement, for statements are logged. PostgreSQL gets it as settings of the session, with
the request for the connection, which no log of statements shows; the statement says `current_setting`. Spark gets it as
a table of one row, whose contents its plans do not show. DuckDB works inside this process and keeps no log: there it is
a literal. Ibis has no such functions, so each engine's are named here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from hospital_agent.records.sql_engine import ibis
from hospital_agent.records.sql_numbers import MustCopyError
from shared.crypto.parting import pads

_SETTINGS: Final = ("privet.inner", "privet.outer")
_COLUMNS: Final = ("privet_inner", "privet_outer")

_OPTIONS: Final = re.compile(r"[?&]options=[^&]*")

_Expression = Any
"""An Ibis expression."""


@dataclass(frozen=True, slots=True)
class EngineHash:
    """The hash under one key over an engine's rows.

    `rows`: those given, with two more columns where the key comes from a table. `tag`: of a text over them, bytes.
    """

    rows: _Expression = field(repr=False)
    tag: Callable[[_Expression], _Expression] = field(repr=False)
    _dialect: _Dialect = field(repr=False)

    def is_from(self, tag: _Expression, low: bytes | None, high: bytes | None) -> _Expression:
        """Whether a tag is from `low` on and below `high`, either None for no bound; no tag is `high` itself.

        The tag is the dear part, and two comparisons would make engines work it out twice.
        """
        if low is not None and high is not None:
            return self._dialect.within(tag, self._dialect.literal(low), self._dialect.literal(high))
        if high is not None:
            return tag < self._dialect.literal(high)
        return tag >= self._dialect.literal(low or b"")


@dataclass(frozen=True, slots=True)
class _Dialect:
    """An engine's functions. `encode`: text to bytes of UTF-8. `digest`: SHA-256. `join`: of two. `within`: bounds."""

    encode: Callable[[_Expression], _Expression]
    digest: Callable[[_Expression], _Expression]
    join: Callable[[_Expression, _Expression], _Expression]
    literal: Callable[[bytes], _Expression]
    within: Callable[[_Expression, _Expression, _Expression], _Expression]


def url_with_key(url: str, key: bytes) -> str:
    """The URL by which a connection is opened so that the engine has the key; options that it has stay."""
    if not url.startswith(("postgres:", "postgresql:")):
        return url
    named = zip(_SETTINGS, pads(key), strict=True)
    options = "%20".join(f"-c%20{name}={pad.hex()}" for name, pad in named)
    with_both, count = _OPTIONS.subn(rf"\g<0>%20{options}", url, count=1)
    return with_both if count else f"{url}{'&' if '?' in url else '?'}options={options}"


def engine_hash(rows: _Expression, key: bytes) -> EngineHash:
    """The hash over these rows, on a connection that was opened with `url_with_key`.

    Raises: MustCopyError: the engine is none of those whose functions are known.
    """
    name = rows.get_backend().name
    if name not in _DIALECTS:
        raise MustCopyError(f"this agent knows no SHA-256 of {name}, by which the job parts records")
    dialect = _DIALECTS[name]()
    inner, outer = (dialect.literal(pad) for pad in pads(key))
    if name == "postgres":
        inner, outer = (_setting(setting) for setting in _SETTINGS)
    if name == "pyspark":
        columns = dict(zip(_COLUMNS, pads(key), strict=True))
        kinds = dict.fromkeys(_COLUMNS, "binary")
        rows = rows.cross_join(
            ibis().memtable({column: [pad] for column, pad in columns.items()}, schema=kinds)
        )
        inner, outer = (rows[column] for column in _COLUMNS)

    def tag(text: _Expression) -> _Expression:
        return dialect.digest(dialect.join(outer, dialect.digest(dialect.join(inner, dialect.encode(text)))))

    return EngineHash(rows, tag, dialect)


@cache
def _function(name: str, takes: tuple[str, ...], gives: str) -> Callable[..., _Expression]:
    """A function that the engine has."""
    shapes: dict[int, Callable[..., None]] = {1: lambda _: None, 2: lambda _, __: None}
    builtin: Callable[..., _Expression] = ibis().udf.scalar.builtin(
        shapes[len(takes)], name=name, signature=(takes, gives)
    )
    return builtin


def _setting(name: str) -> _Expression:
    return _unhex_postgres(_function("current_setting", ("string",), "string")(name))


def _unhex_postgres(text: _Expression) -> _Expression:
    return _function("decode", ("string", "string"), "binary")(text, "hex")


def _unhex(text: _Expression) -> _Expression:
    return _function("unhex", ("string",), "binary")(text)


def _duckdb() -> _Dialect:
    digest = _function("sha256", ("binary",), "string")
    return _Dialect(
        encode=_function("encode", ("string",), "binary"),
        digest=lambda raw: _unhex(digest(raw)),
        join=_function("concat", ("binary", "binary"), "binary"),
        literal=lambda raw: _unhex(ibis().literal(raw.hex())),
        within=lambda tag, low, high: tag.between(low, high),
    )


def _postgres() -> _Dialect:
    encode = _function("convert_to", ("string", "string"), "binary")
    bucket = _function("width_bucket", ("binary", "array<binary>"), "int32")
    return _Dialect(
        encode=lambda text: encode(text, "UTF8"),
        digest=_function("sha256", ("binary",), "binary"),
        join=_function("byteacat", ("binary", "binary"), "binary"),
        literal=lambda raw: _unhex_postgres(ibis().literal(raw.hex())),
        within=lambda tag, *bounds: bucket(tag, ibis().array(bounds)) == 1,
    )


def _pyspark() -> _Dialect:
    encode = _function("encode", ("string", "string"), "binary")
    digest = _function("sha2", ("binary", "int32"), "string")
    return _Dialect(
        encode=lambda text: encode(text, "UTF-8"),
        digest=lambda raw: _unhex(digest(raw, 256)),
        join=_function("concat", ("binary", "binary"), "binary"),
        literal=lambda raw: _unhex(ibis().literal(raw.hex())),
        within=lambda tag, low, high: tag.between(low, high),
    )


_DIALECTS: Final[Mapping[str, Callable[[], _Dialect]]] = {
    "duckdb": _duckdb,
    "postgres": _postgres,
    "pyspark": _pyspark,
}
