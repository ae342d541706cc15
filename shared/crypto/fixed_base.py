"""Powers of one base by a table: the comb of Lim and Lee.

Source: C. H. Lim, P. J. Lee, "More flexible exponentiation with precomputation", CRYPTO '94, section 3.
The exponent's bits are laid out in `teeth` rows of `columns` bits, the columns in `tables` groups of `steps`.
One column is one table look-up; the groups share the squarings:

    base^e = prod over k = steps-1 .. 0 of  acc <- acc^2 * prod_g T_g[column g*steps + k],
    T_g[d] = prod over bits i of d of base^(2^(i*columns + g*steps)).

A power costs `steps - 1` squarings and `columns` products; a table has `tables * 2^teeth` entries.
Tables belong to secret bases and exponents: never stored, and their `repr` is empty of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Self

import numpy as np

from shared.crypto.integers import big, powmod

MAX_TEETH: Final = 14
MAX_TABLES: Final = 16
MAX_TABLE_BYTES: Final = 32 * 2**20
"""For one base; an encryptor has two."""
_ENTRY_OVERHEAD_BYTES: Final = 48
_BATCH: Final = 256
"""Exponents laid out at a time: bounds the memory of the digit matrix."""


@dataclass(frozen=True, slots=True)
class CombShape:
    """Sizes of a comb for exponents of `exponent_bits` bits."""

    exponent_bits: int
    teeth: int
    tables: int

    @property
    def steps(self) -> int:
        """Columns in a group, and squarings in a power plus one."""
        return -(-self.exponent_bits // (self.teeth * self.tables))

    @property
    def columns(self) -> int:
        """Bits in a row; rows are padded so that all groups are full."""
        return self.steps * self.tables

    @property
    def entries(self) -> int:
        """Table entries."""
        return self.tables << self.teeth

    @property
    def power_products(self) -> int:
        """Modular products of one power."""
        return self.steps - 1 + self.columns

    @property
    def build_products(self) -> int:
        """Modular products to build the tables."""
        return self.teeth * self.columns + self.entries


@lru_cache(maxsize=64)
def best_shape(exponent_bits: int, modulus_bits: int, powers: int) -> CombShape:
    """The shape with the least work for building and then taking `powers` powers, within the memory limit."""
    entry_bytes = modulus_bits // 8 + _ENTRY_OVERHEAD_BYTES
    shapes = (
        CombShape(exponent_bits, teeth, tables)
        for teeth in range(1, MAX_TEETH + 1)
        for tables in range(1, MAX_TABLES + 1)
    )
    fitting = (shape for shape in shapes if shape.entries * entry_bytes <= MAX_TABLE_BYTES)
    return min(fitting, key=lambda shape: shape.build_products + powers * shape.power_products)


@dataclass(frozen=True, slots=True)
class FixedBase:
    """Tables of one base for one modulus."""

    shape: CombShape
    modulus: int = field(repr=False)
    tables: tuple[tuple[int, ...], ...] = field(repr=False)

    @classmethod
    def build(cls, base: int, modulus: int, shape: CombShape) -> Self:
        """Work: `shape.build_products`, of which the squarings run inside gmpy2."""
        modulus = big(modulus)
        corner = big(base) % modulus
        corners: list[list[int]] = []
        for _ in range(shape.teeth):
            row = [corner]
            for _ in range(shape.tables):
                row.append(powmod(row[-1], 1 << shape.steps, modulus))
            # The last entry of a row is base^(2^((i+1)*columns)): where the next row starts.
            corner = row.pop()
            corners.append(row)
        tables = tuple(_subset_products(group, modulus) for group in zip(*corners, strict=True))
        return cls(shape, modulus, tables)

    def powers(self, exponents: Sequence[int]) -> list[int]:
        """base^e mod modulus for each e in [0, 2^exponent_bits)."""
        results: list[int] = []
        for start in range(0, len(exponents), _BATCH):
            digits = self._digits(exponents[start : start + _BATCH])
            results.extend(self._power(rows) for rows in digits)
        return results

    def _digits(self, exponents: Sequence[int]) -> list[list[list[int]]]:
        """Table indices of each exponent: steps (last first) x tables."""
        shape = self.shape
        width = -(-shape.teeth * shape.columns // 8)
        raw = b"".join(int(exponent).to_bytes(width, "little") for exponent in exponents)
        octets = np.frombuffer(raw, dtype=np.uint8).reshape(len(exponents), width)
        bits = np.unpackbits(octets, axis=1, bitorder="little", count=shape.teeth * shape.columns)
        rows = bits.reshape(len(exponents), shape.teeth, shape.tables, shape.steps).astype(np.uint16)
        weights = (1 << np.arange(shape.teeth)).astype(np.uint16)
        digits = np.einsum("etgs,t->esg", rows, weights)[:, ::-1, :]
        listed: list[list[list[int]]] = digits.tolist()
        return listed

    def _power(self, digit_rows: list[list[int]]) -> int:
        modulus, tables = self.modulus, self.tables
        result = big(1)
        for row in digit_rows:
            result = result * result % modulus
            for table, digit in zip(tables, row, strict=True):
                result = result * table[digit] % modulus
        return result


def _subset_products(factors: Sequence[int], modulus: int) -> tuple[int, ...]:
    """Entry d is the product of the factors whose bit is set in d."""
    products = [big(1)]
    for factor in factors:
        products.extend([product * factor % modulus for product in products])
    return tuple(products)
