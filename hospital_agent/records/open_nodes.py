"""Which open node a row belongs to, for many rows at once: the frontier's paths as one lookup table.

The paths of open nodes form a trie whose inner nodes each test one attribute. Walking it is one gather a level:
`state = table[state, value of the state's attribute]`. State 0 is "in no open node" and stays there, and so do the
open nodes themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from shared.errors import InternalError
from shared.tree.frontier import NodeQuery
from shared.tree.paths import Branch, NodePath, Side

_NOWHERE = 0
_ROOT = 1
_OPEN = -1
_DEAD_SHARE = 0.5
"""When fewer rows than this share are still on a path, the others are dropped before the next level."""


@dataclass(frozen=True, slots=True)
class _Level:
    """One step of the walk: the attribute each state tests, and where each value leads (states x values)."""

    attribute: NDArray[np.intp]
    only: int | None
    table: NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class OpenNodes:
    """The walk to the open nodes, and the slot of each (open node, class) that is asked.

    `slot_of` has shape (states * classes,) and gives `slot_count` where nothing is asked.
    """

    levels: tuple[_Level, ...]
    slot_of: NDArray[np.intp]
    slot_count: int
    class_count: int
    query_slots: tuple[slice, ...]

    @classmethod
    def of(cls, queries: Sequence[NodeQuery], sizes: Sequence[int], class_count: int) -> Self:
        """The frontier of these queries; raises InternalError when they are not open nodes of one tree."""
        trie = _Trie()
        ends = [trie.add(query.path) for query in queries]
        if any(trie.attribute[end] != _OPEN for end in ends) or len(set(ends)) != len(ends):
            raise InternalError("the nodes of a round are not disjoint")
        slot_count = sum(len(query.classes) for query in queries)
        slot_of = np.full(len(trie.attribute) * class_count, slot_count, dtype=np.intp)
        query_slots, slot = [], 0
        for query, end in zip(queries, ends, strict=True):
            slot_of[[end * class_count + label for label in query.classes]] = range(
                slot, slot + len(query.classes)
            )
            query_slots.append(slice(slot, slot + len(query.classes)))
            slot += len(query.classes)
        return cls(trie.levels(max(sizes, default=1)), slot_of, slot_count, class_count, tuple(query_slots))

    def slots_of(
        self, codes: NDArray[np.uint8], low: int, high: int
    ) -> tuple[NDArray[np.intp] | None, NDArray[np.intp]]:
        """(rows, slots) of the rows low..high-1: `slot_count` where nothing is asked; rows count from low.

        `rows` is None when all of them are still there. Args: codes: shape (attributes + 1, all rows), contiguous,
        the classes last.
        """
        rows: NDArray[np.intp] | None = None
        state = np.full(high - low, _ROOT, dtype=np.intp)
        for level in self.levels:
            values = _values(codes, low, rows, level, state)
            state *= level.table.shape[1]
            state += values
            state = level.table.take(state)
            rows, state = _drop_lost(rows, state)
        labels = codes[-1, low:high]
        state *= self.class_count
        state += labels if rows is None else labels.take(rows)
        return rows, self.slot_of.take(state)


def _values(
    codes: NDArray[np.uint8], low: int, rows: NDArray[np.intp] | None, level: _Level, state: NDArray[np.intp]
) -> NDArray[np.uint8]:
    """For each row the value of the attribute that its state tests.

    The gather goes through the flat view: half the time of indexing with two arrays.
    """
    if level.only is not None:
        column = codes[level.only, low:]
        return column[: state.size] if rows is None else column.take(rows)
    places = level.attribute.take(state)
    places *= codes.shape[1]
    places += np.arange(low, low + state.size) if rows is None else rows + low
    return codes.reshape(-1).take(places)


def _drop_lost(
    rows: NDArray[np.intp] | None, state: NDArray[np.intp]
) -> tuple[NDArray[np.intp] | None, NDArray[np.intp]]:
    if np.count_nonzero(state) > _DEAD_SHARE * state.size:
        return rows, state
    alive = np.flatnonzero(state)
    return (alive if rows is None else rows[alive]), state[alive]


class _Trie:
    """The paths seen so far; state numbers are indices into the lists."""

    def __init__(self) -> None:
        self.attribute = [_OPEN, _OPEN]
        self.children: list[dict[Branch, int]] = [{}, {}]
        self.depth = [0, 0]

    def add(self, path: NodePath) -> int:
        """The state at the end of a path."""
        state = _ROOT
        for attribute, branch in path:
            if self.attribute[state] not in (_OPEN, attribute):
                raise InternalError("the nodes of a round are not of one tree")
            self.attribute[state] = attribute
            if branch not in self.children[state]:
                self.children[state][branch] = self._new_state(self.depth[state] + 1)
            state = self.children[state][branch]
        return state

    def _new_state(self, depth: int) -> int:
        self.attribute.append(_OPEN)
        self.children.append({})
        self.depth.append(depth)
        return len(self.attribute) - 1

    def levels(self, width: int) -> tuple[_Level, ...]:
        """One step for each depth of the trie; states of other depths stay where they are."""
        return tuple(self._level(depth, width) for depth in range(max(self.depth)))

    def _level(self, depth: int, width: int) -> _Level:
        states = range(len(self.attribute))
        table = np.repeat(np.arange(len(states), dtype=np.intp)[:, None], width, axis=1)
        attribute = np.zeros(len(states), dtype=np.intp)
        testing = [state for state in states if self.depth[state] == depth and self.attribute[state] != _OPEN]
        for state in testing:
            attribute[state] = self.attribute[state]
            table[state] = _NOWHERE
            for branch, child in self.children[state].items():
                table[state, _codes_of(branch)] = child
        tested = {self.attribute[state] for state in testing}
        return _Level(attribute, tested.pop() if len(tested) == 1 else None, table)


def _codes_of(branch: Branch) -> int | slice:
    if not isinstance(branch, Side):
        return branch
    return slice(branch.threshold + 1, branch.below) if branch.is_above else slice(branch.threshold + 1)
