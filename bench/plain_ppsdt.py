"""Baseline (a): the publication's protocol done plainly, with `phe` and `rsa` and nothing of Privet's.

Every step as the publication words it: at each node every hospital counts a matrix per open attribute, adds one nonce,
encrypts cell by cell with the public key (phe's default obfuscation), wraps the nonce with RSA PKCS#1 v1.5 and sends
both; the cloud removes the nonces and adds; every hospital decrypts all sums, computes entropy and gain in floating
point, and notifies the cloud. A leaf is recognised by its counts, so every node with an attribute left is asked for.
Messages are JSON with decimal integers, as phe's own serialisation documentation does it; their bytes are counted.
"""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import process_time
from typing import Any

import rsa
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from phe.paillier import EncryptedNumber, PaillierPrivateKey, PaillierPublicKey

from shared.tree.model import Leaf, Node, Split, Tree

Rows = Sequence[Sequence[int]]
Matrix = list[list[int]]
NONCE_BITS = 256
MIN_RSA_BITS = 1024
"""For toy Paillier keys; the generator refuses less."""


@dataclass
class Costs:
    """What a run cost, all parties together. `seconds`: CPU by part. `bytes`: of all JSON messages."""

    encryptions: int = 0
    decryptions: int = 0
    bytes: int = 0
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Charge the block's CPU time to a part."""
        start = process_time()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + process_time() - start

    @property
    def total_seconds(self) -> float:
        """CPU seconds of all parts."""
        return sum(self.seconds.values())


@dataclass
class PlainFederation:
    """Hospitals' rows (attribute codes, then the class), the keys, and the running costs.

    p, q: Paillier's factors, so that a comparison runs under one key. The cloud's RSA key has the same length.
    """

    hospitals: Sequence[Rows]
    values: Sequence[int]
    classes: int
    p: int = field(repr=False)
    q: int = field(repr=False)
    costs: Costs = field(default_factory=Costs)

    def __post_init__(self) -> None:
        self.public = PaillierPublicKey(self.p * self.q)
        self.private = PaillierPrivateKey(self.public, self.p, self.q)
        self.rsa_private = _rsa_key(max(MIN_RSA_BITS, self.public.n.bit_length()))
        self.rsa_public = rsa.PublicKey(self.rsa_private.n, self.rsa_private.e)

    def train(self) -> Tree:
        """Grow the tree."""
        return Tree(self._node({}, list(range(len(self.values))), 0))

    def _node(self, path: dict[int, int], attributes: list[int], majority_above: int) -> Node:
        if not attributes:
            return Leaf(majority_above)
        sums = {a: self._sum(path, a) for a in attributes}
        with self.costs.part("choose"):
            totals = [sum(column) for column in zip(*sums[attributes[0]], strict=True)]
            majority = totals.index(max(totals)) if any(totals) else majority_above
            gains = {a: _gain(sums[a], totals) for a in attributes}
        if sum(1 for total in totals if total) <= 1:
            return Leaf(majority)
        best = max(attributes, key=lambda a: gains[a])
        self._broadcast({"node": list(path.items()), "attribute": best})
        left = [a for a in attributes if a != best]
        kids: list[Node] = []
        for value in range(self.values[best]):
            row = sums[best][value]
            label = row.index(max(row)) if any(row) else majority
            kids.append(self._node({**path, best: value}, left, label))
        return Split(best, tuple(kids))

    def _sum(self, path: dict[int, int], attribute: int) -> Matrix:
        self._broadcast({"node": list(path.items()), "attribute": attribute})
        messages = [self._contribution(rows, path, attribute) for rows in self.hospitals]
        self.costs.bytes += sum(len(message) for message in messages)
        aggregate = self._aggregate(messages)
        self.costs.bytes += len(aggregate) * len(self.hospitals)
        opened = [self._open(aggregate) for _ in self.hospitals]
        return opened[0]

    def _broadcast(self, body: object) -> None:
        """A prompt to every hospital, or a notification from every one."""
        self.costs.bytes += len(json.dumps(body)) * len(self.hospitals)

    def _contribution(self, rows: Rows, path: dict[int, int], attribute: int) -> str:
        with self.costs.part("count"):
            matrix = [[0] * self.classes for _ in range(self.values[attribute])]
            for row in rows:
                if all(row[a] == value for a, value in path.items()):
                    matrix[row[attribute]][row[-1]] += 1
        with self.costs.part("encrypt"):
            nonce = secrets.randbits(NONCE_BITS)
            cells = [[self.public.encrypt(count + nonce) for count in line] for line in matrix]
            wrapped = rsa.encrypt(nonce.to_bytes(NONCE_BITS // 8, "big"), self.rsa_public)
        self.costs.encryptions += len(matrix) * self.classes
        return json.dumps({"matrix": [[_plain(c) for c in line] for line in cells], "nonce": wrapped.hex()})

    def _aggregate(self, messages: Sequence[str]) -> str:
        with self.costs.part("add"):
            matrices = [self._without_nonce(json.loads(message)) for message in messages]
            cells = [
                [_sum(column) for column in zip(*lines, strict=True)] for lines in zip(*matrices, strict=True)
            ]
            return json.dumps({"matrix": [[_plain(c) for c in line] for line in cells]})

    def _without_nonce(self, body: dict[str, Any]) -> list[list[EncryptedNumber]]:
        nonce = int.from_bytes(rsa.decrypt(bytes.fromhex(body["nonce"]), self.rsa_private), "big")
        return [[self._cipher(cell) - nonce for cell in line] for line in body["matrix"]]

    def _open(self, aggregate: str) -> Matrix:
        with self.costs.part("decrypt"):
            matrix = json.loads(aggregate)["matrix"]
            opened = [[self.private.decrypt(self._cipher(cell)) for cell in line] for line in matrix]
        self.costs.decryptions += len(opened) * self.classes
        return opened

    def _cipher(self, cell: dict[str, str | int]) -> EncryptedNumber:
        return EncryptedNumber(self.public, int(cell["c"]), int(cell["e"]))


def _plain(number: EncryptedNumber) -> dict[str, str | int]:
    # be_secure=False: the obfuscation of `encrypt` is still in place, as everywhere in the publication's flow.
    return {"c": str(number.ciphertext(be_secure=False)), "e": number.exponent}


def _sum(column: Sequence[EncryptedNumber]) -> EncryptedNumber:
    return sum(column[1:], column[0])


def _rsa_key(bits: int) -> rsa.PrivateKey:
    # rsa.newkeys draws the same kind of key in pure Python, which takes a minute at 3072 bits.
    numbers = generate_private_key(65537, bits).private_numbers()
    return rsa.PrivateKey(numbers.public_numbers.n, numbers.public_numbers.e, numbers.d, numbers.p, numbers.q)


def _gain(matrix: Matrix, totals: Sequence[int]) -> float:
    records = sum(totals)
    if not records:
        return 0.0
    rest = sum(sum(row) / records * _entropy(row) for row in matrix if any(row))
    return _entropy(totals) - rest


def _entropy(counts: Sequence[int]) -> float:
    records = sum(counts)
    return -sum(c / records * math.log2(c / records) for c in counts if c)
