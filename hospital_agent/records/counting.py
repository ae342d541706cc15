"""The counting kernel: one pass over dictionary codes gives every cell of a level of the tree.

Rows are walked in blocks that fit the processor's cache. A block first learns which open node each of its rows
belongs to, then one histogram per group of attributes is taken over (slot, values), where a *slot* is one
asked pair of node and class. Small attributes share a histogram (their joint one, from which each
marginal is summed at the end): fewer passes over the rows, exactly the same counts.

What does not live here: where codes come from (`matching`), how they are kept (`snapshot`).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hospital_agent.records.open_nodes import OpenNodes
from shared.tree.frontier import NodeQuery

BLOCK_ROWS: Final = 1 << 16
JOINT_CELLS: Final = 1 << 14
"""Cells of a joint histogram that still sit in the second-level cache: 128 kB of 64-bit counters."""
KEPT_SHARE: Final = 0.75
"""Below this share of rows in asked slots, a block is compressed before its histograms are taken."""
ROWS_PER_THREAD: Final = 1 << 20
"""Fewer rows than this do not repay a second thread."""

Codes = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class _Group:
    """Attributes that share a histogram, and how wide it is (product of their value counts)."""

    attributes: tuple[int, ...]
    sizes: tuple[int, ...]
    width: int


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a pass over the rows needs to know."""

    open_nodes: OpenNodes
    groups: tuple[_Group, ...]
    block_rows: int


def count_codes(
    codes: Codes, sizes: Sequence[int], class_count: int, queries: Sequence[NodeQuery], *, threads: int = 2
) -> list[int]:
    """Counts of all asked cells, in the order query, attribute, value, class.

    Args: codes: shape (attributes + 1, rows), one line an attribute and the classes last; every code is below
        the size of its attribute. sizes: number of values of each attribute. threads: upper bound.
    Raises: InternalError: the queries are not open nodes of one tree.
    """
    asked = [query for query in queries if query.classes and query.attributes]
    if not asked:
        return []
    plan = _plan(sizes, class_count, asked)
    parts = _row_ranges(codes.shape[1], threads)
    if len(parts) == 1:
        histograms = _count_range(codes, plan, *parts[0])
    else:
        with ThreadPoolExecutor(len(parts)) as pool:
            results = list(pool.map(lambda part: _count_range(codes, plan, *part), parts))
        histograms = [sum(pieces[1:], start=pieces[0]) for pieces in zip(*results, strict=True)]
    return _cells(plan, _marginals(plan, histograms), asked)


def _plan(sizes: Sequence[int], class_count: int, queries: Sequence[NodeQuery]) -> _Plan:
    open_nodes = OpenNodes.of(queries, sizes, class_count)
    asked = sorted(set(itertools.chain.from_iterable(query.attributes for query in queries)))
    groups = tuple(_grouped(asked, sizes, open_nodes.slot_count))
    widest = max(group.width for group in groups) * (open_nodes.slot_count + 1)
    return _Plan(open_nodes, groups, max(BLOCK_ROWS, 4 * widest))


def _grouped(asked: Sequence[int], sizes: Sequence[int], slots: int) -> list[_Group]:
    """Greedy: put an attribute into the current group while the joint histogram stays in the cache.

    Like-sized attributes are put side by side, so that a large one does not spoil a group of small ones.
    """
    groups: list[_Group] = []
    for attribute in sorted(asked, key=lambda index: (sizes[index], index)):
        size = sizes[attribute]
        if groups and groups[-1].width * size * slots <= JOINT_CELLS:
            last = groups.pop()
            groups.append(_Group((*last.attributes, attribute), (*last.sizes, size), last.width * size))
        else:
            groups.append(_Group((attribute,), (size,), size))
    return groups


def _row_ranges(rows: int, threads: int) -> list[tuple[int, int]]:
    parts = max(1, min(threads, rows // ROWS_PER_THREAD))
    return [(rows * part // parts, rows * (part + 1) // parts) for part in range(parts)]


def _count_range(codes: Codes, plan: _Plan, start: int, stop: int) -> list[NDArray[np.int64]]:
    """One histogram a group over rows start..stop; each of shape ((slots + 1) * width,), last slot unasked."""
    slots = plan.open_nodes.slot_count
    histograms = [np.zeros((slots + 1) * group.width, dtype=np.int64) for group in plan.groups]
    for low in range(start, stop, plan.block_rows):
        high = min(low + plan.block_rows, stop)
        rows, slot = _asked_rows(codes, low, high, plan.open_nodes)
        if slot.size == 0:
            continue
        for group, histogram in zip(plan.groups, histograms, strict=True):
            code = _joint_code(codes[:, low:high], group)
            key = slot * group.width + (code if rows is None else code.take(rows))
            histogram += np.bincount(key, minlength=histogram.size)
    return histograms


def _asked_rows(
    codes: Codes, low: int, high: int, open_nodes: OpenNodes
) -> tuple[NDArray[np.intp] | None, NDArray[np.intp]]:
    """(rows, slot of each): rows is None when the whole block is kept, unasked rows then sit in the last slot."""
    rows, slot = open_nodes.slots_of(codes, low, high)
    kept = np.count_nonzero(slot != open_nodes.slot_count)
    if kept > KEPT_SHARE * slot.size:
        return rows, slot
    chosen = np.flatnonzero(slot != open_nodes.slot_count)
    return (chosen if rows is None else rows[chosen]), slot[chosen]


def _joint_code(block: Codes, group: _Group) -> NDArray[np.unsignedinteger[Any]]:
    """Mixed-radix code of the group's values, in the narrowest type that holds it."""
    first, *others = group.attributes
    joint: NDArray[np.unsignedinteger[Any]] = block[first]
    width = group.sizes[0]
    for attribute, size in zip(others, group.sizes[1:], strict=True):
        width *= size
        # Joined groups are at most JOINT_CELLS wide, so 16 bits hold them.
        joint = np.multiply(joint, size, dtype=np.uint8 if width < 1 << 8 else np.uint16)
        joint += block[attribute]
    return joint


def _marginals(plan: _Plan, histograms: Sequence[NDArray[np.int64]]) -> dict[int, NDArray[np.int64]]:
    """Attribute to its counts of shape (slots, values)."""
    slots = plan.open_nodes.slot_count
    found: dict[int, NDArray[np.int64]] = {}
    for group, histogram in zip(plan.groups, histograms, strict=True):
        joint = histogram.reshape(slots + 1, *group.sizes)[:slots]
        axes = range(1, joint.ndim)
        for axis, attribute in zip(axes, group.attributes, strict=True):
            found[attribute] = joint.sum(axis=tuple(other for other in axes if other != axis))
    return found


def _cells(plan: _Plan, marginals: dict[int, NDArray[np.int64]], queries: Sequence[NodeQuery]) -> list[int]:
    cells: list[int] = []
    for query, slots in zip(queries, plan.open_nodes.query_slots, strict=True):
        asked: Sequence[Sequence[int] | slice] = query.values or [slice(None)] * len(query.attributes)
        for attribute, values in zip(query.attributes, asked, strict=True):
            cells += marginals[attribute][slots].T[values,].ravel().tolist()
    return cells
