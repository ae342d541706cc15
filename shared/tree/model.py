"""The tree itself: leaves, splits, canonical JSON and its hash (protocol section 4).

Walks are loops, not recursion: a path may be as long as there are attributes.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm
from typing import Any, Final, TypeVar

from shared.errors import InputError
from shared.tree.binary_tests import MEMBERS, BinaryTest, read_test

T = TypeVar("T")

_WEIGHT: Final = re.compile(r"(0|[1-9][0-9]{0,4299})(/[1-9][0-9]{0,4299})?")
"""As long as Python reads integers from text."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """An end of the tree: a class index, and the training records per class where they are kept.

    `counts` are in units of 1/`denominator` of a record: 1 unless parts of records came here (docs/adr/0031).
    """

    label: int
    counts: tuple[int, ...] | None = field(default=None, repr=False)
    denominator: int = 1

    @property
    def weights(self) -> tuple[Fraction, ...] | None:
        """Training records per class, parts of records included; None where they were not kept."""
        return _weights(self)


@dataclass(frozen=True, slots=True)
class Split:
    """A question: an attribute index and one subtree per value, in the order of the schema.

    With `test` (mode G) the question has two answers, and the subtrees are left and right. `majority` is the
    class index that answers where a record has no usable value; None if it was not kept. `counts` and `denominator`: as
    of a leaf. An attribute whose missing values are fractional has no subtree for them.
    """

    attribute: int
    kids: tuple[Node, ...]
    majority: int | None = None
    counts: tuple[int, ...] | None = field(default=None, repr=False)
    test: BinaryTest | None = None
    denominator: int = 1

    @property
    def weights(self) -> tuple[Fraction, ...] | None:
        """Training records per class, parts of records included; None where they were not kept."""
        return _weights(self)

    def __post_init__(self) -> None:
        """Refuse a test without two sides. Raises: InputError."""
        if self.test is not None and len(self.kids) != 2:
            raise InputError("a test has two subtrees, left and right", where="tree")


Node = Leaf | Split


@dataclass(frozen=True, slots=True)
class Tree:
    """A decision tree over a schema's indices."""

    root: Node

    def canonical(self) -> bytes:
        """The final tree JSON of section 4, canonical: `{"attr":a,"kids":[...]}` or `{"leaf":c}`.

        A test adds one member: `"threshold":"17.5"`, or `"up_to"` or `"equals"` with the index of a value.
        """
        return fold(self.root, lambda leaf: f'{{"leaf":{leaf.label}}}', _canonical_split).encode("ascii")

    @property
    def sha256(self) -> str:
        """SHA-256 of the canonical JSON, lower-case hex: equal for equal trees, counts aside."""
        return hashlib.sha256(self.canonical()).hexdigest()

    @property
    def node_count(self) -> int:
        """Splits and leaves."""
        return sum(1 for _ in self.nodes())

    @property
    def leaf_count(self) -> int:
        """Leaves, empty ones included."""
        return sum(isinstance(node, Leaf) for node in self.nodes())

    @property
    def depth(self) -> int:
        """Questions on the longest path; 0 for a tree that is one leaf."""
        return fold(self.root, lambda _: 0, lambda _, depths: 1 + max(depths))

    def nodes(self) -> Iterator[Node]:
        """All nodes, a split before its subtrees, these in value order."""
        pending: list[Node] = [self.root]
        while pending:
            node = pending.pop()
            yield node
            if isinstance(node, Split):
                pending.extend(reversed(node.kids))

    def without_counts(self) -> Tree:
        """The same tree with labels and majorities only."""
        return Tree(fold(self.root, _bare_leaf, _bare_split))

    def to_json(self, *, with_counts: bool) -> dict[str, Any]:
        """A plain form that `from_json` reads: `canonical` with `majority`, and `counts` or `weights` if wanted."""
        return fold(
            self.root,
            lambda leaf: {"leaf": leaf.label} | _counts_member(leaf, with_counts),
            lambda split, kids: (
                {"attr": split.attribute, "kids": kids}
                | ({} if split.test is None else dict([split.test.member]))
                | ({} if split.majority is None else {"majority": split.majority})
                | _counts_member(split, with_counts)
            ),
        )

    @classmethod
    def from_json(cls, data: Any) -> Tree:
        """A tree from `to_json` or from parsed canonical JSON. Raises: InputError: another form."""
        return cls(_rebuild(data))


def fold(root: Node, of_leaf: Callable[[Leaf], T], of_split: Callable[[Split, list[T]], T]) -> T:
    """One value per node from the bottom up; `of_split` gets its subtrees' values in value order."""
    pending: list[tuple[Node, bool]] = [(root, False)]
    done: list[T] = []
    while pending:
        node, kids_done = pending.pop()
        if isinstance(node, Leaf):
            done.append(of_leaf(node))
        elif kids_done:
            kids = done[-len(node.kids) :]
            del done[-len(node.kids) :]
            done.append(of_split(node, kids))
        else:
            pending.append((node, True))
            pending.extend((kid, False) for kid in reversed(node.kids))
    return done[0]


def _canonical_split(split: Split, kids: list[str]) -> str:
    members = {"attr": str(split.attribute), "kids": f"[{','.join(kids)}]"}
    if split.test is not None:
        name, value = split.test.member
        members[name] = json.dumps(value)
    return "{" + ",".join(f'"{name}":{members[name]}' for name in sorted(members)) + "}"


def _bare_leaf(leaf: Leaf) -> Node:
    return Leaf(leaf.label)


def _bare_split(split: Split, kids: list[Node]) -> Node:
    return Split(split.attribute, tuple(kids), split.majority, test=split.test)


def _counts_member(node: Node, wanted: bool) -> dict[str, Any]:
    return counts_members(node) if wanted else {}


def counts_members(node: Node) -> dict[str, Any]:
    """How a node's records stand in JSON; nothing without counts.

    `counts` are integers; with parts of records it is `weights`, fractions as text (`"3/2"`): their numerators and
    denominators may be longer than what JSON's numbers hold everywhere.
    """
    weights = node.weights
    if node.denominator == 1 or weights is None:
        return {} if node.counts is None else {"counts": list(node.counts)}
    return {"weights": [str(weight) for weight in weights]}


def read_counts(entry: Mapping[str, Any]) -> tuple[tuple[int, ...] | None, int]:
    """The inverse: counts, None where there are none, and their denominator. Raises: InputError: another form."""
    weights = entry.get("weights")
    if weights is None:
        return _counts(entry), 1
    if "counts" in entry or not isinstance(weights, list) or not all(map(_is_weight, weights)):
        raise InputError("weights are a list of fractions as text, in place of counts", where="tree")
    read = [Fraction(weight) for weight in weights]
    unit = lcm(*(weight.denominator for weight in read))
    if unit == 1 or [str(weight) for weight in read] != weights:
        raise InputError("weights are in lowest terms, and not all of them whole", where="tree")
    return tuple(int(weight * unit) for weight in read), unit


def _is_weight(text: Any) -> bool:
    return isinstance(text, str) and _WEIGHT.fullmatch(text) is not None


def shown_number(weight: Fraction) -> int | float:
    """A weight as people and plain JSON are shown it: whole, or with at most two digits behind the point."""
    return int(weight) if weight.denominator == 1 else float(round(weight, 2))


def _weights(node: Node) -> tuple[Fraction, ...] | None:
    return None if node.counts is None else tuple(Fraction(count, node.denominator) for count in node.counts)


def _rebuild(data: Any) -> Node:
    pending: list[tuple[Any, bool]] = [(data, False)]
    done: list[Node] = []
    while pending:
        entry, kids_done = pending.pop()
        if kids_done:
            kids = tuple(done[-len(entry["kids"]) :])
            del done[-len(kids) :]
            majority = None if "majority" not in entry else _index(entry["majority"])
            counts, unit = read_counts(entry)
            done.append(Split(_index(entry["attr"]), kids, majority, counts, read_test(entry), unit))
        elif isinstance(entry, dict) and {"leaf"} <= set(entry) <= {"leaf", "counts", "weights"}:
            done.append(Leaf(_index(entry["leaf"]), *read_counts(entry)))
        else:
            _check_split(entry)
            pending.append((entry, True))
            pending.extend((kid, False) for kid in reversed(entry["kids"]))
    return done[0]


def _check_split(entry: Any) -> None:
    known = isinstance(entry, dict) and {"attr", "kids"} <= set(entry) <= {
        "attr",
        "kids",
        "majority",
        "counts",
        "weights",
        *MEMBERS,
    }
    if not known or not isinstance(entry["kids"], list) or not entry["kids"]:
        raise InputError(
            'a node is {"leaf":c} or {"attr":a,"kids":[...]} with at least one subtree', where="tree"
        )


def _counts(entry: Mapping[str, Any]) -> tuple[int, ...] | None:
    counts = entry.get("counts")
    if counts is None:
        return None
    if not isinstance(counts, list):
        raise InputError("counts are a list of integers", where="tree")
    return tuple(_index(count) for count in counts)


def _index(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise InputError("expected an integer that is not negative", where="tree")
    return value
