"""One large level at one hospital, both cores: what a count costs, and what else the message path takes.

The target of the main job: 100 attributes of 10 values, 5 classes, 64 open nodes, at most 1.5 times the floor of the
packing (a count's share of one table-driven encryption and one CRT decryption).
"""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from bench.primitives import PrimitiveCosts
from bench.rounds import RoundCosts, Spent, run_round, timed
from hospital_agent.keyring.cipher import MeteredCipher
from shared.crypto.identity import IdentityKey
from shared.protocol.envelopes import Address, Chain, Sealed, body_of, seal, unseal, verify
from shared.wire.base import decode_base64url, encode_base64url
from shared.wire.envelope import MessageType
from shared.wire.rounds import Contribution
from tests.support.toy_keys import fixed_key

CELLS: Final = 100 * 10 * 5 * 64
QUICK_CELLS: Final = CELLS // 20
HOSPITALS: Final = 3
MAX_BYTES: Final = 2**26


@dataclass(frozen=True, slots=True)
class Level:
    """`round`: the big numbers, packing, masks and tag. The rest: one large message from parts to bytes and back."""

    key_bits: int
    floor_microseconds: float
    round: RoundCosts
    write: Spent
    compress: Spent
    read: Spent
    message_bytes: int
    compressed_bytes: int

    @property
    def ratio(self) -> float:
        """Cost of a count over the floor; big numbers, packing, masks and tag."""
        return self.round.per_count_microseconds / self.floor_microseconds

    @property
    def ratio_with_messages(self) -> float:
        """The same with one message written and compressed, and one read."""
        cpu = self.round.hospital.cpu + self.write.cpu + self.compress.cpu + self.read.cpu
        return cpu / self.round.slots * 1e6 / self.floor_microseconds

    @property
    def cores_used(self) -> float:
        """CPU seconds a wall second: 2 on two idle cores; less where others work on the machine."""
        return self.round.hospital.cpu / self.round.hospital.wall

    def figures(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "key_bits": self.key_bits,
            "cells": self.round.slots,
            "ciphertexts": self.round.ciphertexts,
            "floor_microseconds": self.floor_microseconds,
            "per_count_microseconds": self.round.per_count_microseconds,
            "ratio": self.ratio,
            "ratio_with_messages": self.ratio_with_messages,
            "cores_used": self.cores_used,
            "wall_seconds": self.round.hospital.wall,
            "message_bytes": self.message_bytes,
            "compressed_bytes": self.compressed_bytes,
        }


def measure_level(primitives: PrimitiveCosts, cells: int) -> Level:
    """Play one round of so many cells, then send its ciphertexts through the message path."""
    cipher = MeteredCipher.create(fixed_key(primitives.bits))
    try:
        played, ciphertexts = run_round(cipher, HOSPITALS, cells)
    finally:
        cipher.close()
    signer = IdentityKey.generate()
    sealed, writing = timed(lambda: _write(signer, ciphertexts))
    squeezed, squeezing = timed(lambda: gzip.compress(sealed.raw, 6, mtime=0))
    _, reading = timed(lambda: _read(signer.public, sealed.raw))
    return Level(
        key_bits=primitives.bits,
        floor_microseconds=primitives.per_count * 1000,
        round=played,
        write=writing,
        compress=squeezing,
        read=reading,
        message_bytes=len(sealed.raw),
        compressed_bytes=len(squeezed),
    )


def _write(signer: IdentityKey, ciphertexts: Sequence[bytes]) -> Sealed:
    zeros = "0" * 64
    body = Contribution(
        ciphertexts=[encode_base64url(raw) for raw in ciphertexts], seed="A" * 512, head=zeros
    )
    address = Address(MessageType.CONTRIBUTION, "0" * 32, zeros, 0, 0, "h1", "cloud")
    return seal(signer, address, Chain(), body)


def _read(public: bytes, raw: bytes) -> list[bytes]:
    sealed = unseal(raw, max_bytes=MAX_BYTES)
    verify(sealed, public)
    body = body_of(sealed.envelope, Contribution)
    return [decode_base64url(text, what="ciphertext") for text in body.ciphertexts]


def print_level(made: Level, console: Console) -> None:
    """One table."""
    table = Table(title=f"One level of {made.round.slots:,} cells, {made.key_bits} bits")
    for name in ("part", "CPU s", "wall s", "CPU µs a count"):
        table.add_column(name, justify="left" if name == "part" else "right")
    parts = [
        ("hide: pack, tag, mask, encrypt", made.round.hide),
        ("open: check, decrypt, unpack", made.round.open),
        ("write and sign one message", made.write),
        ("compress it", made.compress),
        ("read and verify one message", made.read),
        ("(cloud) check and add all", made.round.add),
    ]
    for name, spent in parts:
        each = spent.cpu / made.round.slots * 1e6
        table.add_row(name, f"{spent.cpu:.2f}", f"{spent.wall:.2f}", f"{each:.2f}")
    console.print(table)
    console.print(
        f"{made.round.ciphertexts} ciphertexts; {made.cores_used:.2f} cores used; message {made.message_bytes:,} "
        f"bytes, {made.compressed_bytes:,} compressed.\nA count costs {made.round.per_count_microseconds:.1f} µs, its "
        f"floor is {made.floor_microseconds:.1f} µs: {made.ratio:.2f} times (target 1.5), "
        f"{made.ratio_with_messages:.2f} times with the messages."
    )
