"""A certified hospital that means harm: what the cloud refuses before the others would stumble over it."""

from __future__ import annotations

import pytest

from shared.errors import ErrorCode, PeerError
from shared.ids import CLOUD, AgentId
from shared.protocol import coordinator
from shared.protocol.envelopes import Address, Chain, seal
from shared.wire.base import encode_base64url
from shared.wire.envelope import MessageType
from shared.wire.rounds import JobAccept
from tests.support.clinic import SCHEMA
from tests.support.world import Parties

NAMES = [AgentId("h1"), AgentId("h2"), AgentId("h3")]


@pytest.mark.parametrize("key", [bytes(32), b"\x01" + bytes(31), b"", b"x" * 31])
def test_agreement_key_that_nobody_could_use_is_refused(key: bytes) -> None:
    """The other hospitals could not mask with it: the whole round would stand still."""
    parties = Parties(NAMES)
    ders = {name: parties.certificates[name] for name in NAMES}
    job = coordinator.create(parties.manifest(SCHEMA), ders, 0).job
    text = encode_base64url(key) or "AA"
    body = JobAccept(mh=job.mh, state="ab" * 32, snapshot_sha256="cd" * 32, ephemeral=text)
    address = Address(MessageType.JOB_ACCEPT, job.manifest.job, job.mh, 0, 0, "h1", CLOUD)
    with pytest.raises(PeerError) as raised:
        coordinator.receive(job, seal(parties.identities["h1"], address, Chain(), body), 1)
    assert raised.value.code is ErrorCode.MALFORMED
