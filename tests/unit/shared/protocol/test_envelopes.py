"""Vector T5, the chain, and everything that must not pass as an envelope."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.crypto.identity import IdentityKey
from shared.errors import ErrorCode, PeerError
from shared.protocol.envelopes import ENVELOPE_CONTEXT, Address, Chain, Sealed, reseal, seal, unseal, verify
from shared.wire.envelope import MessageType
from shared.wire.rounds import Abort, Decision

VECTOR = json.loads(Path(__file__).parents[4].joinpath("tests/vectors/t5_envelope.json").read_text())
KEY = IdentityKey.from_raw(bytes.fromhex(VECTOR["secret"]))
ADDRESS = Address(MessageType.DECISION, "ab" * 16, "cd" * 32, 2, 0, "h1", "cloud")
BODY = Decision(state="ef" * 32, next_nodes=3, next_slots=24, done=False, head="0" * 64)
LIMIT = 10_000


def pair(signature: str) -> bytes:
    return b'{"envelope":' + VECTOR["canonical"].encode() + b',"signature":"' + signature.encode() + b'"}'


def test_t5_verifies_and_hashes_as_published() -> None:
    sealed = unseal(pair(VECTOR["signature"]), max_bytes=LIMIT)
    assert sealed.sha256 == VECTOR["sha256"]
    assert sealed.envelope.canonical().decode() == VECTOR["canonical"]
    verify(sealed, bytes.fromhex(VECTOR["public"]))


@pytest.mark.parametrize("why", VECTOR["must_fail"])
def test_t5_signatures_that_must_fail(why: str) -> None:
    sealed = unseal(pair(VECTOR["must_fail"][why]), max_bytes=LIMIT)
    with pytest.raises(PeerError) as caught:
        verify(sealed, bytes.fromhex(VECTOR["public"]))
    assert caught.value.code is ErrorCode.BAD_SIGNATURE


def test_a_sealed_envelope_survives_the_wire_byte_for_byte() -> None:
    sealed = seal(KEY, ADDRESS, Chain(4, "12" * 32), BODY)
    again = unseal(sealed.raw, max_bytes=LIMIT)
    assert again == sealed
    assert reseal(again.signed) == sealed
    verify(again, KEY.public)
    assert Chain(4, "12" * 32).after(sealed.sha256) == Chain(5, sealed.sha256)


def changed(sealed: Sealed, **fields: Any) -> bytes:
    document = json.loads(sealed.raw)
    document["envelope"].update(fields)
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


@settings(max_examples=60)
@given(
    st.sampled_from(["job", "mh", "round", "attempt", "from", "to", "seq", "prev", "body"]),
    st.integers(1, 1000),
)
def test_every_field_is_under_the_signature(field: str, number: int) -> None:
    sealed = seal(KEY, ADDRESS, Chain(), BODY)
    other: Any = {
        "job": f"{number:032x}",
        "mh": f"{number:064x}",
        "prev": f"{number:064x}",
        "from": f"x{number}",
        "to": f"x{number}",
        "body": {"code": str(number)},
    }.get(field, 1000 + number)
    forged = unseal(changed(sealed, **{field: other}), max_bytes=LIMIT)
    with pytest.raises(PeerError) as caught:
        verify(forged, KEY.public)
    assert caught.value.code is ErrorCode.BAD_SIGNATURE


SEALED = seal(KEY, ADDRESS, Chain(), Abort(code="cancelled"))
BAD = {
    "empty": b"",
    "not JSON": b"{",
    "a list": b"[]",
    "a number": b"17",
    "not canonical": SEALED.raw.replace(b'","', b'", "', 1),
    "a repeated key": SEALED.raw.replace(b'{"attempt":0,', b'{"attempt":0,"attempt":0,', 1),
    "not UTF-8": SEALED.raw.replace(b"cancelled", b"\xff\xfe"),
    "a float": SEALED.raw.replace(b'"attempt":0', b'"attempt":0.5'),
    "a boolean for a number": SEALED.raw.replace(b'"attempt":0', b'"attempt":false'),
    "a text for a number": SEALED.raw.replace(b'"attempt":0', b'"attempt":"0"'),
    "a negative number": SEALED.raw.replace(b'"attempt":0', b'"attempt":-1'),
    "a number above 2^53": SEALED.raw.replace(b'"seq":0', b'"seq":9007199254740993'),
    "a huge number": SEALED.raw.replace(b'"seq":0', b'"seq":' + b"9" * 5000),
    "NaN": SEALED.raw.replace(b'"seq":0', b'"seq":NaN'),
    "an unknown field": SEALED.raw.replace(b'"v":1', b'"v":1,"x":1'),
    "another version": SEALED.raw.replace(b'"v":1', b'"v":2'),
    "an unknown type": SEALED.raw.replace(b'"decision"', b'"reveal"'),
    "upper-case hex": SEALED.raw.replace(b"ab" * 16, b"AB" * 16),
    "a short signature": SEALED.raw[:-3] + b'"}',
    "a name with a slash": SEALED.raw.replace(b'"h1"', b'"h/1"'),
    "too deep": SEALED.raw.replace(b'"code":"cancelled"', b'"code":' + b"[" * 9 + b"]" * 9),
    "absurdly deep": b'{"envelope":' + b"[" * 4000 + b"]" * 4000 + b"}",
}


@pytest.mark.parametrize("why", BAD)
def test_what_is_no_envelope_is_malformed(why: str) -> None:
    with pytest.raises(PeerError) as caught:
        unseal(BAD[why], max_bytes=LIMIT)
    assert caught.value.code is ErrorCode.MALFORMED
    assert "cancelled" not in str(caught.value)


def test_a_long_body_is_refused_before_it_is_read() -> None:
    with pytest.raises(PeerError) as caught:
        unseal(b"\xff" * (LIMIT + 1), max_bytes=LIMIT)
    assert caught.value.code is ErrorCode.TOO_LARGE


@pytest.mark.parametrize("change", [{"v": True}, {"v": None}, {"from": None, "sender": "h1"}])
def test_a_header_is_read_as_it_was_signed(change: dict[str, Any]) -> None:
    """Otherwise a hospital could sign what the cloud takes and every other hospital refuses inside a roster."""
    envelope = json.loads(seal(KEY, ADDRESS, Chain(), BODY).raw)["envelope"] | change
    canonical = rfc8785.dumps({name: part for name, part in envelope.items() if part is not None})
    signature = KEY.sign(ENVELOPE_CONTEXT + hashlib.sha256(canonical).digest()).hex()
    with pytest.raises(PeerError) as raised:
        unseal(b'{"envelope":' + canonical + b',"signature":"' + signature.encode() + b'"}', max_bytes=10_000)
    assert raised.value.code is ErrorCode.MALFORMED
