"""DOT and SVG lead every record to the class that the tree gives it, with hostile names, values and labels."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from shared.export.dot import to_dot
from shared.export.svg import to_svg
from shared.tree.model import Leaf, Split, Tree
from shared.tree.schema import Attribute, Schema
from tests.support.export_cases import Case, Record, cases
from tests.support.export_pictures import follow_dot, follow_svg

fast = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
thorough = settings(fast, max_examples=300)


def check_pictures(case: Case) -> None:
    assert follow_dot(to_dot(case.subject), case) == len(case.records)
    assert follow_svg(to_svg(case.subject), case) == len(case.records)


@fast
@given(cases())
def test_pictures_lead_to_the_trees_class(case: Case) -> None:
    check_pictures(case)


@pytest.mark.long
@thorough
@given(cases())
def test_pictures_lead_to_the_trees_class_on_many(case: Case) -> None:
    check_pictures(case)


def test_a_class_at_another_place_is_noticed() -> None:
    schema = Schema.create([Attribute("fever", ("yes", "no"))], "ill", ["flu", "well"])
    records: list[Record] = [{"fever": "yes"}, {"fever": "no"}, {"fever": None}]
    case = Case(Tree(Split(0, (Leaf(0), Leaf(1)), 1)), schema, "class", records)
    check_pictures(case)
    for write, follow in ((to_dot, follow_dot), (to_svg, follow_svg)):
        for old, new in (("flu", "well"), ("well", "flu"), ("yes", "maybe")):
            with pytest.raises((AssertionError, KeyError, ValueError)):
                follow(write(case.subject).replace(old, new), case)
