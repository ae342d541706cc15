"""The base of every message: strict frozen models, canonical JSON, limits before parsing.

Canonical JSON (protocol section 2): UTF-8, sorted ASCII keys, separators `,` and `:`, no floats, integers
below 2^53; a subset of RFC 8785, whose library writes it.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Annotated, Any, Final, Self, TypeVar

import rfc8785
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from shared.errors import ErrorCode, InternalError, PeerError
from shared.ids import HEX_16_PATTERN, HEX_32_PATTERN, ID_PATTERN

MAX_JSON_DEPTH: Final = 8
MAX_JSON_ITEMS: Final = 2**21
"""Of one body: lists, objects and the members of both. The greatest round needs about half of it."""
MAX_INTEGER: Final = 2**53 - 1

Id = Annotated[str, StringConstraints(pattern=ID_PATTERN)]
Hex16 = Annotated[str, StringConstraints(pattern=HEX_16_PATTERN)]
Hex32 = Annotated[str, StringConstraints(pattern=HEX_32_PATTERN)]
Hex64 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{128}$")]
Base64Url = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]+$")]
Count = Annotated[int, Field(ge=0, le=MAX_INTEGER)]
DecimalText = Annotated[str, StringConstraints(pattern=r"^-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,17})?$")]
"""A decimal number as text, exactly as it is written."""

Model = TypeVar("Model", bound="WireModel")


def is_absent(value: object) -> bool:
    """For `Field(exclude_if=is_absent)`: a member that came later is left out of canonical bytes where it is None."""
    return value is None


class WireModel(BaseModel):
    """A message or a part of one: frozen, strict, unknown fields refused."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", populate_by_name=True)

    def canonical(self) -> bytes:
        """The canonical JSON bytes of this message."""
        return canonical_json(self.model_dump(mode="json", by_alias=True))

    @classmethod
    def parse(cls, raw: bytes, *, what: str, max_bytes: int) -> Self:
        """Bytes to model, limits first.

        Raises: PeerError: `too_large`, or `malformed` naming the first wrong field (never its value).
        """
        check_json_limits(raw, what=what, max_bytes=max_bytes)
        return validated(cls, raw, what=what)


def validated(model: type[Model], raw: bytes, *, what: str) -> Model:
    """Raw JSON to `model`; the error names the field and the rule, not the value."""
    try:
        return model.model_validate_json(raw, by_alias=True, by_name=False)
    except ValidationError as error:
        raise PeerError(ErrorCode.MALFORMED, f"{what}: {describe(error)}") from None


def describe(error: ValidationError) -> str:
    """The first fault of a validation, by place and rule, without the value that came."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"]) or "the document"
    return f"{place}: {first['msg'].removeprefix('Value error, ')}"


def canonical_json(value: Any) -> bytes:
    """Canonical JSON of plain dicts, lists, strings, booleans, None and integers below 2^53.

    Raises: InternalError: a float, a large integer or a non-string key: such a message is our bug.
    """
    try:
        encoded = rfc8785.dumps(value)
    except rfc8785.CanonicalizationError as error:
        raise InternalError(f"not canonical JSON: {error}") from None
    _refuse_floats(value)
    return encoded


def _refuse_floats(value: Any) -> None:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, float):
            raise InternalError("a float in a canonical message; write it as text or as an integer")
        if isinstance(item, dict):
            if not all(key.isascii() for key in item):
                raise InternalError("a key outside ASCII in a canonical message")
            stack.extend(item.values())
        elif isinstance(item, (list, tuple)):
            stack.extend(item)


def check_json_limits(raw: bytes, *, what: str, max_bytes: int) -> None:
    """Refuse a body that is too long, of too many items or nested too deep, before any parser sees it."""
    if len(raw) > max_bytes:
        raise PeerError(ErrorCode.TOO_LARGE, f"{what}: at most {max_bytes} bytes, got {len(raw)}")
    check_item_count(raw, what=what)
    if json_depth(raw) > MAX_JSON_DEPTH:
        raise PeerError(ErrorCode.MALFORMED, f"{what}: JSON nested deeper than {MAX_JSON_DEPTH}")


def check_item_count(raw: bytes, *, what: str) -> None:
    """Refuse a body whose many tiny items would take twenty times its length in memory, and minutes to write anew."""
    unescaped = _without_escapes(raw)
    # Two quotes a string, two strings a member: a body with more of them than that need not be split to be refused.
    if unescaped.count(b'"') <= 4 * MAX_JSON_ITEMS:
        structure = _outside_strings(unescaped)
        if sum(map(structure.count, (b"[", b"{", b","))) <= MAX_JSON_ITEMS:
            return
    raise PeerError(ErrorCode.MALFORMED, f"{what}: more than {MAX_JSON_ITEMS} items")


def json_depth(raw: bytes) -> int:
    """Greatest nesting of `{` and `[` outside strings; linear, no recursion."""
    bare = _outside_strings(_without_escapes(raw)).translate(None, delete=_NOT_BRACKETS)
    depth = deepest = 0
    for byte in bare:
        if byte in b"{[":
            depth += 1
            deepest = max(deepest, depth)
        elif byte in b"}]":
            depth -= 1
    return deepest


_NOT_BRACKETS: Final = bytes(set(range(256)) - set(b"{}[]"))


def _without_escapes(raw: bytes) -> bytes:
    """Without escaped backslashes and quotes, so that only real quotes are left."""
    return raw.replace(b"\\\\", b"").replace(b'\\"', b"")


def _outside_strings(unescaped: bytes) -> bytes:
    """Every second piece between quotes."""
    return b"".join(unescaped.split(b'"')[::2])


def parse_canonical(raw: bytes, *, what: str, max_bytes: int) -> dict[str, Any]:
    """A JSON object that is exactly its own canonical form.

    Raises: PeerError: `too_large`, or `malformed` when it is not an object in canonical form.
    """
    check_json_limits(raw, what=what, max_bytes=max_bytes)
    try:
        value = json.loads(raw)
        again = rfc8785.dumps(value)
    except (ValueError, RecursionError, rfc8785.CanonicalizationError):
        raise PeerError(ErrorCode.MALFORMED, f"{what}: not valid JSON in UTF-8") from None
    if not isinstance(value, dict) or again != raw:
        raise PeerError(ErrorCode.MALFORMED, f"{what}: expected one JSON object in canonical form (RFC 8785)")
    return value


def encode_base64url(raw: bytes) -> str:
    """Base64url without padding."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


def decode_base64url(text: str, *, what: str) -> bytes:
    """Base64url without padding to bytes; only the one spelling that `encode_base64url` gives is taken."""
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (ValueError, binascii.Error):
        raise PeerError(ErrorCode.MALFORMED, f"{what}: not base64url") from None
    if encode_base64url(raw) != text:
        raise PeerError(ErrorCode.MALFORMED, f"{what}: not the canonical base64url spelling")
    return raw
