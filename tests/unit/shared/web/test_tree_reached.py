"""Where a record comes to in a tree: as the oracle of predictions walks, branch by branch where it parts."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given, settings

from shared.export.subject import Origin, Subject
from shared.tree.model import Leaf, Split, Tree
from shared.tree.prediction import predict
from shared.tree.schema import Attribute, Schema
from shared.web.tree_reached import reached_places
from shared.web.tree_view import places_to
from tests.support.export_cases import Case, cases


@given(cases())
@settings(max_examples=12, deadline=None)
def test_a_record_comes_to_the_place_that_answers(case: Case) -> None:
    subject = case.subject
    for record, answer in zip(case.records, case.answers(), strict=True):
        assert reached_places(subject, record) == places_to(subject, answer.place)


@given(cases(in_parts=True))
@settings(max_examples=20, deadline=None)
def test_where_branches_answer_in_parts_all_of_them_are_reached(case: Case) -> None:
    subject = case.subject
    for record, answer in zip(case.records, case.answers(), strict=True):
        reached = reached_places(subject, record)
        assert set(places_to(subject, answer.place)) <= set(reached)
        if not answer.is_parted:
            assert reached == places_to(subject, answer.place)
        elif answer.share is not None:
            assert abs(max(votes_of(subject, reached)) - Fraction(answer.share)) < Fraction(1, 10**9)


def votes_of(subject: Subject, reached: tuple[int, ...]) -> list[Fraction]:
    """Share per class over the ends of what was reached, each as heavy as the records that went there."""
    votes = [Fraction(0)] * subject.schema.class_count
    shares = {0: Fraction(1)}
    for number in reached:  # parents stand before their kids
        place = subject.places[number]
        below = [subject.places[kid] for kid in place.kids if kid in reached]
        whole = sum((kid.records for kid in below), start=Fraction(0))
        for kid in below:
            shares[kid.number] = shares[number] * (kid.records / whole if whole else 1)
        if not below:
            weights = place.weights or ()
            for label, weight in enumerate(weights):
                part = weight / place.records if place.records else Fraction(label == place.label)
                votes[label] += shares[number] * part
    return votes


def test_an_empty_field_lights_every_branch_with_records() -> None:
    schema = Schema.create(
        [Attribute("a", ("x", "y", "z", "missing"), missing="fractional"), Attribute("b", ("no", "yes"))],
        "class",
        ("0", "1"),
    )
    tree = Tree(
        Split(
            0,
            (Leaf(0, (3, 0)), Leaf(0, (0, 0)), Split(1, (Leaf(0, (2, 0)), Leaf(1, (0, 3))), 1, (2, 3))),
            0,
            (5, 3),
        )
    )
    subject = Subject.prepare(tree, schema, "counts", Origin())
    assert reached_places(subject, {"b": "yes"}) == (0, 1, 3, 5)
    assert reached_places(subject, {"a": "not listed", "b": "yes"}) == (0,)
    assert reached_places(subject, {"a": "z"}) == (0, 3)
    assert predict(tree, schema, {"b": "yes"}, "counts").parted_at == "a"
