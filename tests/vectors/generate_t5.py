"""Regenerates t5_envelope.json: protocol section 14, T5, by another way than the product's.

Run: python tests/vectors/generate_t5.py
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

SECRET = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"  # RFC 8032, section 7.1, test 1
ENVELOPE = {
    "attempt": 0,
    "body": {"node": "", "state": "3f3533ae0ea8824fce928c6fa2fe0333866334f93967a6d89099c2aba1951961"},
    "from": "h1",
    "job": "0" * 32,
    "mh": "ebcd8ce2f706d64710ac51417beb89a408c02143867192851f519c0e061ed25a",
    "prev": "0" * 64,
    "round": 0,
    "seq": 3,
    "to": "cloud",
    "type": "notify",
    "v": 1,
}


def main() -> None:
    """Write the vector."""
    key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(SECRET))
    canonical = json.dumps(ENVELOPE, sort_keys=True, separators=(",", ":")).encode()
    digest = hashlib.sha256(canonical).digest()
    signature = key.sign(b"ppsdt/1/envelope\n" + digest)
    vector = {
        "source": "protocol section 14, T5",
        "secret": SECRET,
        "public": key.public_key().public_bytes_raw().hex(),
        "canonical": canonical.decode(),
        "sha256": digest.hex(),
        "signature": signature.hex(),
        "must_fail": {
            "signature over the canonical bytes themselves": key.sign(
                b"ppsdt/1/envelope\n" + canonical
            ).hex(),
            "signature without the context": key.sign(digest).hex(),
            "last byte changed": (signature[:-1] + bytes([signature[-1] ^ 1])).hex(),
        },
    }
    path = Path(__file__).with_name("t5_envelope.json")
    path.write_text(json.dumps(vector, indent=1) + "\n")


if __name__ == "__main__":
    main()
