"""PMML, where a record with an empty field goes down all branches in parts: `shared.export.votes` as derived fields.

The standard's own strategies, `aggregateNodes` and `weightedConfidence`, hold for a whole tree, and engines do not do
them (docs/adr/0034). Plain arithmetic they do:

- `reach.N` is the share of a record at place N: that at the place above, times 1 on the branch whose condition holds,
  or the branch's part of the training records where the field is empty, else 0. `stay.N` is what goes no further.
- `vote.C` sums what stays, times the share of class C there; `winner` is the first class whose sum is the greatest.
  Sums are doubles, and those that differ by less than 2^-40 count as equal.
- `share.C` is what is told: the vote, or the distribution of the place where the record's own way ends. The two differ
  only where no training record went, and `asks.N` tells which: whether a record at N comes to such an empty field.

Listed values are compared by NormDiscrete, whose value is an attribute: a Constant's text may lose its spaces.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from shared.errors import InternalError
from shared.export.compiled import float_bound
from shared.export.conditions import Condition, Range, branch_conditions
from shared.export.markup import Markup
from shared.export.subject import Place, Subject
from shared.export.votes import NEARLY_EQUAL, end_shares, parts
from shared.tree.schema import Attribute

Expression = Callable[[Markup], None]
"""Writes one expression of PMML."""

_PREFIX: Final = "privet."


@dataclass(frozen=True, slots=True)
class VoteFields:
    """The derived fields of a tree whose branches answer. `prefix`: of their names, that no attribute has."""

    subject: Subject
    prefix: str

    @classmethod
    def of(cls, subject: Subject) -> VoteFields:
        """Names that are free in the subject's schema."""
        schema, prefix = subject.schema, _PREFIX
        taken = [schema.class_name, *(attribute.name for attribute in schema.attributes)]
        while any(name.startswith(prefix) for name in taken):
            prefix += "."
        return cls(subject, prefix)

    def name(self, kind: str, number: int | None = None) -> str:
        """Of a field of a place or class."""
        return self.prefix + (kind if number is None else f"{kind}.{number}")

    def share_name(self, label: int) -> str:
        """The field that holds the share of a class."""
        return self.name("share" if self._has_recordless else "vote", label)

    def write(self, xml: Markup) -> None:
        """The TransformationDictionary; each field stands behind those that it needs."""
        classes = self.subject.schema.class_count
        xml.open("TransformationDictionary")
        for place in self.subject.places:
            self._reaches(xml, place)
        for label in range(classes):
            shares = [end_shares(place, classes)[label] for place in self.subject.places]
            self._field(xml, "vote", label, self._sum([float(share) for share in shares]))
        self._field(xml, "winner", None, self._first_greatest(classes))
        if self._has_recordless:
            for place in reversed(self.subject.places):  # kids stand behind their parents
                self._asks(xml, place)
            for label in range(classes):
                self._field(xml, "share", label, self._told(label))
        xml.close()

    @property
    def _has_recordless(self) -> bool:
        return any(not place.records for place in self.subject.places)

    def _field(self, xml: Markup, kind: str, number: int | None, expression: Expression) -> None:
        xml.open("DerivedField", name=self.name(kind, number), optype="continuous", dataType="double")
        expression(xml)
        xml.close()

    def _reaches(self, xml: Markup, place: Place) -> None:
        here = _number(1.0) if place.parent is None else _ref(self.name("reach", place.number))
        if place.is_leaf:
            self._field(xml, "stay", place.number, here)
            return
        attribute = self._attribute(place)
        shares = (
            {kid.number: float(share) for kid, share in parts(self.subject, place)} if place.votes else {}
        )
        for kid, condition in self._branches(place):
            part = shares.get(kid, 0.0) if place.votes else float(condition.missing)
            factor = _factor(attribute, condition, part, is_parted=place.votes)
            self._field(xml, "reach", kid, _apply("*", here, factor))
        gone = _apply("sum", *(_ref(self.name("reach", kid)) for kid in place.kids))
        self._field(xml, "stay", place.number, _apply("-", here, gone))

    def _sum(self, weights: Sequence[float]) -> Expression:
        terms = [
            _apply("*", _ref(self.name("stay", number)), _number(weight))
            for number, weight in enumerate(weights)
            if weight
        ]
        return _apply("sum", _number(0.0), *terms)

    def _first_greatest(self, classes: int) -> Expression:
        votes = [_ref(self.name("vote", label)) for label in range(classes)]
        least = _apply("-", _apply("max", *votes), _number(NEARLY_EQUAL))
        found = _number(float(classes - 1))
        for label in reversed(range(classes - 1)):
            found = _apply("if", _apply("greaterOrEqual", votes[label], least), _number(float(label)), found)
        return found

    def _asks(self, xml: Markup, place: Place) -> None:
        if place.is_leaf:
            self._field(xml, "asks", place.number, _number(0.0))
            return
        attribute = self._attribute(place)
        terms = [
            _apply("*", _ref(self.name("asks", kid)),
                   _factor(attribute, condition, float(condition.missing), is_parted=False))
            for kid, condition in self._branches(place)
        ]  # fmt: skip
        further = _apply("sum", _number(0.0), *terms)
        if place.votes:
            further = _apply("max", further, _absent(attribute))
        self._field(xml, "asks", place.number, further)

    def _told(self, label: int) -> Expression:
        distributions = self.subject.distributions()
        if distributions is None:
            raise InternalError("a tree that votes has a root with records")
        own = self._sum([distribution[label] for distribution in distributions])
        asks = _apply("greaterThan", _ref(self.name("asks", 0)), _number(0.5))
        return _apply("if", asks, _ref(self.name("vote", label)), own)

    def _attribute(self, place: Place) -> Attribute:
        if place.attribute is None:
            raise InternalError("a leaf asks nothing")
        return self.subject.schema.attributes[place.attribute]

    def _branches(self, place: Place) -> list[tuple[int, Condition]]:
        conditions = branch_conditions(self._attribute(place), place.test)
        return list(zip(place.kids, conditions, strict=True))


def _factor(attribute: Attribute, condition: Condition, part: float, *, is_parted: bool) -> Expression:
    """1 where the condition holds, `part` where the field is empty, else 0.

    Args: is_parted: whether all branches answer; the attribute's last value, which stands for an empty field, means
        `part` too.
    """
    if attribute.is_numeric:
        holds = [_within(attribute.name, each) for each in condition.ranges]
        known = _apply("sum", _number(0.0), *holds)
    else:
        held = [_is(attribute.name, value) for value in condition.values]
        if is_parted:
            held.append(_apply("*", _number(part), _is(attribute.name, attribute.values[-1])))
        known = _apply("sum", _number(0.0), *held)
    return _apply("if", _apply("isMissing", _ref(attribute.name)), _number(part), known)


def _absent(attribute: Attribute) -> Expression:
    """1 where the field is empty or says so by its last value, else 0."""
    named = _number(0.0) if attribute.is_numeric else _is(attribute.name, attribute.values[-1])
    return _apply("if", _apply("isMissing", _ref(attribute.name)), _number(1.0), named)


def _within(name: str, bounds: Range) -> Expression:
    """1 for a number above the first bound and at most the second, else 0."""
    low, high = bounds
    found = _number(1.0)
    if high is not None:
        below = _apply("lessOrEqual", _ref(name), _number(float_bound(high)))
        found = _apply("if", below, found, _number(0.0))
    if low is not None:
        above = _apply("greaterThan", _ref(name), _number(float_bound(low)))
        found = _apply("if", above, found, _number(0.0))
    return found


def _is(name: str, value: str) -> Expression:
    """1 for this value, 0 for another or none."""
    return lambda xml: xml.leaf("NormDiscrete", field=name, value=value, mapMissingTo="0")


def _ref(name: str) -> Expression:
    return lambda xml: xml.leaf("FieldRef", field=name)


def _number(value: float) -> Expression:
    return lambda xml: xml.leaf("Constant", repr(value), dataType="double")


def _apply(function: str, *arguments: Expression) -> Expression:
    def write(xml: Markup) -> None:
        xml.open("Apply", function=function)
        for argument in arguments:
            argument(xml)
        xml.close()

    return write
