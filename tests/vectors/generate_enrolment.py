"""Regenerates enrolment.json: a federation document, an agent's bundle and the cloud's, byte for byte.

Signatures, certificates and the sealed part are made with `cryptography` directly and JSON with the standard
library, so that the product's checks meet something else than themselves. Ed25519 is deterministic; HPKE is not,
so the sealed part of the file that is there is kept unless it is missing.

Run: python tests/vectors/generate_enrolment.py
"""

from __future__ import annotations

import base64
import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

PATH = Path(__file__).with_name("enrolment.json")
ROOT = Ed25519PrivateKey.from_private_bytes(b"\x01" * 32)
AGENT = Ed25519PrivateKey.from_private_bytes(b"\x02" * 32)
SEALING = X25519PrivateKey.from_private_bytes(b"\x03" * 32)
CLOUD = Ed25519PrivateKey.from_private_bytes(b"\x04" * 32)
NOT_BEFORE, NOT_AFTER = datetime(2026, 1, 1, tzinfo=UTC), datetime(2046, 1, 1, tzinfo=UTC)


def canonical(value: Any) -> bytes:
    """RFC 8785 for what occurs here: ASCII keys and text, integers."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def base64url(raw: bytes) -> str:
    """Without padding."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def sha256(raw: bytes) -> str:
    """Hex."""
    return hashlib.sha256(raw).hexdigest()


def certificate(name: str, public: Ed25519PublicKey, serial: int, uris: list[str]) -> bytes:
    """DER, issued by the root; without URIs the root itself."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Vector")])
    builder = x509.CertificateBuilder(issuer, subject, public, serial, NOT_BEFORE, NOT_AFTER)
    builder = builder.add_extension(
        x509.BasicConstraints(ca=not uris, path_length=None if uris else 0), critical=True
    )
    if uris:
        names = x509.SubjectAlternativeName([x509.UniformResourceIdentifier(uri) for uri in uris])
        builder = builder.add_extension(names, critical=False)
    return builder.sign(ROOT, None).public_bytes(Encoding.DER)


def next_prime(start: int) -> int:
    """The least probable prime at or above an odd start (Fermat with four bases; the product checks again)."""
    candidate = start
    while any(pow(base, candidate - 1, candidate) != 1 for base in (2, 3, 5, 7)):
        candidate += 2
    return candidate


def signed(context: bytes, document: dict[str, Any]) -> str:
    """The root's signature, hex."""
    return ROOT.sign(context + canonical(document)).hex()


def vector(kept: str | None) -> dict[str, Any]:
    """All three documents and what is needed to check them. `kept`: a sealed part to keep."""
    p, q = next_prime(3 << 1022 | 1), next_prime((3 << 1022) + (1 << 1000) + 1)
    n = p * q
    root = certificate("Vector", ROOT.public_key(), 1, [])
    x25519 = SEALING.public_key().public_bytes_raw().hex()
    agent = certificate("h1", AGENT.public_key(), 2, ["urn:privet:role:agent", f"urn:privet:x25519:{x25519}"])
    cloud = certificate(
        "cloud", CLOUD.public_key(), 3, ["urn:privet:role:cloud", f"urn:privet:rsa-sha256:{'0' * 64}"]
    )
    key_id = sha256(n.to_bytes(256, "big"))
    federation = {
        "v": 1,
        "name": "Vector",
        "epoch": 1,
        "key_id": key_id,
        "n": f"{n:x}",
        "key_bits": 2048,
        "root_certificate": base64url(root),
        "members": [
            {"id": "cloud", "role": "cloud", "certificate_sha256": sha256(cloud)},
            {"id": "h1", "role": "agent", "certificate_sha256": sha256(agent)},
        ],
        "issued": 1800000000,
    }
    document = {"federation": federation, "signature": signed(b"ppsdt/1/federation\n", federation)}
    secrets = {"p": f"{p:x}", "q": f"{q:x}", "G": "a5" * 32, "key_id": key_id, "epoch": 1}
    suite = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)
    sealed = kept or base64url(suite.encrypt(canonical(secrets), SEALING.public_key(), b"ppsdt/1/bundleh1"))
    body = {
        "v": 1,
        "kind": "agent",
        "id": "h1",
        "epoch": 1,
        "certificate": base64url(agent),
        "federation": document,
        "sealed": sealed,
    }
    return {
        "root_private": "01" * 32,
        "root_sha256": sha256(root),
        "agent_public": AGENT.public_key().public_bytes_raw().hex(),
        "agent_sealing_private": "03" * 32,
        "cloud_public": CLOUD.public_key().public_bytes_raw().hex(),
        "p": secrets["p"],
        "q": secrets["q"],
        "G": secrets["G"],
        "sealed": sealed,
        "federation_document": canonical(document).decode(),
        "agent_bundle": canonical(
            {"bundle": body, "signature": signed(b"ppsdt/1/agent-bundle\n", body)}
        ).decode(),
        "cloud_bundle": canonical(
            {"v": 1, "kind": "cloud", "certificate": base64url(cloud), "federation": document}
        ).decode(),
    }


def main() -> None:
    """Write the vector."""
    kept = json.loads(PATH.read_text())["sealed"] if PATH.exists() else None
    PATH.write_text(json.dumps(vector(kept), indent=1) + "\n")


if __name__ == "__main__":
    main()
