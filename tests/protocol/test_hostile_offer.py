"""An offer of a hostile cloud, validly signed: refused as the peer's fault, never an error that would end the agent.

A daemon passes over what it refuses (`PeerError`). Any other error would stop it at a message that it meets again at
each start.
"""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from shared.crypto.key_holder import KeyHolder
from shared.errors import ErrorCode, PeerError
from shared.ids import CLOUD, EVERYONE, AgentId
from shared.protocol.agent_effects import HospitalKeys
from shared.protocol.envelopes import Address, Chain, seal
from shared.protocol.joining import read_offer
from shared.protocol.profiles import RoundKeys
from shared.wire.base import encode_base64url
from shared.wire.envelope import MessageType
from shared.wire.rounds import JobOffer
from tests.support.world import SECRET, TOY_KEY, Parties

PARTIES = Parties([AgentId("h1"), AgentId("h2"), AgentId("h3")])
KEYS = HospitalKeys(RoundKeys(KeyHolder(TOY_KEY), SECRET), PARTIES.trust)
CLASS = {"name": "class", "labels": ["a", "b"]}


def schema(*attributes: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"attributes": list(attributes or [{"name": "x", "values": ["0", "1"]}]), "class": CLASS} | members


def der_of(key: Any) -> str:
    return encode_base64url(key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo))


HOSTILE: dict[str, dict[str, Any]] = {
    "RSA key that is none": {"rsa_public_key": "AQ"},
    "key of another kind": {"rsa_public_key": der_of(Ed25519PrivateKey.generate())},
    "short RSA key": {"rsa_public_key": der_of(generate_private_key(65537, 2048))},
    "cloud certificate that is none": {"cloud_certificate": "AQ"},
    "attribute named twice": {
        "schema": schema({"name": "x", "values": ["0"]}, {"name": "x", "values": ["0", "1"]})
    },
    "value named twice": {"schema": schema({"name": "x", "values": ["0", "0"]})},
    "cuts that fall": {"schema": schema({"name": "x", "values": ["a", "b", "c"], "cuts": ["2", "1"]})},
    "more cuts than values": {"schema": schema({"name": "x", "values": ["a"], "cuts": ["1", "2"]})},
    "question that a terminal obeys": {"question": "what?\x1b]0;renamed\x07"},
    "question that runs backwards": {"question": "what\u202e?"},
    "question of two lines": {"question": "what?\n  with h1, h2, h3 (at least 3)"},
    "label named twice": {"schema": schema(**{"class": {"name": "class", "labels": ["a", "a"]}})},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_offer_is_the_peers_fault(name: str) -> None:
    manifest = PARTIES.manifest(schema())
    manifest = manifest.model_validate(manifest.model_dump(mode="json", by_alias=True) | HOSTILE[name])
    mh = hashlib.sha256(manifest.canonical()).hexdigest()
    address = Address(MessageType.JOB_OFFER, manifest.job, mh, 0, 0, CLOUD, EVERYONE)
    sealed = seal(PARTIES.identities[CLOUD], address, Chain(), JobOffer(manifest=manifest))
    with pytest.raises(PeerError) as raised:
        read_offer(sealed, AgentId("h1"), KEYS)
    assert raised.value.code is ErrorCode.MALFORMED
