"""What a tree's form tells: which attributes it asks, and where two trees part."""

from __future__ import annotations

from dataclasses import replace

from shared.export.subject import Origin, Subject
from shared.tree.model import Leaf, Node, Split, Tree
from shared.tree.schema import Attribute, Schema
from shared.web.tree_compare import Parting, compare
from shared.web.tree_shape import Asked, asked_attributes

SCHEMA = Schema.create(
    [Attribute("a", ("no", "yes")), Attribute("b", ("no", "yes")), Attribute("c", ("x", "y", "z"))],
    "state",
    ("well", ""),
)


def subject(root: Node, schema: Schema = SCHEMA) -> Subject:
    return Subject.prepare(Tree(root), schema, "class", Origin())


B = Split(1, (Leaf(0), Leaf(1)))
FIRST = subject(Split(0, (B, Split(2, (Leaf(0), B, Leaf(1))))))


def test_attributes_stand_by_the_ends_that_depend_on_them() -> None:
    assert asked_attributes(FIRST) == (
        Asked("a", 1, 1, 6, 1.0),
        Asked("b", 2, 2, 4, 4 / 6),
        Asked("c", 1, 2, 4, 4 / 6),
    )
    assert asked_attributes(subject(Leaf(0))) == ()


def test_trees_part_at_other_questions_and_other_answers() -> None:
    second = subject(Split(0, (Split(1, (Leaf(0), Leaf(0))), Leaf(1))))
    found = compare(FIRST, second, 9)
    assert (found.is_same, found.is_comparable, found.alike, found.is_cut) == (False, True, 3, False)
    assert found.partings == (
        Parting(4, ("a = no", "b = yes"), "answers (empty)", "answers well", (0, 0)),
        Parting(2, ("a = yes",), "asks c (x / y / z)", "answers (empty)", (5, 0)),
    )
    assert compare(FIRST, second, 1).is_cut


def test_a_tree_is_the_same_as_itself() -> None:
    found = compare(FIRST, subject(Split(0, (B, Split(2, (Leaf(0), B, Leaf(1)))))), 9)
    assert (found.is_same, found.alike, found.partings) == (True, 10, ())


def test_other_schemas_are_not_compared() -> None:
    other = replace(SCHEMA, classes=("", "well"))
    assert not compare(FIRST, subject(Leaf(0), other), 9).is_comparable
