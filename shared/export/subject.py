"""What an export is made of: a tree, its schema, where it came from, and no more than its study's predictions may show.

Counts stand in a subject only with disclosure "counts", shares of the answered class only with "probability" or
"counts"; every form takes them from here, so that none can show more. The nodes are places in level order: the root is
0, then all kids of the root, and so on; every form that names the place of an answer names it by this number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, Self

from shared.errors import InputError
from shared.tree.binary_tests import AtMost, BinaryTest
from shared.tree.model import Leaf, Node, Split, Tree
from shared.tree.prediction import Disclosure
from shared.tree.schema import Schema
from shared.tree.voting import can_vote
from shared.wire.contract import DataContract

NOTICE: Final = "Decision support for research; not certified for clinical use. A person decides."

READING: Final = "records"
"""What the head of an export calls the sentence on how records must be."""

Distribution = tuple[float, ...]
"""A share for each class, in their order; they sum to 1."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a tree came from. Empty texts are left out. `date`: of the tree, as 2026-11-30. `notice`: what every reader
    must know. `version`: of Privet.
    """

    study: str = ""
    question: str = ""
    job: str = ""
    date: str = ""
    hospitals: tuple[str, ...] = ()
    version: str = ""
    notice: str = NOTICE


@dataclass(frozen=True, slots=True)
class Place:
    """A node as exports show it.

    `attribute`, `test` and `kids` (places): of a split, else None and empty. `label`: the class that answers there,
    None where the tree keeps none for records without a usable value. `counts`: training records per class. `share`: of
    `label` among them. `parent`: None at the root. `denominator`: counts are in parts of a record of that size.
    `votes`: a record with an empty field goes down all branches in parts (`shared.tree.voting`).
    """

    number: int
    attribute: int | None
    test: BinaryTest | None
    kids: tuple[int, ...]
    label: int | None
    parent: int | None
    counts: tuple[int, ...] | None = field(default=None, repr=False)
    share: float | None = field(default=None, repr=False)
    denominator: int = 1
    votes: bool = False

    @property
    def records(self) -> Fraction:
        """Training records here, parts of records included; 0 where they are not shown."""
        return Fraction(sum(self.counts or ()), self.denominator)

    @property
    def weights(self) -> tuple[Fraction, ...] | None:
        """Training records per class, parts of records included."""
        return None if self.counts is None else tuple(Fraction(n, self.denominator) for n in self.counts)

    @property
    def is_leaf(self) -> bool:
        """Whether nothing is asked here."""
        return self.attribute is None


@dataclass(frozen=True, slots=True)
class Subject:
    """A tree that is ready to be exported. Build it with `prepare`.

    `contract`: how its study reads records, None where it reads them as they are.
    """

    schema: Schema = field(repr=False)
    disclosure: Disclosure
    origin: Origin
    tree_sha256: str
    places: tuple[Place, ...] = field(repr=False)
    contract: DataContract | None = field(default=None, repr=False)

    @classmethod
    def prepare(
        cls,
        tree: Tree,
        schema: Schema,
        disclosure: Disclosure,
        origin: Origin,
        contract: DataContract | None = None,
    ) -> Self:
        """Check the tree against its schema, and leave out what may not be shown.

        Raises: InputError: an attribute, a class, a value or a number of branches that the schema does not have; or
            records without a value go down all branches in parts, and the study does not show the counts for that;
            or the data contract is of another schema.
        """
        _check_contract(contract, schema)
        places = tuple(_places(tree, schema, disclosure))
        _check_votes(places, schema)
        return cls(schema, disclosure, origin, tree.sha256, places, contract)

    @property
    def asked(self) -> tuple[int, ...]:
        """The attributes that the tree asks, in the schema's order."""
        return tuple(sorted({place.attribute for place in self.places if place.attribute is not None}))

    @property
    def always_answers(self) -> bool:
        """Whether a record without a usable value gets an answer at every split."""
        return all(place.label is not None for place in self.places)

    @property
    def votes(self) -> bool:
        """Whether records without a value go down all branches of some split in parts."""
        return any(place.votes for place in self.places)

    @property
    def header(self) -> list[tuple[str, str]]:
        """(name, text) of what stands at the head of every export, empty ones left out."""
        origin = self.origin
        found = [
            ("tree_sha256", self.tree_sha256),
            ("study", origin.study),
            ("question", origin.question),
            ("job", origin.job),
            ("date", origin.date),
            ("hospitals", ", ".join(origin.hospitals)),
            ("disclosure", self.disclosure),
            ("privet", origin.version),
            ("notice", origin.notice),
            (READING, self.reading),
        ]
        return [(name, one_line(text)) for name, text in found if text]

    @property
    def reading(self) -> str:
        """What must be done to records before a form that has no data contract answers for them; else nothing."""
        if self.contract is None:
            return ""
        return (
            f"The study reads records through its data contract {self.contract.name} "
            f"({self.contract.sha256[:16]}), and this form does not hold it. Give records as the study reads them: "
            f"{self.recoding}. Other spellings, codes for missing and units are answered wrongly."
        )

    @property
    def held_reading(self) -> str:
        """Of a form that has the data contract: how it reads records; nothing where there is no contract."""
        if self.contract is None:
            return ""
        return (
            f"It holds the study's data contract {self.contract.name} ({self.contract.sha256[:16]}) and reads records "
            "through it, numbers in the contract's units."
        )

    @property
    def recoding(self) -> str:
        """The command that writes a file as the study reads it."""
        study = self.origin.study
        return f"privet data recode {study or 'CONTRACT'} FILE{' --agent DIR' if study else ''} --out records.csv"

    def own_distribution(self, place: Place) -> Distribution | None:
        """The shares of all classes at a place, as far as they may be shown and there are records.

        With disclosure "probability" the share of one class is shown; that of the other of two classes follows from it.
        """
        if place.counts is not None and any(place.counts):
            total = sum(place.counts)
            return tuple(count / total for count in place.counts)
        if self.disclosure == "probability" and place.share is not None and self.schema.class_count == 2:
            other = 1.0 - place.share
            return (place.share, other) if place.label == 0 else (other, place.share)
        return None

    def distributions(self) -> tuple[Distribution, ...] | None:
        """The distribution of every place, of one without records that of the place above; None if there is none."""
        found: list[Distribution | None] = []
        for place in self.places:  # a parent stands before its kids
            own = self.own_distribution(place)
            found.append(own if own is not None or place.parent is None else found[place.parent])
        known = tuple(each for each in found if each is not None)
        return known if len(known) == len(found) else None


def one_line(text: str) -> str:
    """The text without line ends and control characters, for comments and headers."""
    return "".join(character if character.isprintable() else " " for character in text)


def _places(tree: Tree, schema: Schema, disclosure: Disclosure) -> Iterator[Place]:
    nodes: list[tuple[Node, int | None]] = [(tree.root, None)]
    for number, (node, parent) in enumerate(nodes):  # grows while it is walked
        label = node.label if isinstance(node, Leaf) else node.majority
        counts = node.counts if disclosure == "counts" else None
        _check_classes(node, label, schema)
        share, unit = _share(node, label, disclosure), 1 if counts is None else node.denominator
        if isinstance(node, Leaf):
            yield Place(number, None, None, (), label, parent, counts, share, unit)
            continue
        _check_split(node, schema)
        kids = tuple(range(len(nodes), len(nodes) + len(node.kids)))
        nodes.extend((kid, number) for kid in node.kids)
        votes = schema.attributes[node.attribute].is_fractional and can_vote(node)
        yield Place(number, node.attribute, node.test, kids, label, parent, counts, share, unit, votes)


def _check_contract(contract: DataContract | None, schema: Schema) -> None:
    """Whether it is about these columns; that it stands for this schema is seen where it is used."""
    if contract is None:
        return
    named = [attribute.name for attribute in contract.attributes]
    if named != [attribute.name for attribute in schema.attributes] or (
        contract.class_.name != schema.class_name
    ):
        raise InputError(
            "the data contract is not that of the tree's schema", where="tree", remedy="Export it anew."
        )


def _check_votes(places: tuple[Place, ...], schema: Schema) -> None:
    """A vote weighs branches by their records, so these must be shown."""
    for place in places:
        if (
            place.votes
            and place.attribute is not None
            and any(places[kid].counts is None for kid in place.kids)
        ):
            raise InputError(
                "records without a value go down all branches by the counts there, which the study does not show",
                where=f"tree, attribute {schema.attributes[place.attribute].name!r}",
                remedy="Ask the model itself with `privet agent predict`.",
            )


def _share(node: Node, label: int | None, disclosure: Disclosure) -> float | None:
    if disclosure == "class" or label is None or node.counts is None or not any(node.counts):
        return None
    return node.counts[label] / sum(node.counts)


def _check_classes(node: Node, label: int | None, schema: Schema) -> None:
    if label is not None and label >= schema.class_count:
        raise InputError("a class that the schema does not have", where="tree")
    if node.counts is not None and len(node.counts) != schema.class_count:
        raise InputError("expected one count a class", where="tree")


def _check_split(split: Split, schema: Schema) -> None:
    if split.attribute >= len(schema.attributes):
        raise InputError("an attribute that the schema does not have", where="tree")
    attribute = schema.attributes[split.attribute]
    where = f"tree, attribute {attribute.name!r}"
    if isinstance(split.test, AtMost) != (attribute.fixed_point is not None):
        raise InputError(
            "a threshold belongs to an attribute in fixed point, and that needs one", where=where
        )
    if split.test is None and len(split.kids) != attribute.branch_count:
        raise InputError("expected one branch a value", where=where)
    if not isinstance(split.test, AtMost | None) and split.test.value >= len(attribute.values):
        raise InputError("a test of a value that the schema does not list", where=where)
