"""Mode I: ID3 on shared records, level by level, exactly the tree of pooled records (protocol sections 4 and 10).

All nodes of a level are decided together, so its rounds do not depend on their number. Every child of a split is asked
for a decision, also one that will turn out a leaf: so the one word opened for it says no more than the tree does.
Labels are computed while the next level is decided and opened for leaves only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from shared.mpc.comparison import is_zero
from shared.mpc.lookup import LookupTable
from shared.mpc.program import Party, Program, together
from shared.mpc.ring import U32
from shared.mpc.sharing import BinaryShare, Share, concatenate, public_share
from shared.secure_tree.decisions import open_choices, open_emptiness
from shared.secure_tree.secret_id3_bounds import Bounds
from shared.secure_tree.secret_id3_choice import Chooser, Level
from shared.secure_tree.secret_id3_labels import Family, Labelling
from shared.secure_tree.secret_id3_layout import Indices, Layout, Questions
from shared.secure_tree.secret_id3_records import Kids, SecretRecords, count_kids, tables_of
from shared.tree.criteria import SCALE_BITS
from shared.tree.f_table import f_table
from shared.tree.growth_rules import GrowthRules
from shared.tree.model import Leaf, Node, Split, Tree
from shared.tree.schema import Schema

MEMBERS_KEPT: Final = 2**26
"""Entries of membership vectors that are kept for one level (8 bytes each); a larger level is grown in parts."""
MEMBERS_AT_ONCE: Final = 2**24
"""Entries of membership vectors that are multiplied at once."""


def secret_id3(
    party: Party,
    bits: BinaryShare,
    schema: Schema,
    rules: GrowthRules,
    *,
    open_empty: bool = False,
) -> Program[Tree]:
    """The tree of section 4 by information gain on the records that the parties hold shares of.

    Args: bits: 0/1 bytes, shape (columns, n), the XOR-shared `secret_id3_layout.record_bits` of all records.
        rules: `criterion` and `skip_known` have no meaning here, and of `pruning` only `stop_share`. open_empty: also
        open for each child whether it has no record, which the thesis' version shows.
    Returns: the tree, without counts and majorities, at all three parties.
    Rounds: 3 at the start; a level 1 for members, 1 for counts, those of `Chooser.choose`, 1 for opening; labels of the
        last level about 8. Levels that are too large for memory are grown in parts, one after the other.
    Leaks: for every node, root included, whether it is a leaf, and its attribute or its class: what the tree shows.
    Raises: InternalError: too many records. InputError: an attribute without listed values, or weights by which there
        are too many records. JobFailure: `share_inconsistent`, see `shared.mpc.opening`.
    """
    layout = Layout.of(schema, bits.shape[1], rules.class_weights)
    if layout.records == 0 or layout.classes == 1:
        return Tree(Leaf(0))
    with party.meter.phase("input"):
        records = yield from SecretRecords.prepare(party, layout, bits)
    table = LookupTable.of(f_table(layout.most, SCALE_BITS))
    chooser = Chooser(layout, rules, table, Bounds.of(layout, rules))
    labelling = Labelling(party, layout)
    growth = _Growth(party, rules, records, chooser, open_empty, labelling)
    yield from growth.run()
    return growth.tree()


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Nodes of one depth that await their decision. `ids`: their numbers. `is_open`: attributes not on their paths.

    `family`, `places`: where their totals and labels are. `kids`: how their members come from the nodes above, whose
    members and cells are `above` and `cells_above`; None for the root.
    """

    depth: int
    ids: list[int]
    is_open: NDArray[np.bool_]
    family: Family
    places: Indices
    kids: Kids | None = None
    above: Share | None = None
    cells_above: Share | None = None


@dataclass(slots=True, eq=False)
class _Growth:
    """The state of one run. Nodes are numbered as they come up, so children have higher numbers than their parents."""

    party: Party
    rules: GrowthRules
    records: SecretRecords
    chooser: Chooser
    open_empty: bool
    labelling: Labelling
    splits: dict[int, tuple[int, list[int]]] = field(default_factory=dict)
    nodes: int = 0

    def run(self) -> Program[None]:
        """Grow until no node awaits a decision and every leaf has its label."""
        waiting = [self._root()]
        while waiting:
            part = waiting.pop()
            self.party.meter.layer = part.depth
            members, cells = yield from self._counted(part)
            chosen, counts = yield from self._decide(part, cells)
            waiting.extend(reversed((yield from self._split(part, chosen, counts, members, cells))))
        with self.party.meter.phase("labels"):
            yield from self.labelling.label()
            yield from self.labelling.open_leaves()

    def tree(self) -> Tree:
        """The finished tree."""
        built: dict[int, Node] = {node: Leaf(label) for node, label in self.labelling.classes.items()}
        for node in sorted(self.splits, reverse=True):
            attribute, kids = self.splits[node]
            built[node] = Split(attribute, tuple(built.pop(kid) for kid in kids))
        return Tree(built[0])

    def _root(self) -> _Part:
        layout = self.records.layout
        above = public_share(self.party.index, 0, U32, (1,))
        family = Family(self.records.totals, above)
        self.labelling.add(family)
        self.nodes = 1
        return _Part(0, [0], np.ones((1, layout.attributes), bool), family, np.zeros(1, np.intp))

    def _counted(self, part: _Part) -> Program[tuple[Share | None, Share]]:
        """Members (None at the root, and where no level below needs them) and counted cells of a part."""
        if part.kids is None or part.cells_above is None:
            return None, self.records.root_cells()
        members = None
        if not self._is_last(part):
            shape = (len(part.kids), self.records.layout.records)
            members = Share(np.empty(shape, U32), np.empty(shape, U32))
        cells: list[Share] = []
        with self.party.meter.phase("counts"):
            for batch in self._batches(part.kids, MEMBERS_AT_ONCE):
                vectors = None if members is None else members[batch]
                counted = yield from count_kids(
                    self.party, self.records, part.above, part.cells_above, part.kids[batch], vectors
                )
                cells.append(counted)
        return members, concatenate(cells)

    def _decide(self, part: _Part, cells: Share) -> Program[tuple[list[int], Share]]:
        """What the nodes of a part become: 0 for a leaf, else 1 plus the attribute; and their tables of counts."""
        totals = part.family.totals[part.places]
        counts = tables_of(self.records.layout, cells, totals)
        level = Level(counts, totals, Questions.of(self.records.layout, part.is_open))
        with self.party.meter.phase("choice"):
            words, *_ = yield from together(
                *_any(self.chooser.choose(self.party, level)), *_any(self.labelling.label())
            )
        with self.party.meter.phase("opening"):
            opened, *_ = yield from together(
                *_any(open_choices(self.party, words)), *_any(self.labelling.open_leaves())
            )
        return opened.tolist(), counts

    def _split(
        self, part: _Part, chosen: list[int], counts: Share, members: Share | None, cells: Share
    ) -> Program[list[_Part]]:
        """Record the decisions; returns the children that await one, in parts that fit the memory."""
        layout = self.records.layout
        for node, place, choice in zip(part.ids, part.places.tolist(), chosen, strict=True):
            if choice == 0:
                self.labelling.add_leaf(part.family, place, node)
        splitting = np.flatnonzero(chosen)
        if not len(splitting):
            return []
        attributes = np.array(chosen, np.intp)[splitting] - 1
        sizes = layout.values[attributes]
        parent = np.repeat(splitting, sizes)
        attribute = np.repeat(attributes, sizes)
        value = np.arange(len(parent)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        row = layout.first_row[attribute] + value
        ids = self._numbered(part, splitting, attributes, sizes)
        totals = counts.map(lambda words: np.ascontiguousarray(words[parent, :, row]))
        family = Family(totals, part.family.labels[0][part.places[parent]])
        self.labelling.add(family)
        if self.open_empty:
            yield from self._open_emptiness(totals)
        if self._is_last(part):
            for place, node in enumerate(ids):
                self.labelling.add_leaf(family, place, node)
            return []
        is_open = part.is_open[parent]
        is_open[np.arange(len(parent)), attribute] = False
        kids = Kids(parent, row, value == layout.values[attribute] - 1, is_open)
        return [
            _Part(
                part.depth + 1,
                ids[some],
                is_open[some],
                family,
                np.arange(len(parent))[some],
                kids[some],
                members,
                cells,
            )
            for some in self._batches(kids, MEMBERS_KEPT)
        ]

    def _numbered(self, part: _Part, splitting: Indices, attributes: Indices, sizes: Indices) -> list[int]:
        """Numbers for all children, and the splits they belong to."""
        first = self.nodes
        for index, attribute, size in zip(
            splitting.tolist(), attributes.tolist(), sizes.tolist(), strict=True
        ):
            self.splits[part.ids[index]] = (attribute, list(range(self.nodes, self.nodes + size)))
            self.nodes += size
        return list(range(first, self.nodes))

    def _is_last(self, part: _Part) -> bool:
        """Whether the children of these nodes are leaves whatever they hold."""
        return bool(part.is_open[0].sum() == 1) or part.depth + 1 == self.rules.max_depth

    def _batches(self, kids: Kids, most: int) -> list[slice]:
        """Slices of whole families with at most so many entries of membership vectors, if one family is not more."""
        batches, start, end = [], 0, 0
        for bound in (np.flatnonzero(kids.is_last) + 1).tolist():
            if bound - start > max(1, most // self.records.layout.records) and end > start:
                batches.append(slice(start, end))
                start = end
            end = bound
        return [*batches, slice(start, end)]

    def _open_emptiness(self, totals: Share) -> Program[None]:
        with self.party.meter.phase("opening"):
            empty = yield from is_zero(self.party, totals[:, -1], U32, self.records.layout.count_bits)
            yield from open_emptiness(self.party, empty)


def _any(program: Program[Any]) -> tuple[Program[Any]]:
    """A program among others of other results, in one round."""
    return (program,)
