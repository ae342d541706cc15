"""Trees with hostile names, values and labels, and records to ask them: for the tests of all export forms.

The trees are drawn, not grown: classes that are not the most frequent, empty leaves, splits without counts, and tests
of every kind stand in them. What a record's answer is says `shared.tree.prediction`; its place is found by the path
told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from math import gcd
from typing import Any

from hypothesis import strategies as st

from shared.export.subject import Origin, Subject
from shared.tree.binary_tests import AtMost, BinaryTest, Equals, UpTo, branch_names
from shared.tree.model import Leaf, Node, Split, Tree
from shared.tree.numbers import FixedPoint, decimal_text
from shared.tree.prediction import Disclosure, predict
from shared.tree.schema import Attribute, Schema, TreatAs

HOSTILE = (
    "<", "<= 5", "=", "a=b", '"', "'", 'say "no"', "a,b", ";", "&", "&amp;", "&#65;", "]]>", "<!--", "\\", "\\n", '\\"',
    "{}", "%s", "#", "{'a': 1}", "yes", " yes", "yes ", "1", "1.0", "01", "true", "None", "nan", "NaN", "missing", "",
    "naïve", "женщина", "女", "אבג", "عربى", "😀", "e\u0301", "é", "\u00a0x", "a\u200cb", "x" * 200, "-", "*", "NULL",
    "node", "label", "class", "codes", "/codes", "probability(1)", "field", "$0",
)  # fmt: skip
STRANGERS = ("not listed <&>", "yes  ", "YES", "2", "?", "\\")

Record = Mapping[str, str | None]
Path = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Answer:
    """What a record must be answered: `None` for the label where there is no answer.

    `is_parted`: all branches of the place answered, each by its records; the distribution is then not the place's.
    `steps`: attribute and branch, by name, down to the place.
    """

    label: str | None
    share: float | None
    place: int
    distribution: tuple[float, ...] | None
    is_parted: bool
    steps: Path


@dataclass(frozen=True)
class Case:
    """A tree, what of it may be shown, and records: texts as they stand in a file, None for what is missing."""

    tree: Tree
    schema: Schema
    disclosure: Disclosure
    records: Sequence[Record]

    @property
    def subject(self) -> Subject:
        """Ready to be exported."""
        origin = Origin(
            study="s<1>", job="0f", date="2026-11-30", question='Is "a" < b & c?', hospitals=("h1", "h2")
        )
        return Subject.prepare(self.tree, self.schema, self.disclosure, origin)

    def answers(self) -> list[Answer]:
        """The oracle's."""
        places = _places_by_path(self.tree, self.schema)
        return [self._answer(record, places) for record in self.records]

    def _answer(self, record: Record, places: Mapping[Path, tuple[int, Node, Path]]) -> Answer:
        shown = Tree(_with_majorities(self.tree.root))
        found = predict(shown, self.schema, record, self.disclosure)
        number, node, _ = places[found.steps]
        silent = isinstance(node, Split) and node.majority is None
        return Answer(
            None if silent else found.label,
            None if silent else found.probability,
            number,
            self._distribution(found.steps, places),
            found.parted_at is not None,
            found.steps,
        )

    def _distribution(self, path: Path, places: Mapping[Path, tuple[int, Node, Path]]) -> Any:
        """Of the place, or of the nearest above that has records; None if the root has none or it may not be shown."""
        if not any(self.tree.root.counts or ()):
            return None
        if self.disclosure == "class" or (self.disclosure == "probability" and self.schema.class_count != 2):
            return None
        for length in range(len(path), -1, -1):
            _, node, _ = places[path[:length]]
            if node.counts is not None and any(node.counts):
                return tuple(count / sum(node.counts) for count in node.counts)
        return None


def _places_by_path(tree: Tree, schema: Schema) -> dict[Path, tuple[int, Node, Path]]:
    """Every node by the steps to it, with its number in level order."""
    level: list[tuple[Node, Path]] = [(tree.root, ())]
    found: dict[Path, tuple[int, Node, Path]] = {}
    for node, path in level:
        found[path] = (len(found), node, path)
        if isinstance(node, Split):
            attribute = schema.attributes[node.attribute]
            names = branch_names(attribute, node.test)
            level.extend(
                (kid, (*path, (attribute.name, name))) for name, kid in zip(names, node.kids, strict=True)
            )
    return found


def _with_majorities(node: Node) -> Node:
    """The same tree with some class at every split, so that the oracle tells where a walk ends."""
    if isinstance(node, Leaf):
        return node
    kids = tuple(map(_with_majorities, node.kids))
    return Split(node.attribute, kids, node.majority or 0, node.counts, node.test, node.denominator)


@st.composite
def cases(
    draw: st.DrawFn, *, texts: Sequence[str] = HOSTILE, most_records: int = 25, in_parts: bool = False
) -> Case:
    """A tree of up to three questions on a path, and records that meet every kind of branch.

    Args: in_parts: whether records without a value may go down all branches in parts.
    """
    names = draw(
        st.lists(st.sampled_from([t for t in texts if t.strip()]), min_size=3, max_size=5, unique=True)
    )
    attributes = [draw(_attributes(name, texts, in_parts=in_parts)) for name in names[:-1]]
    classes = draw(st.lists(st.sampled_from(texts), min_size=1, max_size=4, unique=True))
    schema = Schema.create(attributes, names[-1], classes)
    keeps = in_parts or draw(st.booleans()) or draw(st.booleans())
    tree = Tree(draw(_nodes(schema, 3, keeps_majorities=keeps, in_parts=in_parts)))
    # Only secret jobs keep no class at their splits, and these show classes only.
    disclosure: Disclosure = draw(st.sampled_from(["class", "probability", "counts"])) if keeps else "class"
    disclosure = "counts" if in_parts else disclosure
    records = draw(st.lists(_records(tree, schema), min_size=1, max_size=most_records))
    return Case(tree, schema, disclosure, records)


@st.composite
def _attributes(draw: st.DrawFn, name: str, texts: Sequence[str], *, in_parts: bool) -> Attribute:
    if in_parts and draw(st.booleans()):
        return draw(_parted(name, texts))
    kind = draw(st.sampled_from(["listed", "listed", "ordered", "equality", "cuts", "fixed"]))
    if kind == "fixed":
        missing = draw(st.sampled_from([None, "-1", "2.5"]))
        return Attribute(name, (), fixed_point=FixedPoint.create(name, "-10", "10", 2, missing))
    if kind == "cuts":
        cuts = sorted(draw(st.sets(st.sampled_from(_NUMBERS), min_size=1, max_size=3)))
        return Attribute.numeric(name, cuts, missing=draw(st.sampled_from([None, "not <measured>", ""])))
    values = tuple(draw(st.lists(st.sampled_from(texts), min_size=1, max_size=4, unique=True)))
    return Attribute(name, values, treat_as=None if kind == "listed" else kind)


@st.composite
def _parted(draw: st.DrawFn, name: str, texts: Sequence[str]) -> Attribute:
    """An attribute with a last value for empty fields that makes no branch."""
    if draw(st.booleans()):
        cuts = sorted(draw(st.sets(st.sampled_from(_NUMBERS), min_size=1, max_size=3)))
        return replace(Attribute.numeric(name, cuts, missing="none"), missing="fractional")
    known = [text for text in texts if text not in ("", "missing")]
    values = draw(st.lists(st.sampled_from(known), min_size=1, max_size=3, unique=True))
    order: TreatAs | None = draw(st.sampled_from([None, "ordered"])) if len(values) > 1 else None
    listed = (*values, draw(st.sampled_from(["", "missing"])))
    return Attribute(name, listed, treat_as=order, missing="fractional")


_NUMBERS = [
    Decimal(text) for text in ("-3", "-0.1", "0", "0.1", "0.3", "1", "2.5", "7.25", "100000000000000000.1")
]

_STEPS = (Decimal("-0.01"), Decimal(0), Decimal("0.01"))
_ASKED = [decimal_text(number + step) for number in _NUMBERS[:-1] for step in _STEPS] + [
    "100000000000000000.1", "100000000000000000", "100000000000000016",
]  # fmt: skip
"""Numbers at, below and above the cuts; of those beyond a double's digits only such as decide alike as a double."""


@st.composite
def _nodes(draw: st.DrawFn, schema: Schema, depth: int, *, keeps_majorities: bool, in_parts: bool) -> Node:
    counts = draw(_counts(schema, in_parts=in_parts))
    unit = draw(st.sampled_from([1, 1, 2, 6])) if in_parts else 1
    label = draw(st.integers(0, schema.class_count - 1))
    if not depth or draw(st.integers(0, 3)) == 0:
        return Leaf(label, *_lowest(counts, unit))
    if in_parts and not any(counts or ()):  # no split was ever made without a record
        counts = (1,) * schema.class_count
    number = draw(st.integers(0, len(schema.attributes) - 1))
    attribute = schema.attributes[number]
    test = draw(_tests(attribute))
    branches = len(branch_names(attribute, test))
    below = _nodes(schema, depth - 1, keeps_majorities=keeps_majorities, in_parts=in_parts)
    kids = tuple(draw(below) for _ in range(branches))
    counts, unit = _lowest(counts, unit)
    return Split(number, kids, label if keeps_majorities else None, counts, test, unit)


def _lowest(counts: tuple[int, ...] | None, unit: int) -> tuple[tuple[int, ...] | None, int]:
    """The same numbers of records over the least denominator, as a grown tree keeps them."""
    common = gcd(unit, *(counts or ()))
    return (None, 1) if counts is None else (tuple(count // common for count in counts), unit // common)


def _counts(schema: Schema, *, in_parts: bool) -> st.SearchStrategy[tuple[int, ...] | None]:
    of_classes = st.tuples(*(st.integers(0, 9) for _ in schema.classes))
    none = st.just((0,) * schema.class_count)
    return st.one_of(of_classes, none) if in_parts else st.one_of(of_classes, of_classes, none, st.none())


def _tests(attribute: Attribute) -> st.SearchStrategy[BinaryTest | None]:
    if attribute.fixed_point is not None:
        return st.sampled_from([AtMost(number) for number in _NUMBERS[:-1]])
    if attribute.is_fractional:  # the value for empty fields is on no side
        values = st.integers(0, max(0, attribute.branch_count - 2))
    else:
        values = st.integers(0, len(attribute.values) - 1)
    has_tests = attribute.cuts is not None and attribute.branch_count > 1
    return {
        None: st.one_of(st.none(), st.builds(UpTo, values)) if has_tests else st.none(),
        "ordered": st.builds(UpTo, values),
        "equality": st.builds(Equals, values),
    }[attribute.treat_as]


@st.composite
def _records(draw: st.DrawFn, tree: Tree, schema: Schema) -> Record:
    return {attribute.name: draw(_fields(attribute)) for attribute in schema.attributes}


def _fields(attribute: Attribute) -> st.SearchStrategy[str | None]:
    if attribute.is_numeric:
        return st.one_of(st.none(), st.sampled_from(_ASKED))
    listed = st.sampled_from(attribute.values)
    strangers = st.sampled_from([text for text in STRANGERS if text not in attribute.values])
    return st.one_of(listed, listed, strangers, st.none())
