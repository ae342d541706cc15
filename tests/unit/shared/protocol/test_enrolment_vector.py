"""The bytes of enrolment are those of the vector, which was made without the product's code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypeVar

import pytest

from shared.crypto.identity import IdentityKey
from shared.crypto.paillier_private import PrivateKey
from shared.errors import PeerError
from shared.protocol.enrolment import open_bundle, open_cloud_bundle, sign_federation, verify_federation
from shared.wire.base import WireModel
from shared.wire.enrolment import MAX_BUNDLE_BYTES, AgentBundle, CloudBundle, SignedFederation

PATH = Path(__file__).parents[4] / "tests/vectors/enrolment.json"
VECTOR: dict[str, str] = json.loads(PATH.read_text(encoding="utf-8"))
Form = TypeVar("Form", bound=WireModel)
FORMS: list[tuple[str, type[WireModel]]] = [
    ("federation_document", SignedFederation),
    ("agent_bundle", AgentBundle),
    ("cloud_bundle", CloudBundle),
]


def parsed(name: str, form: type[Form]) -> Form:
    return form.parse(VECTOR[name].encode(), what=name, max_bytes=MAX_BUNDLE_BYTES)


@pytest.mark.parametrize(("name", "form"), FORMS)
def test_the_bytes_are_those_of_the_vector(name: str, form: type[WireModel]) -> None:
    assert parsed(name, form).canonical() == VECTOR[name].encode()


@pytest.mark.parametrize(("name", "form"), FORMS)
def test_no_field_is_optional_or_surplus(name: str, form: type[WireModel]) -> None:
    document = json.loads(VECTOR[name])
    with pytest.raises(PeerError):
        form.parse(json.dumps(document | {"surplus": 1}).encode(), what=name, max_bytes=MAX_BUNDLE_BYTES)
    for field in set(document) - {"v", "kind"}:
        without = {key: value for key, value in document.items() if key != field}
        with pytest.raises(PeerError, match=field):
            form.parse(json.dumps(without).encode(), what=name, max_bytes=MAX_BUNDLE_BYTES)


def test_the_signature_is_the_vectors() -> None:
    document = parsed("federation_document", SignedFederation)
    root = IdentityKey.from_raw(bytes.fromhex(VECTOR["root_private"]))
    assert sign_federation(root, document.federation) == document
    assert verify_federation(document, VECTOR["root_sha256"]).name == "Vector"


def test_the_bundles_open_to_the_vectors_secrets() -> None:
    _, keys = open_bundle(
        parsed("agent_bundle", AgentBundle),
        VECTOR["root_sha256"],
        identity_public=bytes.fromhex(VECTOR["agent_public"]),
        sealing_private=bytes.fromhex(VECTOR["agent_sealing_private"]),
    )
    assert (f"{keys.p:x}", f"{keys.q:x}", keys.secret.hex()) == (VECTOR["p"], VECTOR["q"], VECTOR["G"])
    assert PrivateKey.create(keys.p, keys.q).public.key_id == keys.key_id
    enrolment = open_cloud_bundle(
        parsed("cloud_bundle", CloudBundle),
        VECTOR["root_sha256"],
        identity_public=bytes.fromhex(VECTOR["cloud_public"]),
    )
    assert enrolment.certificate.id == "cloud"
