"""Compute vector T4 (protocol section 14) a second time, in the plainest way, and write t4_*.json.

Imports nothing of the product: `pow`, `hashlib`, `hmac` and AES and X25519 of `cryptography` only. Without `--write`
it compares with the files that are there and fails when they differ.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import sys
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

HERE = Path(__file__).parent
P = 0xC00000000000000000000000000000B5
Q = 0xC0000000000000056BC75E2D6310000F
N = P * Q
N2 = N * N
BYTES = 2 * 32
SLOTS = (N.bit_length() - 2) // 48
IDS = ["h1", "h2", "h3"]
CELLS = {"h1": [3, 1, 2, 0, 0, 1, 0, 2], "h2": [2, 1, 2, 0, 0, 0, 0, 1], "h3": [3, 1, 1, 0, 0, 1, 0, 1]}
NONCES = {"h1": 1000, "h2": 2000, "h3": 3000}
PRIVATE = {"h1": b"\x11" * 32, "h2": b"\x22" * 32, "h3": b"\x33" * 32}
SEEDS = {"h1": b"\xa1" * 32, "h2": b"\xa2" * 32, "h3": b"\xa3" * 32}
SECRET = b"\xfe" * 32
MH = hashlib.sha256(b"test manifest").digest()


def sha(*parts: bytes) -> bytes:
    """SHA-256 of the joined parts."""
    return hashlib.sha256(b"".join(parts)).digest()


def obfuscator(name: str, number: int) -> int:
    """The published r of ciphertext `number` of hospital `name`."""
    return int.from_bytes(sha(f"r|{name}|{number}".encode()), "big") % N


def encrypt(plaintext: int, r: int) -> int:
    """(1 + n)^m r^n, by the definition."""
    return pow(1 + N, plaintext, N2) * pow(r, N, N2) % N2


def decrypt(ciphertext: int) -> int:
    """L(c^lambda) / lambda mod n with lambda = (p-1)(q-1), by the definition."""
    order = (P - 1) * (Q - 1)
    return (pow(ciphertext, order, N2) - 1) // N * pow(order, -1, N) % N


def blob(ciphertexts: list[int]) -> bytes:
    """Ciphertexts one after the other, 64 bytes each."""
    return b"".join(ciphertext.to_bytes(BYTES, "big") for ciphertext in ciphertexts)


def hk(key: bytes, info: bytes) -> bytes:
    """HKDF-SHA256 by RFC 5869, one block, salt = manifest hash."""
    extracted = hmac.digest(MH, key, "sha256")
    return hmac.digest(extracted, info + b"\x01", "sha256")


def lp(text: str) -> bytes:
    """u16 length and text."""
    return len(text).to_bytes(2, "big") + text.encode()


def expand(key: bytes, count: int) -> list[int]:
    """AES-256-CTR blocks of 48 bytes mod n."""
    width = (256 + 128) // 8
    stream = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor().update(bytes(width * count))
    return [int.from_bytes(stream[i * width : (i + 1) * width], "big") % N for i in range(count)]


def paper() -> dict[str, Any]:
    """Profile paper: one nonce a hospital, taken off by the cloud."""
    sums = []
    for j in range(8):
        product = 1
        for name in IDS:
            hidden = encrypt((CELLS[name][j] + NONCES[name]) % N, obfuscator(name, j))
            product = product * hidden * pow(1 + N, -NONCES[name], N2) % N2
        sums.append(product)
    return {
        "source": "protocol section 14, T4, profile paper",
        "p": f"{P:x}",
        "q": f"{Q:x}",
        "cells": CELLS,
        "nonces": NONCES,
        "sum_sha256": sha(blob(sums)).hex(),
        "decrypted": [decrypt(c) for c in sums],
    }


def context() -> tuple[bytes, dict[str, str]]:
    """ctx of round 0, attempt 0, and the hashes on the way to it."""
    listed = json.dumps([[name, sha(name.encode()).hex()] for name in IDS], separators=(",", ":"))
    roster_hash = sha(listed.encode())
    start = sha(b"ppsdt/1/tree", MH)
    hidden = hmac.digest(hk(SECRET, b"state"), start, "sha256")
    ctx = b"ppsdt/1/ctx" + MH + bytes(8) + roster_hash + hidden
    named = {
        "mh": MH.hex(),
        "roster_hash": roster_hash.hex(),
        "s_0": start.hex(),
        "state_0": hidden.hex(),
        "ctx_sha256": sha(ctx).hex(),
    }
    return ctx, named


def pack(values: list[int]) -> list[int]:
    """Slot t of a plaintext weighs 2^(48 t)."""
    groups = [values[i : i + SLOTS] for i in range(0, len(values), SLOTS)]
    return [sum(v << (48 * t) for t, v in enumerate(group)) for group in groups]


def pair_mask(ctx: bytes, one: str, other: str, count: int) -> list[int]:
    """The mask of two hospitals, before its sign."""
    public = X25519PrivateKey.from_private_bytes(PRIVATE[other]).public_key().public_bytes_raw()
    own = X25519PrivateKey.from_private_bytes(PRIVATE[one])
    shared = own.exchange(X25519PublicKey.from_public_bytes(public))
    low, high = sorted((one, other))
    return expand(hk(shared, b"pair" + ctx + lp(low) + lp(high)), count)


def contribution(ctx: bytes, name: str) -> dict[str, Any]:
    """Everything hospital `name` computes in the round."""
    plain = pack([int(other == name) for other in IDS]) + pack(CELLS[name])
    alphas = expand(hk(SECRET, b"tag" + ctx), len(plain))
    plain.append(sum(a * x for a, x in zip(alphas, plain, strict=True)) % N)
    self_key = hk(SEEDS[name], b"self" + ctx + lp(name))
    self_mask = expand(self_key, len(plain))
    masks = list(self_mask)
    for other in IDS:
        if other != name:
            sign = 1 if other > name else -1
            pair = pair_mask(ctx, name, other, len(plain))
            masks = [(m + sign * v) % N for m, v in zip(masks, pair, strict=True)]
    ciphertexts = [
        encrypt((x + m) % N, obfuscator(name, j)) for j, (x, m) in enumerate(zip(plain, masks, strict=True))
    ]
    return {
        "alpha_0": alphas[0],
        "plaintexts": plain,
        "self_key": self_key,
        "self_mask": self_mask,
        "masks": masks,
        "ciphertexts": ciphertexts,
    }


def hardened() -> dict[str, Any]:
    """Profile hardened: three contributions, their sum, and what it opens to."""
    ctx, named = context()
    parts = {name: contribution(ctx, name) for name in IDS}
    sums = []
    for j in range(4):
        product = 1
        for part in parts.values():
            product = product * part["ciphertexts"][j] * pow(1 + N, -part["self_mask"][j], N2) % N2
        sums.append(product)
    first = parts["h1"]
    return {
        "source": "protocol section 14, T4, profile hardened",
        "p": f"{P:x}",
        "q": f"{Q:x}",
        "cells": CELLS,
        "x25519_private": {name: key.hex() for name, key in PRIVATE.items()},
        "seeds": {name: seed.hex() for name, seed in SEEDS.items()},
        "federation_secret": SECRET.hex(),
        **named,
        "alpha_0": f"{first['alpha_0']:x}",
        "h1_plaintexts": [f"{x:x}" for x in first["plaintexts"]],
        "h1_self_key": first["self_key"].hex(),
        "h1_m_0": f"{first['masks'][0]:x}",
        "contribution_sha256": {name: sha(blob(part["ciphertexts"])).hex() for name, part in parts.items()},
        "aggregate_sha256": sha(blob(sums)).hex(),
        "aggregate": blob(sums).hex(),
        "decrypted": [f"{decrypt(c):x}" for c in sums],
        "opened": [sum(CELLS[name][j] for name in IDS) for j in range(8)],
    }


def main() -> int:
    """Write the files, or compare them with what is computed."""
    fresh = {"t4_paper.json": paper(), "t4_hardened.json": hardened()}
    texts = {name: json.dumps(value, indent=2) + "\n" for name, value in fresh.items()}
    if "--write" in sys.argv[1:]:
        for name, text in texts.items():
            (HERE / name).write_text(text)
        return 0
    return int(any((HERE / name).read_text() != text for name, text in texts.items()))


if __name__ == "__main__":
    sys.exit(main())
