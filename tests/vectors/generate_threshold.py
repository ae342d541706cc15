"""Writes `threshold.json`: key mode threshold (protocol section 6.5) on a toy key, computed a second way.

Uses Python's own integers and nothing of the product: shares by evaluating the polynomial term by term, plaintexts by
the exponent d itself, coefficients as fractions. Everything random is SHA-256 of a name, so the vectors stay the same.

    python tests/vectors/generate_threshold.py
"""

from __future__ import annotations

import hashlib
import json
import math
from fractions import Fraction
from pathlib import Path

P = 0xDDA78878F11D7460D5FB6564AED1CD5F
Q = 0xC8A2107583136D30EA1E15D0D8C78FE7
HOLDERS, THRESHOLD = 5, 3
CTX = b"ppsdt/1/ctx of a toy"
PLAINTEXTS = [0, 1, 2**48 + 5, P * Q - 7]


def number(name: str, below: int) -> int:
    """A fixed number in [0, below)."""
    wide = b"".join(hashlib.sha256(f"{name}|{part}".encode()).digest() for part in range(6))
    return int.from_bytes(wide, "big") % below


def sha256_of(numbers: list[int], width: int) -> str:
    """Hash of numbers as fixed-length big-endian bytes."""
    return hashlib.sha256(b"".join(value.to_bytes(width, "big") for value in numbers)).hexdigest()


def main() -> None:
    """Write the vectors."""
    n = P * Q
    square, m = n * n, (P - 1) // 2 * ((Q - 1) // 2)
    d = m * pow(m, -1, n)
    assert (d % m, d % n) == (0, 1)
    polynomial = [d, *(number(f"coefficient {k}", n * m) for k in range(1, THRESHOLD))]
    shares = [
        sum(factor * index**power for power, factor in enumerate(polynomial)) % (n * m)
        for index in range(1, HOLDERS + 1)
    ]
    v = pow(number("v", square), 2, square)
    delta = math.factorial(HOLDERS)
    values = [pow(v, delta * share, square) for share in shares]
    ciphertexts = [
        (1 + plaintext * n) * pow(number(f"r {j}", n), n, square) % square
        for j, plaintext in enumerate(PLAINTEXTS)
    ]
    powers = {
        index: [pow(c, 2 * delta * share, square) for c in ciphertexts]
        for index, share in enumerate(shares, start=1)
    }
    # The second way to the plaintexts: d itself, which nobody has; of squares, because d is 0 mod m and not mod 2 m.
    assert [(pow(c, 2 * d, square) - 1) // n * pow(2, -1, n) % n for c in ciphertexts] == PLAINTEXTS
    chosen = [1, 3, 5]
    coefficients = {}
    for index in chosen:
        ratio = math.prod(Fraction(other, other - index) for other in chosen if other != index)
        assert (delta * ratio).denominator == 1
        coefficients[index] = int(delta * ratio)
    for j, plaintext in enumerate(PLAINTEXTS):
        product = 1
        for index in chosen:
            product = product * pow(powers[index][j], 2 * coefficients[index], square) % square
        assert product == (1 + 4 * delta**2 * plaintext * n) % square
    width = 64
    document = {
        "source": "protocol section 6.5; toy key, never for data",
        "p": f"{P:x}",
        "q": f"{Q:x}",
        "holders": HOLDERS,
        "threshold": THRESHOLD,
        "delta": delta,
        "shares": [f"{share:x}" for share in shares],
        "v": f"{v:x}",
        "values_sha256": sha256_of(values, width),
        "values": [f"{value:x}" for value in values],
        "ctx": CTX.hex(),
        "plaintexts": [f"{plaintext:x}" for plaintext in PLAINTEXTS],
        "ciphertexts": [f"{c:x}" for c in ciphertexts],
        "powers_sha256": {str(index): sha256_of(found, width) for index, found in powers.items()},
        "chosen": chosen,
        "coefficients": [coefficients[index] for index in chosen],
    }
    path = Path(__file__).with_name("threshold.json")
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
