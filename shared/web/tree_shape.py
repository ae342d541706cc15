"""Which attributes a tree asks, how often and how early: what its form alone tells, where counts are not known."""

from __future__ import annotations

from dataclasses import dataclass

from shared.export.subject import Subject


@dataclass(frozen=True, slots=True)
class Asked:
    """An attribute of a tree. `splits`: places that ask it. `level`: of the first one, the root's is 1.

    `leaves`: ends of the tree below a place that asks it; `share`: of all ends, 0 to 1.
    """

    name: str
    splits: int
    level: int
    leaves: int
    share: float


def asked_attributes(subject: Subject) -> tuple[Asked, ...]:
    """Those that are asked, from the one with most leaves below it; ties by the earlier level, then the schema."""
    places = subject.places
    levels = [1] * len(places)
    below: list[frozenset[int]] = [frozenset()] * len(places)
    for place in places:  # parents first
        above = frozenset() if place.parent is None else below[place.parent]
        below[place.number] = above if place.attribute is None else above | {place.attribute}
        if place.parent is not None:
            levels[place.number] = levels[place.parent] + 1
    leaves = [below[place.number] for place in places if place.is_leaf]
    found = []
    for index in subject.asked:
        own = [levels[place.number] for place in places if place.attribute == index]
        reached = sum(index in each for each in leaves)
        name = subject.schema.attributes[index].name
        found.append(Asked(name, len(own), min(own), reached, reached / len(leaves)))
    return tuple(sorted(found, key=lambda each: (-each.leaves, each.level)))
