"""Two trees over one schema: the same, or the places where they part.

Both are walked from the root as long as they ask the same; what lies below a place where they part is not compared,
since it is about other records.
"""

from __future__ import annotations

from dataclasses import dataclass

from shared.export.naming import branches
from shared.export.subject import Place, Subject
from shared.texts import text
from shared.web.tree_view import condition_words


@dataclass(frozen=True, slots=True)
class Parting:
    """A path on which both agree, and what each does at its end: in words.

    `place`: where it ends in the first tree. `below`: places that hang on it, of both.
    """

    place: int
    conditions: tuple[str, ...]
    first: str
    second: str
    below: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Comparison:
    """`is_comparable`: both have one schema. `alike`: places that both have in common. `is_cut`: there are more."""

    is_same: bool
    is_comparable: bool
    alike: int
    partings: tuple[Parting, ...]
    is_cut: bool


def compare(first: Subject, second: Subject, most: int) -> Comparison:
    """Args: most: so many partings at most."""
    if first.schema != second.schema:
        return Comparison(False, False, 0, (), False)
    sizes = _sizes(first), _sizes(second)
    alike, found = 0, []
    pending: list[tuple[Place, Place, tuple[str, ...]]] = [(first.places[0], second.places[0], ())]
    while pending:
        one, other, path = pending.pop()
        if not _is_alike(one, other):
            below = sizes[0][one.number] - 1, sizes[1][other.number] - 1
            found.append(Parting(one.number, path, _words(first, one), _words(second, other), below))
            continue
        alike += 1
        if one.attribute is None:
            continue
        name = first.schema.attributes[one.attribute].name
        pairs = zip(branches(first, one), other.kids, strict=True)
        steps = [
            (kid, second.places[twin], (*path, condition_words(name, branch)))
            for (branch, kid), twin in pairs
        ]
        pending.extend(reversed(steps))
    return Comparison(not found, True, alike, tuple(found[:most]), len(found) > most)


def _is_alike(one: Place, other: Place) -> bool:
    """Whether both ask the same, or end with the same class."""
    if one.is_leaf or other.is_leaf:
        return one.is_leaf and other.is_leaf and one.label == other.label
    return (one.attribute, one.test) == (other.attribute, other.test)


def _words(subject: Subject, place: Place) -> str:
    if place.attribute is None:
        label = subject.schema.classes[place.label] if place.label is not None else ""
        return text("tree.compare_answers", answer=label or text("tree.empty"))
    names = " / ".join(name for name, _ in branches(subject, place))
    return text(
        "tree.compare_asks", attribute=subject.schema.attributes[place.attribute].name, branches=names
    )


def _sizes(subject: Subject) -> list[int]:
    """Places of the subtree at each place, itself included."""
    found = [1] * len(subject.places)
    for place in reversed(subject.places):  # kids first
        if place.parent is not None:
            found[place.parent] += found[place.number]
    return found
