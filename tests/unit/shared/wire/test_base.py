"""Canonical JSON, depth and base64url: one spelling only, limits first."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.errors import ErrorCode, InternalError, PeerError
from shared.wire.base import (
    MAX_JSON_ITEMS,
    canonical_json,
    check_json_limits,
    decode_base64url,
    encode_base64url,
    json_depth,
    parse_canonical,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abcXYZ_", max_size=5), inner, max_size=3)
    ),
    max_leaves=12,
)


MANY = [
    b'{"a":[' + b"[]," * MAX_JSON_ITEMS + b"[]]}",
    b'{"a":[' + b"0," * MAX_JSON_ITEMS + b"0]}",
    b'{"a":[' + b'"' * (4 * MAX_JSON_ITEMS + 2) + b"]}",
]


@pytest.mark.parametrize("raw", MANY, ids=["lists", "numbers", "quotes"])
def test_tiny_items_beyond_number_are_refused_unparsed(raw: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json, "loads", None)
    with pytest.raises(PeerError, match="items") as raised:
        parse_canonical(raw, what="test", max_bytes=len(raw))
    assert raised.value.code is ErrorCode.MALFORMED


def test_what_stands_in_a_text_is_no_item() -> None:
    text = json.dumps({"a": '[{"b":[0,0]},' * MAX_JSON_ITEMS}).encode()
    check_json_limits(text, what="test", max_bytes=len(text))


def depth_of(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth_of, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(depth_of, value), default=0)
    return 0


@settings(max_examples=100)
@given(VALUES)
def test_depth_without_a_parser_equals_depth_of_the_parsed_value(value: object) -> None:
    for raw in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1)):
        assert json_depth(raw.encode("utf-8", "surrogatepass")) == depth_of(value)


@settings(max_examples=100)
@given(st.dictionaries(st.text("abcXYZ_", max_size=5), VALUES, max_size=3))
def test_canonical_form_is_a_fixed_point(value: dict[str, object]) -> None:
    try:
        raw = canonical_json(value)
    except InternalError:
        return  # lone surrogates have no UTF-8
    if depth_of(value) <= 8:
        assert parse_canonical(raw, what="test", max_bytes=10_000) == value


@pytest.mark.parametrize("value", [{"a": 0.5}, {"a": [1, {"b": float("nan")}]}, {"a": 2**53}, {"ä": 1}])
def test_what_canonical_json_has_no_place_for_is_our_bug(value: dict[str, object]) -> None:
    with pytest.raises(InternalError):
        canonical_json(value)


@pytest.mark.parametrize("raw", [b'{"a":1}', b'{"b":[[[[[[[1]]]]]]]}'])
def test_depth_8_is_allowed(raw: bytes) -> None:
    check_json_limits(raw, what="test", max_bytes=100)


@given(st.binary(max_size=70))
def test_base64url_round_trip(raw: bytes) -> None:
    assert decode_base64url(encode_base64url(raw), what="test") == raw


@pytest.mark.parametrize("text", ["A", "QUI=", "QU I", "QUJ", "Q+==", "QU\n", "äbc", "Q/8A"])
def test_other_spellings_of_base64url_are_refused(text: str) -> None:
    with pytest.raises(PeerError):
        decode_base64url(text, what="test")
