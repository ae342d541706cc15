"""Mode I, one level: which attribute each node splits on, in secret (protocol section 10 steps 1 to 6).

The result is one secret word a node: 0 for a leaf, else 1 plus the index of the attribute. That a node is pure, too
small, has no admissible attribute or gains nothing all come out as the same 0, so opening the word shows what the
tree shows and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from shared.mpc.arithmetic import add_public, reshare_binary, sum_of_products
from shared.mpc.bits import unpack_bits
from shared.mpc.comparison import zero_terms
from shared.mpc.conversion import sign_bits
from shared.mpc.first_maximum import all_of, first_maximum, ready
from shared.mpc.lookup import LookupTable, sums_of_entries
from shared.mpc.matrices import lifted
from shared.mpc.program import Party, Program, together
from shared.mpc.ring import U16, U32, U64
from shared.mpc.selection import negated, word_masks
from shared.mpc.sharing import BinaryShare, Share, concatenate, concatenate_binary, public_binary_share
from shared.secure_tree.secret_id3_bounds import Bounds, bound_of
from shared.secure_tree.secret_id3_layout import Indices, Layout, Questions
from shared.tree.growth_rules import GrowthRules

S = TypeVar("S", Share, BinaryShare)


@dataclass(frozen=True, slots=True)
class Level:
    """The nodes that one level decides on, and their counts.

    `counts`: uint32, shape (nodes, classes + 1, table rows), the last class column being the sum; `totals`: the node's
    own, shape (nodes, classes + 1). Both are right in their low `count_bits` bits. `questions`: what is still open.
    """

    counts: Share = field(repr=False)
    totals: Share = field(repr=False)
    questions: Questions = field(repr=False)

    @property
    def nodes(self) -> int:
        """How many nodes."""
        return len(self.totals)

    def of_rows(self) -> Share:
        """The counts of all rows that are looked at, shape (rows, classes + 1)."""
        return self.counts.map(
            lambda part: np.ascontiguousarray(part[self.questions.row_node, :, self.questions.row_of_table])
        )


@dataclass(frozen=True, slots=True)
class Chooser:
    """The rules of a job, its layout, its table of F and its bounds."""

    layout: Layout
    rules: GrowthRules
    table: LookupTable = field(repr=False)
    bounds: Bounds = field(repr=False)

    def choose(self, party: Party, level: Level) -> Program[BinaryShare]:
        """0 for a leaf, else 1 plus the attribute. Returns: uint16 words, shape (nodes,).

        Rounds: 3 for the scores, those of a comparison of scores and 2; one more with `min_child`, and where a gain of
        zero makes a leaf, one more, but then at least what the test of zero gain takes. With a share that ends growth,
        at least those of its bound, and of a comparison and an AND over the classes, and 2. Sends: mostly the look-ups,
        (classes + 1) a row. Leaks: nothing.
        """
        rows = level.of_rows()
        programs: list[Program[Any]] = [self._best(party, level, rows)]
        # A gain that reaches a positive bar is not 0: rounded entries of F are off by less than 2 units a record.
        if not self.rules.split_on_zero_gain and self.bounds.gain is None:
            programs.append(self._gains_something(party, level, rows))
        winners, *gains = yield from together(*programs)
        chosen = yield from all_of(party, [winners, *gains])
        questions = level.questions
        words = (questions.pair_attribute + 1).astype(U16).reshape(level.nodes, questions.per_node).T
        return word_masks(chosen, U16).masked(words).map(lambda part: np.bitwise_xor.reduce(part, axis=0))

    def _best(self, party: Party, level: Level, rows: Share) -> Program[BinaryShare]:
        """1 for the best admissible attribute of each node that does not stop by itself; shape (per node, nodes)."""
        shape = (level.questions.per_node, level.nodes)
        may_win = self._is_admissible(party, level, rows) if self.rules.min_child > 1 else None
        if self.bounds.gain is not None:
            return (yield from self._best_above_bar(party, level, rows, self.bounds.gain, may_win))
        return (
            yield from first_maximum(
                party,
                shape,
                self._scores(party, level, rows) if shape[0] > 1 else ready(_no_scores(level)),
                self.layout.score_bits,
                may_win,
                [self._goes_on(party, level.totals)],
            )
        )

    def _best_above_bar(
        self,
        party: Party,
        level: Level,
        rows: Share,
        least: LookupTable,
        may_win: Program[BinaryShare] | None,
    ) -> Program[BinaryShare]:
        """`_best` where the winner has to gain enough: the bar plays along as the last candidate.

        An equal score wins against it. Where the bar wins, no attribute does, and the node is a leaf.
        """
        winners = yield from first_maximum(
            party,
            (level.questions.per_node + 1, level.nodes),
            self._scores_and_bar(party, level, rows, least),
            self.bounds.score_bits,
            None if may_win is None else _and_the_bar(party, may_win),
            [self._goes_on(party, level.totals)],
        )
        return winners[:-1]

    def _scores(self, party: Party, level: Level, rows: Share) -> Program[Share]:
        """score(A) of protocol section 4, shape (per node, nodes)."""
        starts = level.questions.starts
        return _by_attribute(level, (yield from self._scores_of(party, rows, starts)))

    def _scores_and_bar(self, party: Party, level: Level, rows: Share, least: LookupTable) -> Program[Share]:
        """Scores, and what they must reach: `ceil(min_gain N 2^32) + sum_c F(n_c) - F(N)`; (per node + 1, nodes)."""
        pairs = len(level.questions.starts)
        starts = np.append(level.questions.starts, level.questions.rows + np.arange(level.nodes))
        scores, bounds = yield from together(
            self._scores_of(party, concatenate([rows, level.totals]), starts),
            bound_of(party, least, self.layout.weighed(level.totals)[:, -1]),
        )
        bar = scores[pairs:] + bounds
        return concatenate([_by_attribute(level, scores[:pairs]), bar.reshape(1, -1)])

    def _scores_of(self, party: Party, rows: Share, starts: Indices) -> Program[Share]:
        """The sum of `sum_c F(n_c) - F(n)` over each group of rows. Args: rows: (rows, classes + 1)."""
        columns = self.layout.classes + 1
        sign = np.ones(columns, np.int64)
        sign[-1] = -1
        signs = np.tile(sign.view(U64), len(rows))
        counts = self.layout.weighed(rows).reshape(-1)
        return (yield from sums_of_entries(party, self.table, counts, signs, starts * columns))

    def _goes_on(self, party: Party, totals: Share) -> Program[BinaryShare]:
        """1 where more than one class occurs and there are min_node records; shape (1, nodes).

        A node is pure iff a class has all its records. Of a node with records at most one class has, so the XOR of
        those equalities is their OR; a node without records is smaller than min_node. A share of one class that ends
        growth takes the place of purity, which is the share 1.
        """
        bits = self.layout.count_bits
        size = totals[:, -1]
        if self.bounds.stop is not None:
            mixed, small = yield from together(
                self._is_mixed(party, self.layout.weighed(totals), self.bounds.stop),
                below(party, size, min(self.rules.min_node, self.layout.records + 1), bits),
            )
            goes_on = yield from all_of(party, [mixed, negated(party, small)])
            return goes_on.reshape(1, -1)
        pure, small = yield from together(
            zero_bits(party, size.reshape(-1, 1) - totals[:, :-1], bits),
            below(party, size, min(self.rules.min_node, self.layout.records + 1), bits),
        )
        is_pure = pure.map(lambda part: np.bitwise_xor.reduce(part, axis=1))
        goes_on = yield from all_of(party, [negated(party, is_pure), negated(party, small)])
        return goes_on.reshape(1, -1)

    def _is_mixed(self, party: Party, totals: Share, stop: LookupTable) -> Program[BinaryShare]:
        """1 where every class has less than its share that ends growth; shape (nodes,)."""
        least = yield from bound_of(party, stop, totals[:, -1])
        bounds = least.map(lambda part: part.astype(U32)).reshape(-1, 1)
        less = yield from below(party, totals[:, :-1] - bounds, 0, self.layout.count_bits)
        return (yield from all_of(party, [less[:, c] for c in range(self.layout.classes)]))

    def _is_admissible(self, party: Party, level: Level, rows: Share) -> Program[BinaryShare]:
        """1 where no child has 1 to min_child - 1 records (rule 4); shape (per node, nodes)."""
        size, bits = rows[:, -1], self.layout.count_bits
        empty, small = yield from together(
            zero_bits(party, size, bits),
            below(party, size, min(self.rules.min_child, self.layout.records + 1), bits),
        )
        fits = negated(party, empty ^ small)
        slots = fits[level.questions.slots()]
        return _by_attribute(level, (yield from all_of(party, [slots[i] for i in range(len(slots))])))

    def _gains_something(self, party: Party, level: Level, rows: Share) -> Program[BinaryShare]:
        """1 where the gain is not exactly 0: some n[v][c] N differs from n[v] n[c] (rule 5); shape (per node, nodes).

        Differences add up to 0 over the values and over the classes, so the last ones need no test.
        """
        slots, classes = level.questions.slots(1), self.layout.classes
        asked = rows[slots.reshape(-1)]
        node = level.questions.row_node[slots.reshape(-1)]
        ring = self.layout.product_dtype
        wide = yield from lifted(party, concatenate([asked, level.totals]), self.layout.count_bits, ring)
        cells, totals = wide[: len(asked)], wide[len(asked) :][node]
        products = yield from sum_of_products(
            party, [(cells[:, :-2], totals[:, -1:]), (-cells[:, -1:], totals[:, :-2])]
        )
        equal = yield from zero_bits(party, products, 2 * self.layout.count_bits - 2)
        tests = equal.reshape(len(slots), -1, classes - 1)
        rows_of_tests = [tests[i, :, c] for i in range(len(slots)) for c in range(classes - 1)]
        same = yield from all_of(party, rows_of_tests)
        return negated(party, _by_attribute(level, same))


def zero_bits(party: Party, x: Share, width_bits: int) -> Program[BinaryShare]:
    """1 where x = 0 modulo 2^width_bits, as bytes of x's shape. Rounds: those of a comparison of that width."""
    terms = yield from zero_terms(party, x.reshape(-1), width_bits)
    packed = yield from reshare_binary(party, terms)
    return unpack_bits(packed, x.own.size).reshape(*x.shape)


def below(party: Party, x: Share, bound: int, width_bits: int) -> Program[BinaryShare]:
    """1 where x < a public bound, as bytes of x's shape. Args: |x - bound| < 2^(width_bits - 1)."""
    difference = add_public(party, x, -bound).reshape(-1)
    packed = yield from sign_bits(party, difference, width_bits)
    return unpack_bits(packed, x.own.size).reshape(*x.shape)


def _by_attribute(level: Level, of_pairs: S) -> S:
    """From one entry a pair to shape (per node, nodes)."""
    return of_pairs.reshape(level.nodes, level.questions.per_node).map(np.transpose)


def _and_the_bar(party: Party, may_win: Program[BinaryShare]) -> Program[BinaryShare]:
    """Who may win, and the bar, which always may."""
    found = yield from may_win
    always = public_binary_share(party.index, np.ones((1, found.shape[1]), found.dtype))
    return concatenate_binary([found, always])


def _no_scores(level: Level) -> Share:
    zeros = np.zeros((1, level.nodes), U64)
    return Share(zeros, zeros)
