"""PMML 4.4: a TreeModel that answers as Privet does, for any engine that reads the standard.

Source: Data Mining Group, PMML 4.4, TreeModel, MiningSchema, Output.

- Every split has all of its branches as children; a child's predicate is its branch's condition in full, so that it
  does not matter which children stand before it, with one exception: the child for empty fields comes first, because
  with `missingValueStrategy="lastPrediction"` an engine stops at the first predicate that an empty field makes unknown.
- A listed value takes its branch by `equal`; one that is not listed is taken as it is (`asIs`), meets no child, and
  `returnLastPrediction` answers with the split's own class. Engines differ in what `asIs` means to `isMissing`: so
  where empty fields have a branch, the dictionary lists the values as extensions, and none is invalid.
- Predicates of several values are `or` of `equal`: the quoting inside a PMML array is read differently by engines.
- Where all branches answer in parts for an empty field, `pmml_votes` works out their vote in derived fields, and the
  split has one child a class for such records, before all others.
- Scores of a tree that keeps no class at its splits are absent there, and both strategies give no prediction.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from shared.errors import InputError
from shared.export.compiled import float_bound
from shared.export.conditions import Condition, Range, branch_conditions
from shared.export.markup import Markup
from shared.export.pmml_votes import VoteFields
from shared.export.subject import Distribution, Place, Subject
from shared.tree.schema import Attribute

NAMESPACE: Final = "http://www.dmg.org/PMML-4_4"

_Predicate = tuple[str, str | None]
"""An operator of SimplePredicate and its value; isMissing has none."""


def to_pmml(subject: Subject) -> str:
    """The document. Raises: InputError: a text that XML cannot hold."""
    votes = VoteFields.of(subject) if subject.votes else None
    xml = Markup()
    xml.open("PMML", xmlns=NAMESPACE, version="4.4")
    _header(xml, subject)
    _dictionary(xml, subject)
    if votes is not None:
        votes.write(xml)
    last = subject.always_answers
    xml.open(
        "TreeModel",
        modelName=f"privet-{subject.tree_sha256[:16]}",
        functionName="classification",
        missingValueStrategy="lastPrediction" if last else "nullPrediction",
        noTrueChildStrategy="returnLastPrediction" if last else "returnNullPrediction",
        splitCharacteristic="multiSplit",
    )
    _mining_schema(xml, subject)
    _output(xml, subject, votes)
    _nodes(xml, subject, votes)
    xml.close()
    xml.close()
    return xml.text()


def _header(xml: Markup, subject: Subject) -> None:
    xml.open("Header", description=subject.origin.notice)
    for name, text in subject.header:
        xml.leaf("Extension", extender="privet", name=name, value=text)
    xml.leaf("Application", name="Privet", version=subject.origin.version or None)
    xml.leaf("Annotation", subject.origin.notice)
    if subject.origin.date:
        xml.leaf("Timestamp", subject.origin.date)
    xml.close()


def _dictionary(xml: Markup, subject: Subject) -> None:
    schema = subject.schema
    xml.open("DataDictionary", numberOfFields=str(len(subject.asked) + 1))
    for number in subject.asked:
        attribute = schema.attributes[number]
        if attribute.is_numeric:
            xml.leaf("DataField", name=attribute.name, optype="continuous", dataType="double")
        else:
            has_missing = attribute.missing_code is not None
            _categorical(xml, attribute.name, attribute.values, is_closed=not has_missing)
    _categorical(xml, schema.class_name, schema.classes, is_closed=True)
    xml.close()


def _categorical(xml: Markup, name: str, values: tuple[str, ...], *, is_closed: bool) -> None:
    xml.open("DataField", name=name, optype="categorical", dataType="string")
    for value in values:
        if is_closed:
            xml.leaf("Value", value=value)
        else:
            xml.leaf("Extension", extender="privet", name="value", value=value)
    xml.close()


def _mining_schema(xml: Markup, subject: Subject) -> None:
    xml.open("MiningSchema")
    for number in subject.asked:
        xml.leaf("MiningField", name=subject.schema.attributes[number].name, invalidValueTreatment="asIs")
    xml.leaf("MiningField", name=subject.schema.class_name, usageType="target")
    xml.close()


def _output(xml: Markup, subject: Subject, votes: VoteFields | None) -> None:
    schema = subject.schema
    taken = {schema.class_name, *(schema.attributes[number].name for number in subject.asked)}
    xml.open("Output")
    xml.leaf(
        "OutputField",
        name=_unused("class", taken),
        optype="categorical",
        dataType="string",
        feature="predictedValue",
    )
    xml.leaf(
        "OutputField",
        name=_unused("node", taken),
        optype="categorical",
        dataType="string",
        feature="entityId",
    )
    if subject.distributions() is not None:
        for number, label in enumerate(schema.classes):
            name = _unused(f"probability({label})", taken)
            _probability(xml, name, label, None if votes is None else votes.share_name(number))
    xml.close()


def _probability(xml: Markup, name: str, label: str, field: str | None) -> None:
    """That of the node, or a derived field's."""
    kind = {"name": name, "optype": "continuous", "dataType": "double"}
    if field is None:
        xml.leaf("OutputField", **kind, feature="probability", value=label)
        return
    xml.open("OutputField", **kind, feature="transformedValue")
    xml.leaf("FieldRef", field=field)
    xml.close()


def _unused(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _nodes(xml: Markup, subject: Subject, votes: VoteFields | None) -> None:
    distributions = subject.distributions()
    pending: list[tuple[Place, Condition | None] | None] = [(subject.places[0], None)]
    while pending:
        entry = pending.pop()
        if entry is None:
            xml.close()
            continue
        place, condition = entry
        _node(xml, subject, place, condition, None if distributions is None else distributions[place.number])
        if votes is not None and place.votes:
            _voting_nodes(xml, subject, place, votes.name("winner"))
        pending.append(None)
        pending.extend(reversed(_children(subject, place)))


def _children(subject: Subject, place: Place) -> list[tuple[Place, Condition | None]]:
    """The kids with their conditions, that of empty fields first."""
    if place.attribute is None:
        return []
    conditions = branch_conditions(subject.schema.attributes[place.attribute], place.test)
    kids = sorted(zip(place.kids, conditions, strict=True), key=lambda pair: not pair[1].missing)
    return [(subject.places[kid], condition) for kid, condition in kids]


def _node(
    xml: Markup,
    subject: Subject,
    place: Place,
    condition: Condition | None,
    distribution: Distribution | None,
) -> None:
    classes = subject.schema.classes
    xml.open(
        "Node",
        id=str(place.number),
        score=None if place.label is None else classes[place.label],
        recordCount=None if place.counts is None else str(sum(place.counts)),
    )
    if distribution is None and place.share is not None:
        xml.leaf("Extension", extender="privet", name="share", value=repr(place.share))
    if condition is None or place.parent is None:
        xml.leaf("True")
    else:
        asked = subject.places[place.parent].attribute
        if asked is None:
            raise InputError("a leaf has no branches", where="tree")
        _predicate(xml, subject.schema.attributes[asked], condition)
    if distribution is not None:
        counts = place.counts if place.counts is not None and any(place.counts) else distribution
        for label, count, share in zip(classes, counts, distribution, strict=True):
            xml.leaf("ScoreDistribution", value=label, recordCount=str(count), probability=repr(share))


def _voting_nodes(xml: Markup, subject: Subject, place: Place, winner: str) -> None:
    """One a class, called `place/class`, for a record whose field is empty: the class that all branches voted for."""
    attribute = subject.schema.attributes[place.attribute or 0]
    empty = Condition(values=() if attribute.is_numeric else (attribute.values[-1],), missing=True)
    for number, label in enumerate(subject.schema.classes):
        xml.open("Node", id=f"{place.number}/{number}", score=label)
        xml.open("CompoundPredicate", booleanOperator="and")
        _predicate(xml, attribute, empty)
        xml.leaf("SimplePredicate", field=winner, operator="equal", value=str(number))
        xml.close()
        xml.close()


def _predicate(xml: Markup, attribute: Attribute, condition: Condition) -> None:
    groups = list(_alternatives(condition))
    if len(groups) > 1:
        xml.open("CompoundPredicate", booleanOperator="or")
    for group in groups:
        if len(group) > 1:
            xml.open("CompoundPredicate", booleanOperator="and")
        for operator, value in group:
            xml.leaf("SimplePredicate", field=attribute.name, operator=operator, value=value)
        if len(group) > 1:
            xml.close()
    if len(groups) > 1:
        xml.close()
    if not groups:
        xml.leaf("False")


def _alternatives(condition: Condition) -> Iterator[list[_Predicate]]:
    """Predicates, of which one group must hold whole."""
    if condition.missing:
        yield [("isMissing", None)]
    for value in condition.values:
        yield [("equal", value)]
    for each in condition.ranges:
        yield _range(each) or [("isNotMissing", None)]


def _range(bounds: Range) -> list[_Predicate]:
    low, high = bounds
    found: list[_Predicate] = []
    if low is not None:
        found.append(("greaterThan", repr(float_bound(low))))
    if high is not None:
        found.append(("lessOrEqual", repr(float_bound(high))))
    return found
