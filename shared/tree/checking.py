"""Whether a tree that came from elsewhere can be one of a schema: every index, every branch, every test."""

from __future__ import annotations

from shared.errors import InputError
from shared.tree.binary_tests import AtMost, Equals
from shared.tree.model import Leaf, Split, Tree
from shared.tree.schema import Attribute, Schema


def check_tree(tree: Tree, schema: Schema) -> None:
    """Refuse a tree that the schema's names and records cannot be put to.

    Raises: InputError: a class or an attribute that the schema does not have, another number of branches than values,
        or a test that is not of the attribute's kind or outside its values.
    """
    for node in tree.nodes():
        if isinstance(node, Leaf):
            _check_index(node.label, schema.class_count, "class")
            continue
        _check_index(node.attribute, len(schema.attributes), "attribute")
        if node.majority is not None:
            _check_index(node.majority, schema.class_count, "class")
        _check_split(node, schema.attributes[node.attribute])


def _check_index(index: int, size: int, what: str) -> None:
    if index >= size:
        raise InputError(f"the schema has no {what} of index {index}", where="tree")


def _check_split(split: Split, attribute: Attribute) -> None:
    where = f"tree, attribute {attribute.name!r}"
    test = split.test
    if test is None:
        if len(split.kids) != attribute.branch_count:
            raise InputError(f"{len(split.kids)} branches for {attribute.branch_count} values", where=where)
    elif isinstance(test, AtMost):
        if attribute.fixed_point is None:
            raise InputError("a threshold for an attribute of listed values", where=where)
        attribute.fixed_point.code_of(attribute.name, test.threshold)
    elif test.value >= attribute.branch_count - (0 if isinstance(test, Equals) else 1):
        raise InputError("a test of a value that the schema does not list, or that is its last", where=where)
