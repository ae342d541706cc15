"""Costs of the secret modes: bytes by what is sent in each step (docs/performance.md, "The floor of mode G" and "Mode I
beside MPyC"), seconds by two rates that were measured, a round and a byte.

n records, columns of B bits in words of k bytes, c classes in words of l bytes; a layer of mode G has S slots. Bytes
are of all three compute parties together.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log2
from typing import Final

from shared.advice.case import Case
from shared.advice.costs import Costs
from shared.advice.paillier import around_bytes
from shared.advice.shape import Level

_ROUND_SECONDS: Final = {"id3": 0.60e-3, "gain-ratio": 0.75e-3}
_BYTE_SECONDS: Final = {"id3": 6.0e-9, "gain-ratio": 3.0e-9}
"""Three parties on two cores, messages over loopback."""
_BEGIN_SECONDS: Final = 0.7
"""Offer, acceptances, records as shares, statements: as of a job of mode ppsdt with two rounds."""
_CELLS_BY_TABLES: Final = 32
_LAST_BYTES: Final = 1_000_000
_LAST_SLOT_BYTES: Final = 40_000
"""The last few hundred candidates of a layer are compared all with all, and those of a slot at its ends once more."""
_COMPUTE_PARTIES: Final = 3
_SORT_FROM_BITS: Final = 15
"""Counts of so many bits are looked up by sorting."""
_SORTED_BYTES: Final = 1000
_SORT_ROUNDS: Final = 67


def costs_of_mode_i(case: Case, levels: Sequence[Level]) -> Costs:
    """Of a job whose tree has these levels."""
    n, classes = case.records, case.classes
    kept = sum(max(0, values - 1) for values in case.values)
    sent = float(12 * n * (kept + classes - 1) + 12 * n * kept * (classes - 1))
    rounds, before = 12, 0
    bits = (n + 1).bit_length()
    for level in levels:
        kids = max(0, level.nodes - before) or level.nodes
        counts = level.nodes * level.values * (classes + 1)
        sent += 12 * n * kids + 12 * kids * level.values * classes + _look_ups(counts, n, bits)
        sent += 60 * level.nodes * level.attributes * (level.attributes - 1) / 2
        rounds += 13 + (_SORT_ROUNDS if bits >= _SORT_FROM_BITS else 0)
        before = level.nodes
    return _costs(case, "id3", sent, rounds, n * (kept + classes - 1) / 8)


def _look_ups(counts: int, n: int, bits: int) -> float:
    if bits >= _SORT_FROM_BITS:
        return _SORTED_BYTES * float(counts + n)
    return counts * min(8.0 * ((1 << high) + 3 * (1 << bits - high)) for high in range(1, bits + 1))


def costs_of_mode_g(case: Case) -> Costs:
    """Of a training of full height: its form, and so its cost, does not depend on the records."""
    layers = range(case.height)
    sent = _sort(case) + sum(_layer(case, layer) for layer in layers)
    columns = len(case.column_bits)
    tournament = 4 + 6 * ceil(log2(columns)) if columns > 1 else 0
    groups = max(8.0, 7.9 * log2(max(2, case.records)) - 42)
    many = sum(58 for layer in layers if (1 << layer) * case.classes > _CELLS_BY_TABLES)
    rounds = (
        7 + ceil(54 * max(case.column_bits) / 16) + round(case.height * (43 + tournament + groups)) + many
    )
    own = case.records * (sum(map(_word, case.column_bits)) + _class_word(case))
    return _costs(case, "gain-ratio", sent, rounds, own)


def _costs(case: Case, mode: str, sent: float, rounds: int, record_bytes: float) -> Costs:
    """Args: record_bytes: of all records in the clear; each compute party gets as many in two parts."""
    working = _BEGIN_SECONDS + rounds * _ROUND_SECONDS[mode] + sent * _BYTE_SECONDS[mode]
    all_bytes = sent + 2 * _COMPUTE_PARTIES * record_bytes + around_bytes(case.hospitals)
    return Costs(
        sent_bytes=round(all_bytes),
        rounds=rounds,
        exponentiations=0,
        working_seconds=working,
        line_seconds=case.line.seconds(rounds, all_bytes / _COMPUTE_PARTIES),
    )


def _word(bits: int) -> int:
    """Bytes of a word that holds so many bits."""
    return next(size for size in (1, 2, 4, 8) if bits <= 8 * size)


def _class_word(case: Case) -> int:
    return _word(max(1, case.classes - 1))


def _key(case: Case) -> int:
    return _word(max(case.column_bits))


def _sort(case: Case) -> float:
    n, label = case.records, _class_word(case)
    columns = sum(ceil(bits / 2) * (80 + 4 * _word(bits)) + 16 + 4 * label for bits in case.column_bits)
    return n * (columns + 12 * (case.classes - 1))


def _layer(case: Case, layer: int) -> float:
    is_last = layer == case.height - 1
    parts = (_tables, _numerators, _greatest, _link, _split)
    return sum(part(case, layer) for part in parts) + (0 if is_last else _partition(case))


def _tables(case: Case, layer: int) -> float:
    n, slots = case.records, 1 << layer
    cells = slots * case.classes
    common = 12 * case.classes * n + 0.375 * n
    if cells <= _CELLS_BY_TABLES:
        return common + (cells - 1) * _turned(n) + 24 * n
    unit = 4.0 * ((1 << n.bit_length()) + 2 * n)
    return common + (slots - 1) * unit + _by_size(n, slots) + _by_size(n, cells)


def _turned(length: int) -> float:
    """Two tables of so many entries, turned by a secret number."""
    return 4.0 * ((1 << length.bit_length()) + (1 << max(0, 2 * length - 1).bit_length()) + 4 * length)


def _by_size(n: int, cells: int) -> float:
    """Cells sorted by size: the i-th largest has at most n / i records."""
    sent, entries, first = 0.0, 0, 0
    while first < min(cells, n):
        count, room = min(first + 1, cells - first), n // (first + 1)
        sent += count * _turned(room)
        entries += count * room
        first = 2 * first + 1
    return sent + 44 * entries


def _numerators(case: Case, _layer: int) -> float:
    n = case.records
    return n * sum(44 + 12 * (case.classes - 1) + 0.375 * (1 + max(1, bits - 1)) for bits in case.column_bits)


def _greatest(case: Case, layer: int) -> float:
    """Of the columns at each position, then of the positions in each slot."""
    n, key = case.records, _key(case)
    blocks = 141 + 3 * key + (32 if layer else 0)
    last = _LAST_BYTES + _LAST_SLOT_BYTES * (1 << layer)
    return n * ((len(case.column_bits) - 1) * (52 + 3 * key) + 36 + blocks) + last


def _link(case: Case, layer: int) -> float:
    linked = 1 if layer == case.height - 1 else len(case.column_bits)
    return case.records * (16 + 4 * layer) * linked


def _split(case: Case, layer: int) -> float:
    """Each record's answer to the test of its slot."""
    n, key, columns = case.records, _key(case), len(case.column_bits)
    marks = sum(_word(min(64, columns - first)) for first in range(0, columns, 64))
    comparison = 0.375 * (3 * max(case.column_bits) + (1 << layer))
    return n * (6 * key + 3 * marks + comparison + 12 * (case.classes - 1))


def _partition(case: Case) -> float:
    n, label = case.records, _class_word(case)
    return n * (24 + sum(28 + 4 * _word(bits) + 4 * label for bits in case.column_bits))
