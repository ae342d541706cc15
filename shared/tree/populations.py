"""Populations: the groups of records that are counted for a node whose path asks attributes with fractional missing.

A population is a conjunction written as a path, `/a=v/b=w`, in which the value of an attribute may be that of an empty
field. All its records have the same weight in a node. Several nodes may hold the same population (all branches of a
split on A hold the records without A), and two populations may overlap (records without A, split on B in one branch and
on C in another), which open nodes of one tree never do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shared.errors import InternalError
from shared.tree.frontier import NodeQuery
from shared.tree.paths import Branch, NodePath, Side

Conjunction = frozenset[tuple[int, Branch]]


def conjunction(path: NodePath) -> Conjunction:
    """What a population is, in whatever order it was asked."""
    return frozenset(path)


def count_apart(
    queries: Sequence[NodeQuery],
    count: Callable[[Sequence[NodeQuery]], Sequence[int]],
    cells: Callable[[NodeQuery], int],
) -> list[int]:
    """Count with a counter that knows open nodes of one tree only, once for each group of queries that are such.

    Queries of one tree make one group, and are counted as they are. Args: cells: number of cells of a query.
    Returns: the cells of all queries in their order.
    """
    groups = disjoint_groups(queries)
    if len(groups) == 1:
        return list(count(queries))
    found: dict[int, Sequence[int]] = {}
    for group in groups:
        counts, start = count([queries[index] for index in group]), 0
        for index in group:
            end = start + cells(queries[index])
            found[index], start = counts[start:end], end
        if start != len(counts):
            raise InternalError("a counter returned another number of cells than was asked")
    return [cell for index in range(len(queries)) for cell in found[index]]


def disjoint_groups(queries: Sequence[NodeQuery]) -> list[list[int]]:
    """Indices of the queries, in groups whose paths are those of open nodes of one tree: first fit, in their order."""
    groups: list[tuple[list[int], _Paths]] = []
    for index, query in enumerate(queries):
        for indices, paths in groups:
            if paths.takes(query.path):
                indices.append(index)
                break
        else:
            paths = _Paths()
            paths.takes(query.path)
            groups.append(([index], paths))
    return [indices for indices, _ in groups]


class _Paths:
    """Paths of one tree, as what is asked at each of their prefixes; None where one of them ends.

    `thresholds`: of prefixes where one is asked; two of them on one attribute would overlap.
    """

    def __init__(self) -> None:
        self.asked: dict[NodePath, int | None] = {}
        self.thresholds: dict[NodePath, int] = {}

    def takes(self, path: NodePath) -> bool:
        """Add a path if it can be one more open node of the same tree."""
        steps = [(path[:depth], attribute) for depth, (attribute, _) in enumerate(path)]
        places = [
            (path[:depth], branch.threshold)
            for depth, (_, branch) in enumerate(path)
            if isinstance(branch, Side)
        ]
        if (
            path in self.asked
            or any(self.asked.get(place, asked) != asked for place, asked in steps)
            or any(self.thresholds.get(place, cut) != cut for place, cut in places)
        ):
            return False
        self.asked.update(steps)
        self.thresholds.update(places)
        self.asked[path] = None
        return True
