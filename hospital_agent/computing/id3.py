"""Mode I in a job: records as bits of values and classes, and a tree that all three compute parties open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from hospital_agent.computing.giving import Gift
from hospital_agent.computing.modes import Outcome
from hospital_agent.records import Snapshot
from shared.errors import InternalError
from shared.mpc.permutation import OPENED_KIND
from shared.mpc.program import Party, Program
from shared.mpc.ring import Words
from shared.mpc.sharing import BinaryShare
from shared.secure_tree.contributing import BitBlock, Layout
from shared.secure_tree.secret_id3 import MEMBERS_KEPT, secret_id3
from shared.secure_tree.secret_id3_layout import Layout as RecordLayout
from shared.secure_tree.secret_id3_layout import record_bits
from shared.secure_tree.secret_id3_openings import openings_shown_by
from shared.tree.growth_rules import GrowthRules
from shared.tree.merging import as_asked
from shared.tree.model import Tree
from shared.tree.schema import Schema

_CELL_BYTES: Final = 22
"""Of a value, a class and a record."""
_ROW_BYTES: Final = 30
"""Of a value and a record."""
_ENTRY_BYTES: Final = 140
"""Of an entry of the table of x log2 x, while it is made."""
_MEMBER_BYTES: Final = 8
"""Of a node and a record."""


@dataclass(frozen=True, slots=True)
class Id3Mode:
    """See `modes.SecretMode`. `records`: of all members together."""

    schema: Schema = field(repr=False)
    rules: GrowthRules
    records: int
    open_empty: bool

    @property
    def layout(self) -> Layout:
        """One block: the bits of a record."""
        return (BitBlock(self._shape.columns),)

    @property
    def layers(self) -> int:
        """Not known: the records decide how deep the tree grows."""
        return 0

    @property
    def memory_bytes(self) -> int:
        """By bits of values and classes, the nodes of one level, and tables that weights make longer than the records;
        see docs/performance.md.
        """
        shape = self._shape
        a_record = _CELL_BYTES * shape.classes * shape.kept_rows + _ROW_BYTES * shape.table_rows
        longer = _ENTRY_BYTES * (shape.most - shape.records)
        return self.records * a_record + _MEMBER_BYTES * min(self.records**2, MEMBERS_KEPT) + longer

    @property
    def gifts(self) -> tuple[Gift, ...]:
        """None: the tree is opened as it grows."""
        return ()

    @property
    def _shape(self) -> RecordLayout:
        return RecordLayout.of(self.schema, self.records, self.rules.class_weights)

    def blocks(self, snapshot: Snapshot) -> list[Words]:
        """The bits of the own records."""
        rows = snapshot.rows()
        return [record_bits(self._shape, np.stack([*rows.attributes, rows.classes], axis=1))]

    def program(self, party: Party, inputs: tuple[BinaryShare, ...]) -> Program[Outcome]:
        """Grow the tree, and join its leaves of one class where the job says so.

        Raises: InternalError: it opened other values than the grown tree shows.
        """
        (bits,) = inputs
        tree = yield from secret_id3(party, bits, self.schema, self.rules, open_empty=self.open_empty)
        self._check_openings(party, tree)
        return Outcome(as_asked(tree, self.rules.pruning).canonical().decode())

    def _check_openings(self, party: Party, tree: Tree) -> None:
        """Positions under shuffles say nothing, and are as many as the look-ups need."""
        opened = {kind: count for kind, count in party.meter.opened.items() if kind != OPENED_KIND}
        if opened != openings_shown_by(
            tree, self.schema, self.rules, self.records, open_empty=self.open_empty
        ):
            raise InternalError("mode I opened other values than its tree shows; the job ends here")

    def text_of(self, values: Sequence[Words]) -> str:
        """Never asked."""
        raise InternalError("mode I has no sealed result")
