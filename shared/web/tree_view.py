"""A tree as pages show it: one JSON document for the picture, rows for its table, rules, and the places of a path.

Everything comes from `shared.export.subject`, so no more of the training records is here than the study shows. The
document, `privet-tree-view/1`, is read by `static/tree.js`:

    {"format", "tree_sha256", "disclosure", "notice", "class", "classes": [...], "attributes": [...],
     "nodes": [{"parent", "branch", "attribute" | absent, "label" | null, "counts", "records", "share", "votes"}]}

Nodes stand in level order, the root first; `parent` is a place, `attribute` and `label` are indices, `counts` are one a
class, `share` is of the label and stands where counts may not. What is not shown or not so is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from shared.export.naming import branches
from shared.export.subject import Place, Subject
from shared.texts import text
from shared.tree.binary_tests import branch_names
from shared.tree.model import shown_number

FORMAT: Final = "privet-tree-view/1"
TABLE_ROWS: Final = 200
"""Rows of the table that the server writes; the script adds the others, so that pages of large trees stay small."""
DRAWN_PLACES: Final = 20_000
"""No picture of a larger tree: its document alone would be megabytes."""
_SIGNS: Final = ("<= ", "> ", "= ", "!= ")


@dataclass(frozen=True, slots=True)
class Row:
    """A place as a row of the table. `level`: from 1. `of`: the number of the place above, None at the root.

    `name`: the question, or the answer of a leaf. `otherwise`: what a split answers where it has no usable value.
    `records` and `per_class`: as far as they may be shown, else empty.
    """

    number: int
    level: int
    of: int | None
    branch: str
    name: str
    is_leaf: bool
    otherwise: str
    records: str = field(repr=False)
    per_class: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Rule:
    """A path to a leaf: its conditions in words, the answer, and what may be shown of its records."""

    place: int
    conditions: tuple[str, ...]
    answer: str
    records: str = field(repr=False)
    per_class: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class TreeView:
    """What the macro `tree_picture` of `templates/tree.html` draws."""

    subject: Subject = field(repr=False)

    @property
    def document(self) -> dict[str, Any]:
        """The JSON document for the script."""
        subject = self.subject
        schema = subject.schema
        return {
            "format": FORMAT,
            "tree_sha256": subject.tree_sha256,
            "disclosure": subject.disclosure,
            "notice": subject.origin.notice,
            "class": schema.class_name,
            "classes": [label or text("tree.empty") for label in schema.classes],
            "attributes": [attribute.name for attribute in schema.attributes],
            "nodes": [_node(subject, place, branch) for place, branch in _named(subject)],
        }

    @property
    def size(self) -> int:
        """Number of places."""
        return len(self.subject.places)

    @property
    def is_drawable(self) -> bool:
        """Whether a browser can be given the picture."""
        return self.size <= DRAWN_PLACES

    @property
    def shows_records(self) -> bool:
        """Whether the study shows training records, or shares of them, and the tree has them."""
        return any(place.counts is not None or place.share is not None for place in self.subject.places)

    def rows(self, most: int = TABLE_ROWS) -> tuple[Row, ...]:
        """The first `most` places in reading order: a split, then its branches one after the other."""
        return tuple(islice(_rows(self.subject), most))

    def rules(self, most: int | None = None) -> tuple[Rule, ...]:
        """A rule for each leaf, in reading order; the first `most`."""
        return tuple(islice(_rules(self.subject), most))


def condition_words(attribute: str, branch: str) -> str:
    """A branch's condition: `lumbar pain = yes`, `temperature > 37.5`."""
    return f"{attribute} {branch}" if branch.startswith(_SIGNS) else f"{attribute} = {branch}"


def path_places(subject: Subject, steps: Sequence[tuple[str, str]]) -> tuple[int, ...]:
    """The places that a prediction's steps lead through, the root and the last one included, for lighting them up.

    Args: steps: (attribute, value) names as in `shared.tree.prediction.Prediction.steps`.
    Returns: as far as the tree knows the steps.
    """
    place, found = subject.places[0], [0]
    for name, value in steps:
        if place.attribute is None:
            break
        attribute = subject.schema.attributes[place.attribute]
        names = branch_names(attribute, place.test)
        if attribute.name != name or value not in names:
            break
        place = subject.places[place.kids[names.index(value)]]
        found.append(place.number)
    return tuple(found)


def places_to(subject: Subject, number: int) -> tuple[int, ...]:
    """The places from the root to one, both included; none where the tree has no such place."""
    found: list[int] = []
    at: int | None = number if 0 <= number < len(subject.places) else None
    while at is not None:
        found.append(at)
        at = subject.places[at].parent
    return tuple(reversed(found))


def _named(subject: Subject) -> list[tuple[Place, str]]:
    """All places with the name of the branch that leads there; the root's is empty."""
    names = {kid.number: name for place in subject.places for name, kid in branches(subject, place)}
    return [(place, names.get(place.number, "")) for place in subject.places]


def _node(subject: Subject, place: Place, branch: str) -> dict[str, Any]:
    found: dict[str, Any] = {"label": place.label}
    if place.parent is not None:
        found |= {"parent": place.parent, "branch": branch}
    if place.attribute is not None:
        found["attribute"] = place.attribute
    if place.weights is not None:
        found["counts"] = [shown_number(weight) for weight in place.weights]
        found["records"] = shown_number(place.records)
    elif place.share is not None:
        found["share"] = round(place.share, 4)
    if place.votes:
        found["votes"] = True
    return found


def _rows(subject: Subject) -> Iterator[Row]:
    pending = [(subject.places[0], "", 1)]
    while pending:
        place, branch, level = pending.pop()
        answer = _answer(subject, place)
        yield Row(
            place.number,
            level,
            place.parent,
            branch,
            answer if place.attribute is None else subject.schema.attributes[place.attribute].name,
            place.is_leaf,
            "" if place.is_leaf or place.label is None else answer,
            *_evidence(subject, place),
        )
        pending.extend((kid, name, level + 1) for name, kid in reversed(branches(subject, place)))


def _rules(subject: Subject) -> Iterator[Rule]:
    pending: list[tuple[Place, tuple[str, ...]]] = [(subject.places[0], ())]
    while pending:
        place, path = pending.pop()
        if place.attribute is None:
            yield Rule(place.number, path, _answer(subject, place), *_evidence(subject, place))
            continue
        name = subject.schema.attributes[place.attribute].name
        below = [(kid, (*path, condition_words(name, branch))) for branch, kid in branches(subject, place)]
        pending.extend(reversed(below))


def _answer(subject: Subject, place: Place) -> str:
    if place.label is None:
        return text("tree.no_answer")
    return subject.schema.classes[place.label] or text("tree.empty")


def _evidence(subject: Subject, place: Place) -> tuple[str, str]:
    """Number of records, and how they spread over the classes; empty where not shown."""
    if place.weights is None:
        return "", "" if place.share is None else f"{_answer(subject, place)} {100 * place.share:.1f} %"
    pairs = zip(subject.schema.classes, place.weights, strict=True)
    present = [f"{label or text('tree.empty')} {shown_number(weight):,}" for label, weight in pairs if weight]
    return f"{shown_number(place.records):,}", ", ".join(present)
