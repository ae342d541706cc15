"""The least work of a training in mode G, phase by phase, from the formulas of its primitives (`bench.mpc_work`).

n records, m columns of B bits in words of k bytes, c classes; a layer has S slots. docs/performance.md, section "The
floor of mode G", tells the same in words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from bench.mpc_work import (
    PACKED,
    WIDE,
    WORD,
    Work,
    bits_to_numbers,
    chosen,
    equal_words,
    gathered,
    half_products,
    less_words,
    products,
    reshared,
    route,
    sign_terms,
    sort,
    total,
    turned,
    walk,
    widened,
)
from shared.mpc.bits import WORD_BITS, packed_length
from shared.mpc.ring import word_of_width
from shared.mpc.sorting import DIGIT_BITS
from shared.secure_tree.gain_ratio.all_pairs import group_size
from shared.secure_tree.gain_ratio.group_maximum import Blocks
from shared.secure_tree.gain_ratio.one_class import doublings
from shared.secure_tree.gain_ratio.plan import GainRatioPlan, class_dtype
from shared.secure_tree.gain_ratio.tables import FEW_CELLS

PHASES: Final = (
    "sort",
    "tables",
    "numerators",
    "attribute maximum",
    "group maximum",
    "link",
    "split",
)
"""In the order of a layer. Labels are some hundred values and cost their rounds only."""

Layer = Callable[[GainRatioPlan, int], Work]


def floor_of(plan: GainRatioPlan) -> dict[str, Work]:
    """Of each phase, all layers together."""
    by_layer: dict[str, Layer] = {
        "tables": _tables,
        "numerators": _numerators,
        "attribute maximum": _attribute_maximum,
        "group maximum": _group_maximum,
        "link": _link,
        "split": _split,
    }
    layers = range(plan.height)
    return {"sort": _sort(plan)} | {
        name: total([work(plan, layer) for layer in layers]) for name, work in by_layer.items()
    }


def _row_words(plan: GainRatioPlan, width: int) -> tuple[int, int]:
    """Bytes of a key and of a class word."""
    return word_of_width(width).itemsize, class_dtype(plan.classes).itemsize


def _class_flags(plan: GainRatioPlan) -> Work:
    return bits_to_numbers((plan.classes - 1) * plan.records)


def _sort(plan: GainRatioPlan) -> Work:
    n = plan.records
    columns = []
    for width in plan.widths:
        key, label = _row_words(plan, width)
        columns.append(sort(n, width, DIGIT_BITS, [key, WORD]) + route(n) + walk(n, label))
    return _one_class(plan) + _class_flags(plan) + total(columns)


def _one_class(plan: GainRatioPlan) -> Work:
    """Whatever owners shared, a class word keeps one bit."""
    rounds = 1 + doublings(plan.classes) if plan.classes > 2 else 0
    return total([products(plan.records, class_dtype(plan.classes).itemsize)] * rounds)


def _tables(plan: GainRatioPlan, layer: int) -> Work:
    n, slots = plan.records, 1 << layer
    cells = slots * plan.classes
    common = products(n * plan.classes, WORD, slots) + products(n, PACKED, slots)
    return common + (_few_cells(plan, slots) if cells <= FEW_CELLS else _many_cells(plan, slots))


def _unit_size(length: int) -> int:
    return 1 << length.bit_length()


def _back_size(length: int) -> int:
    return 1 << (2 * length - 1).bit_length()


def _few_cells(plan: GainRatioPlan, slots: int) -> Work:
    """Every inner bound turns two tables; flags are running sums; then one inner product a vector."""
    n, cells = plan.records, slots * plan.classes
    bounds = cells - 1
    tables = turned(bounds, _unit_size(n), n) + turned(bounds, _back_size(n), n)
    flags = Work(summed=6 * bounds * n * WORD, passed=(6 * bounds + 6 * cells) * n * WORD)
    steps = products(n, WORD, slots) + products(n, WORD, cells)
    return tables + flags + steps + Work(passed=6 * (slots + cells) * n * WORD)


def _many_cells(plan: GainRatioPlan, slots: int) -> Work:
    n = plan.records
    flags = Work(summed=6 * (slots - 1) * n * WORD, passed=6 * (slots - 1) * n * WORD)
    units = turned(slots - 1, _unit_size(n), n)
    return units + flags + _by_size(n, slots) + _by_size(n, slots * plan.classes)


def _by_size(n: int, cells: int) -> Work:
    """Room for the i-th largest cell is n / i; the steps in use are moved from there."""
    parts, entries, first = [], 0, 0
    while first < min(cells, n):
        count, room = min(first + 1, cells - first), n // (first + 1)
        parts.append(turned(count, _unit_size(room), room) + turned(count, _back_size(room), room))
        entries += count * room
        first = 2 * first + 1
    local = Work(summed=6 * 2 * entries * WORD, passed=6 * 4 * entries * WORD)
    return total(parts) + local + products(entries, WORD) + route(entries, [WORD])


def _numerators(plan: GainRatioPlan, _layer: int) -> Work:
    n = plan.records
    ranks = products(n, WORD, plan.classes) + Work(summed=6 * plan.classes * n * WORD)
    steps = gathered(n, WORD) + Work(summed=6 * n * WORD, passed=6 * n * WORD)
    each = _class_flags(plan) + ranks + steps + products(n, PACKED)
    return total([each + equal_words(n, width) for width in plan.widths])


def _attribute_maximum(plan: GainRatioPlan, _layer: int) -> Work:
    n = WORD_BITS * packed_length(plan.records)
    riding = plan.key_dtype.itemsize * (2 if plan.has_grid else 1) + plan.column_dtype.itemsize
    match = sign_terms(n, 32) + reshared(n, PACKED) + products(n, PACKED) + chosen(n, WORD, 1)
    numbers = bits_to_numbers(plan.records) + products(2 * plan.records, WORD)
    return (match + products(n, riding)).times(plan.columns - 1) + numbers


def _group_maximum(plan: GainRatioPlan, layer: int) -> Work:
    slots = 1 << layer
    blocks = Blocks.of(plan.records, slots)
    padded, edges = blocks.size * blocks.count, 2 * blocks.size if blocks.size > 1 and slots > 1 else 0
    riding = plan.key_dtype.itemsize * (2 if plan.has_grid else 1) + plan.column_dtype.itemsize
    work = widened(2 * padded) + _fractions(blocks.size, blocks.count, riding)
    work += _fractions(blocks.count + edges, slots, riding)
    if slots > 1:
        whole = blocks.count * slots
        work += widened(whole) + products(2 * whole, WIDE)
        work += products(whole, WORD) if blocks.size > 1 else Work()
    if edges:
        rows = edges * slots
        work += reshared(rows, 3 * WORD + riding) + products(2 * rows, WORD) + widened(2 * rows)
        scanned = 2 * 3 * 2 * 2 * slots * padded * (3 * WORD + riding)
        work += Work(passed=scanned, summed=6 * slots * plan.records * WORD)
    return work


def _fractions(candidates: int, width: int, riding: int) -> Work:
    """`width` fields of so many candidates each, level by level, as `all_pairs.by_fractions` plays them."""
    levels = []
    while candidates > 1:
        size = group_size(candidates, width)
        groups = -(-candidates // size)
        if size == 2:
            pairs = (candidates // 2) * width
            levels.append(_greater(pairs) + chosen(pairs, WIDE, 2) + products(pairs, riding))
        else:
            columns = WORD_BITS * packed_length(groups * width)
            pairs, entrants = columns * size * (size - 1) // 2, columns * size
            unbeaten = reshared(pairs, PACKED) + products((size - 3) * entrants, PACKED)
            words = reshared(groups * width, riding) + Work(passed=12 * entrants * riding)
            levels.append(_greater(pairs) + unbeaten + chosen(entrants, WIDE, 2) + words)
        candidates = groups
    return total(levels)


def _greater(pairs: float) -> Work:
    """Fractions compared, up to the XOR parts of a bit."""
    return half_products(pairs, WIDE, 2) + sign_terms(pairs, 64)


def _link(plan: GainRatioPlan, layer: int) -> Work:
    """One byte a record travels the routes of all layers so far; in the last layer to one column only."""
    n = plan.records
    linked = 1 if layer == plan.height - 1 else plan.columns
    return (walk(n, 1).times(layer + 1) + bits_to_numbers(n)).times(linked)


def _split(plan: GainRatioPlan, layer: int) -> Work:
    n, slots = plan.records, 1 << layer
    key = plan.key_dtype.itemsize
    groups = [min(WORD_BITS, plan.columns - first) for first in range(0, plan.columns, WORD_BITS)]
    marks = sum(word_of_width(group).itemsize for group in groups)
    answers = products(n, key + marks, slots) + products(n, key, plan.columns) + less_words(n, plan.width)
    members = products(slots * n, PACKED)
    counted = products((plan.classes - 1) * n, WORD)
    totals = Work(passed=3 * 4 * plan.classes * slots * n * WORD)
    work = answers + members + counted + totals
    if layer == plan.height - 1:
        return work
    frame = products(2 * n, WORD, slots)
    partitions = [
        Work(summed=6 * n * WORD, passed=18 * n * WORD)
        + products(n, WORD)
        + route(n, _row_words(plan, width))
        for width in plan.widths
    ]
    return work + frame + total(partitions)
