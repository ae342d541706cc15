"""What the primitives cost on this machine, in CPU milliseconds, beside the publication's library.

Run as a script for a table at every key size, or import `measure_primitives` for the figures of one. Fresh keys are
made for each measurement; nothing is written.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields

from phe.paillier import PaillierPrivateKey, PaillierPublicKey
from rich.console import Console
from rich.table import Table

from shared.crypto.agreement import agree, generate_private, public_of
from shared.crypto.derivation import expand
from shared.crypto.obfuscators import Encryptor
from shared.crypto.paillier import KEY_BITS, add_plaintext, combine, multiply, validate_ciphertexts
from shared.crypto.paillier_private import generate
from shared.crypto.wrapping import UnwrappingKey
from shared.rng import random_below
from shared.secure_tree.packing import SLOT_BITS, slots_per_plaintext

BATCH = 200
"""Ciphertexts over which encryption is averaged; their table is counted apart."""
FEW = 10
"""Repeats of what takes milliseconds."""


@dataclass(frozen=True, slots=True)
class PrimitiveCosts:
    """CPU milliseconds of one operation each, at one key size.

    set_up: an encryptor's two generators, once for a key. tables: fixed-base tables for BATCH ciphertexts.
    all_zero: the batched check of `all_zero_of` ciphertexts, whole. all_zero_more: each further ciphertext.
    expand: one mask value. slots: counts in one packed plaintext.
    """

    bits: int
    slots: int
    phe_encrypt: float
    phe_decrypt: float
    set_up: float
    tables: float
    encrypt: float
    decrypt: float
    decrypt_small: float
    all_zero: float
    all_zero_more: float
    product: float
    add_plaintext: float
    validate: float
    combine: float
    expand: float
    rsa_wrap: float
    rsa_unwrap: float
    agree: float

    @property
    def encrypt_ratio(self) -> float:
        """How many of our encryptions fit into one of `phe`, tables counted in."""
        return self.phe_encrypt / (self.encrypt + self.tables / BATCH)

    @property
    def decrypt_ratio(self) -> float:
        """How many of our decryptions fit into one of `phe`."""
        return self.phe_decrypt / self.decrypt

    @property
    def per_count(self) -> float:
        """The floor of a hospital's work for one packed count: its share of an encryption and a decryption."""
        return (self.encrypt + self.decrypt) / self.slots


def cpu_ms(work: Callable[[], object], repeats: int = 1) -> float:
    """CPU milliseconds of this process for one call, averaged over `repeats`."""
    start = time.process_time()
    for _ in range(repeats):
        work()
    return (time.process_time() - start) * 1000 / repeats


def measure_primitives(bits: int) -> PrimitiveCosts:
    """Every primitive at a key of 2048, 3072 or 4096 bits; about 2, 5, 12 seconds."""
    private = generate(bits)
    public = private.public
    plaintexts = [random_below(public.n) for _ in range(BATCH)]
    encryptor = Encryptor(private)
    tables = cpu_ms(lambda: encryptor.prepare(BATCH))
    start = time.process_time()
    raws = encryptor.encrypt_many(plaintexts)
    encrypting = (time.process_time() - start) * 1000 / BATCH
    ciphertexts = validate_ciphertexts(public, raws)
    zeros = [add_plaintext(public, c, -m) for c, m in zip(ciphertexts, plaintexts, strict=True)]
    few = cpu_ms(lambda: private.all_zero(zeros[:2]), FEW)
    return PrimitiveCosts(
        bits=bits,
        slots=slots_per_plaintext(bits),
        **_of_phe(private.p, private.q, plaintexts[:FEW]),
        set_up=cpu_ms(lambda: Encryptor(private), 3),
        tables=tables,
        encrypt=encrypting,
        decrypt=cpu_ms(lambda: private.decrypt_many(ciphertexts[:FEW])) / FEW,
        decrypt_small=cpu_ms(lambda: private.decrypt_small(ciphertexts[:FEW])) / FEW,
        all_zero=few,
        all_zero_more=(cpu_ms(lambda: private.all_zero(zeros), 2) - few) / (BATCH - 2),
        product=cpu_ms(lambda: multiply(public, ciphertexts), FEW) / BATCH,
        add_plaintext=cpu_ms(lambda: [add_plaintext(public, c, plaintexts[0]) for c in ciphertexts]) / BATCH,
        validate=cpu_ms(lambda: validate_ciphertexts(public, raws)) / BATCH,
        combine=cpu_ms(lambda: combine(public, ciphertexts, SLOT_BITS)) / BATCH,
        expand=cpu_ms(lambda: expand(b"k" * 32, 1000, public.n)) / 1000,
        **_of_parties(),
    )


def _of_phe(p: int, q: int, plaintexts: Sequence[int]) -> dict[str, float]:
    public = PaillierPublicKey(p * q)
    private = PaillierPrivateKey(public, p, q)
    encrypted = [public.raw_encrypt(m) for m in plaintexts]
    return {
        "phe_encrypt": cpu_ms(lambda: [public.raw_encrypt(m) for m in plaintexts]) / len(plaintexts),
        "phe_decrypt": cpu_ms(lambda: [private.raw_decrypt(c) for c in encrypted]) / len(plaintexts),
    }


def _of_parties() -> dict[str, float]:
    key = UnwrappingKey.generate()
    wrapped = key.public.wrap(bytes(32), b"label")
    own, peer = generate_private(), public_of(generate_private())
    return {
        "rsa_wrap": cpu_ms(lambda: key.public.wrap(bytes(32), b"label"), FEW),
        "rsa_unwrap": cpu_ms(lambda: key.unwrap(wrapped, b"label"), FEW),
        "agree": cpu_ms(lambda: agree(own, peer), FEW),
    }


def print_table(costs: Sequence[PrimitiveCosts], console: Console) -> None:
    """One row a primitive, one column a key size."""
    table = Table(title="CPU milliseconds of one operation")
    table.add_column("primitive")
    for cost in costs:
        table.add_column(f"{cost.bits} bits", justify="right")
    for name in (field.name for field in fields(PrimitiveCosts) if field.name not in ("bits", "slots")):
        table.add_row(name.replace("_", " "), *(f"{asdict(cost)[name]:.4f}" for cost in costs))
    table.add_section()
    table.add_row("encryption, times cheaper than phe", *(f"{cost.encrypt_ratio:.1f}" for cost in costs))
    table.add_row("decryption, times cheaper than phe", *(f"{cost.decrypt_ratio:.1f}" for cost in costs))
    table.add_row("floor of one packed count", *(f"{cost.per_count:.4f}" for cost in costs))
    console.print(table)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bits", type=int, nargs="+", choices=KEY_BITS, default=list(KEY_BITS))
    chosen = parser.parse_args()
    print_table([measure_primitives(bits) for bits in chosen.bits], Console())


if __name__ == "__main__":
    main()
