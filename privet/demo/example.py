"""A record to ask the demo's tree about: it answers every question down to a leaf."""

from __future__ import annotations

from shlex import quote

from shared.tree.binary_tests import AtMost, Equals
from shared.tree.model import Split, Tree
from shared.tree.numbers import decimal_text
from shared.tree.schema import Attribute, Schema


def example_words(tree: Tree, schema: Schema) -> str:
    """`--set NAME=VALUE` for each attribute on one path; for any attribute where the tree asks nothing.

    A tree without counts has no answer for a record that stops half way.
    """
    node, record = tree.root, dict[str, str]()
    while isinstance(node, Split):
        attribute = schema.attributes[node.attribute]
        # Of a number asked more than once the last and least bound is kept, which is on the same side of the others.
        record[attribute.name], place = _answer(node, attribute)
        node = node.kids[place]
    if not record:
        record = {schema.attributes[0].name: _any_value(schema.attributes[0])}
    return " ".join(f"--set {quote(f'{name}={value}')}" for name, value in record.items())


def _answer(split: Split, attribute: Attribute) -> tuple[str, int]:
    """A value, and the place of the branch that it takes."""
    test, cuts = split.test, attribute.cuts
    if isinstance(test, AtMost):
        return decimal_text(test.threshold), 0
    if isinstance(test, Equals):
        return attribute.values[test.value], 1
    if cuts is not None:
        return decimal_text(cuts[0 if test is None else min(test.value, len(cuts) - 1)]), 0
    return (attribute.values[-1], -1) if test is None else (attribute.values[test.value], 0)


def _any_value(attribute: Attribute) -> str:
    if attribute.fixed_point is not None:
        return decimal_text(attribute.fixed_point.minimum)
    return attribute.values[-1] if attribute.cuts is None else decimal_text(attribute.cuts[0])
