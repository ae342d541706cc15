"""ONNX, where a record with an empty field goes down all branches in parts: `shared.export.votes` as matrices.

A TreeEnsemble knows one way for each record, and one leaf for each set of empty fields would be exponentially many. So
the tree is laid out level by level: the share of a record at a place is its share at the place above, times 1 on the
branch that its code takes, the branch's part of the training records where the field is empty, else 0. What stays at a
place is multiplied by the shares of the classes there and summed: one matrix product a level, whatever is empty.

Shares are doubles: sums that differ by less than 2^-40 count as equal, and of those the first class answers, as in the
tree, whose fractions are exact (docs/adr/0034).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shared.export.compiled import Coding, question_of
from shared.export.onnx_graph import Graph
from shared.export.subject import Place, Subject
from shared.export.votes import IN_PARTS, NEARLY_EQUAL, end_shares, parts


@dataclass(frozen=True, slots=True)
class Ballot:
    """Tensors of all records.

    `asked`: bool [N], whether the branches answer. `winner`: of the class, int64 [N]. `shares`: double [N, classes].
    """

    asked: str
    winner: str
    shares: str

    def instead(
        self, graph: Graph, of_place: str, of_branches: str, *, is_table: bool, out: str | None = None
    ) -> str:
        """The tensor that has the branches' answers where they are asked, else the place's."""
        made, asked = out or graph.inner(f"{'shares' if is_table else 'winner'}_of_all"), self.asked
        if is_table:
            asked = graph.inner("asked_column")
            graph.add("Reshape", [self.asked, graph.constant("column", "INT64", [2], [-1, 1])], [asked])
        graph.add("Where", [asked, of_branches, of_place], [made])
        return made


def ballot(graph: Graph, subject: Subject, codings: Sequence[Coding], node: str) -> Ballot:
    """The votes over the codes. Args: node: the number of the place where a record's own way ends."""
    column = {coding.attribute: number for number, coding in enumerate(codings)}
    weights, votes = _ones(graph), []
    above: list[Place] = []
    for depth, level in enumerate(_levels(subject)):
        maker = _Level(graph, subject, codings, column, depth)
        weights = maker.arrivals(level, above, weights) if above else weights
        votes.append(maker.ends(level, weights))
        above = level
    shares = graph.inner("votes")
    graph.add("Sum", votes, [shares])
    return Ballot(_asked(graph, subject, column, node), _first_greatest(graph, shares), shares)


def _first_greatest(graph: Graph, shares: str) -> str:
    """The class with the greatest share, of those nearly equal to it the first."""
    winner = graph.inner("vote_winner")
    most, least, near, near_number = (
        graph.inner(name) for name in ("most", "near_most", "is_near", "near_number")
    )
    graph.add("ReduceMax", [shares], [most], axes=[1], keepdims=1)
    graph.add("Sub", [most, graph.constant("nearly", "DOUBLE", [1, 1], [NEARLY_EQUAL])], [least])
    graph.add("GreaterOrEqual", [shares, least], [near])
    graph.add("Cast", [near], [near_number], to=graph.type("INT32"))
    graph.add("ArgMax", [near_number], [winner], axis=1, keepdims=0)
    return winner


def _levels(subject: Subject) -> Iterator[list[Place]]:
    """The places by depth; each level in the order of its parents and their branches."""
    level = [subject.places[0]]
    while level:
        yield level
        level = [subject.places[kid] for place in level for kid in place.kids]


def _asked(graph: Graph, subject: Subject, column: dict[int, int], node: str) -> str:
    """Whether a record's way ends at an empty field whose branches answer in parts."""
    asks = [column[place.attribute or 0] if place.votes else 0 for place in subject.places]
    votes = [place.votes for place in subject.places]
    names = ("vote_column", "vote_columns", "vote_code", "vote_codes", "in_parts", "can_vote", "asks_all")
    which, whiches, code, flat, empty, can, asked = (graph.inner(name) for name in names)
    graph.add("Gather", [graph.constant("asks", "INT64", [len(asks)], asks), node], [which], axis=0)
    graph.add("Reshape", [which, graph.constant("upright", "INT64", [2], [-1, 1])], [whiches])
    graph.add("GatherElements", [graph.inner("codes"), whiches], [code], axis=1)
    graph.add("Reshape", [code, graph.constant("line", "INT64", [1], [-1])], [flat])
    graph.add("Equal", [flat, graph.constant("parted", "FLOAT", [1], [float(IN_PARTS)])], [empty])
    graph.add("Gather", [graph.constant("voting", "BOOL", [len(votes)], votes), node], [can], axis=0)
    graph.add("And", [empty, can], [asked])
    return asked


def _ones(graph: Graph) -> str:
    """Every record is at the root whole: double [N, 1]."""
    first, same, ones = graph.inner("first_code"), graph.inner("every"), graph.inner("weight_0")
    graph.add("Gather", [graph.inner("codes"), graph.constant("first", "INT64", [1], [0])], [first], axis=1)
    graph.add("Equal", [first, first], [same])
    graph.add("Cast", [same], [ones], to=graph.type("DOUBLE"))
    return ones


@dataclass(frozen=True, slots=True)
class _Level:
    """The operators of one depth. `column`: of each attribute's number among the codes."""

    graph: Graph
    subject: Subject
    codings: Sequence[Coding]
    column: dict[int, int]
    depth: int

    def arrivals(self, level: Sequence[Place], above: Sequence[Place], weights: str) -> str:
        """Each record's share at each place, double [N, places], by `weights`, that at the places above."""
        order = {place.number: n for n, place in enumerate(above)}
        parents = [self.subject.places[place.parent or 0] for place in level]
        rows = [order[parent.number] for parent in parents]
        from_above = self.graph.constant(f"parents_{self.depth}", "INT64", [len(rows)], rows)
        before = self._add("Gather", [weights, from_above], "before", axis=1)
        return self._add("Mul", [before, self._factors(level, parents)], "weight")

    def _factors(self, level: Sequence[Place], parents: Sequence[Place]) -> str:
        """How much of what is at the place above goes on to each place."""
        spans = [self._span(parent, place) for parent, place in zip(parents, level, strict=True)]
        codes = self._codes("in", [self.column[parent.attribute or 0] for parent in parents])
        low = self._compared("GreaterOrEqual", codes, "low", [span[0] for span in spans])
        high = self._compared("LessOrEqual", codes, "high", [span[1] for span in spans])
        usable = self._compared("GreaterOrEqual", codes, "usable", [0] * len(level))
        empty = self._compared("Equal", codes, "empty", [IN_PARTS] * len(level))
        within = self._add("And", [low, high], "within")
        outside = self._constant("outside", "BOOL", [span[2] for span in spans])
        turned = self._add("Xor", [within, outside], "turned")
        taken = self._add("And", [turned, usable], "taken")
        whole = self._add("Cast", [taken], "whole", to=self.graph.type("DOUBLE"))
        shares = {kid.number: float(share) for parent in parents if parent.votes
                  for kid, share in parts(self.subject, parent)}  # fmt: skip
        part = self._constant("part", "DOUBLE", [shares.get(place.number, 0.0) for place in level])
        return self._add("Where", [empty, part, whole], "factor")

    def ends(self, level: Sequence[Place], weights: str) -> str:
        """What the shares that stay at the places add to the classes, double [N, classes]."""
        codes = self._codes("at", [0 if p.attribute is None else self.column[p.attribute] for p in level])
        usable = self._compared("GreaterOrEqual", codes, "goes", [0] * len(level))
        empty = self._compared("Equal", codes, "stays_empty", [IN_PARTS] * len(level))
        parted = self._add(
            "And", [empty, self._constant("parts", "BOOL", [p.votes for p in level])], "goes_on"
        )
        moved = self._add("Or", [usable, parted], "moved")
        on = self._add("And", [moved, self._constant("asks", "BOOL", [not p.is_leaf for p in level])], "on")
        stays = self._add("Not", [on], "stays")
        kept = self._add("Cast", [stays], "kept", to=self.graph.type("DOUBLE"))
        left = self._add("Mul", [weights, kept], "left")
        classes = self.subject.schema.class_count
        table = [float(share) for place in level for share in end_shares(place, classes)]
        shares = self.graph.constant(f"end_shares_{self.depth}", "DOUBLE", [len(level), classes], table)
        return self._add("MatMul", [left, shares], "added")

    def _span(self, parent: Place, kid: Place) -> tuple[int, int, bool]:
        """The codes that take a branch: from, to, or all others."""
        coding = self.codings[self.column[parent.attribute or 0]]
        question, branch = question_of(parent, coding), parent.kids.index(kid.number)
        if question.kind == "each":
            return branch, branch, False
        first = question.rank if question.kind == "equals" else 0
        is_outside = branch == (0 if question.kind == "equals" else 1)
        return first, question.rank, is_outside

    def _name(self, name: str) -> str:
        return self.graph.inner(f"{name}_{self.depth}")

    def _constant(self, name: str, element: str, values: Sequence[float]) -> str:
        return self.graph.constant(f"{name}_row_{self.depth}", element, [1, len(values)], values)

    def _add(self, operator: str, inputs: Sequence[str], name: str, **attributes: int) -> str:
        out = self._name(name)
        self.graph.add(operator, inputs, [out], **attributes)
        return out

    def _codes(self, name: str, columns: Sequence[int]) -> str:
        which = self.graph.constant(f"columns_{name}_{self.depth}", "INT64", [len(columns)], columns)
        return self._add("Gather", [self.graph.inner("codes"), which], f"codes_{name}", axis=1)

    def _compared(self, operator: str, codes: str, name: str, bounds: Sequence[int]) -> str:
        return self._add(operator, [codes, self._constant(name, "FLOAT", [float(n) for n in bounds])], name)
