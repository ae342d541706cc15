from __future__ import annotations

import pytest

from shared.crypto.agreement import generate_private, public_of
from shared.crypto.sealing import bundle_info, open_sealed, seal
from shared.errors import ErrorCode, PeerError
from shared.ids import AgentId

INFO = bundle_info(AgentId("h1"))


def test_the_info_of_a_bundle_is_the_protocols() -> None:
    assert INFO == b"ppsdt/1/bundleh1"


def test_sealed_messages_open_with_the_key_and_the_name() -> None:
    private = generate_private()
    sealed = seal(public_of(private), b"bundle", INFO)
    assert len(sealed) == 32 + len(b"bundle") + 16
    assert open_sealed(private, sealed, INFO) == b"bundle"
    assert seal(public_of(private), b"bundle", INFO) != sealed


@pytest.mark.parametrize("fault", ["key", "name", "bit", "short", "empty"])
def test_anything_else_is_malformed(fault: str) -> None:
    private = generate_private()
    sealed = seal(public_of(private), b"bundle", INFO)
    changed = {"bit": sealed[:-1] + bytes([sealed[-1] ^ 1]), "short": sealed[:20], "empty": b""}.get(
        fault, sealed
    )
    key = generate_private() if fault == "key" else private
    info = bundle_info(AgentId("h2")) if fault == "name" else INFO
    with pytest.raises(PeerError) as caught:
        open_sealed(key, changed, info)
    assert caught.value.code is ErrorCode.MALFORMED


@pytest.mark.parametrize("key", [bytes(32), b"", b"x" * 31])
def test_a_recipient_without_a_proper_key_is_refused(key: bytes) -> None:
    with pytest.raises(PeerError):
        seal(key, b"bundle", INFO)
