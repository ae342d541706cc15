"""Mode I in a job: records as bits of values and classes, and a tree that all three compute parties open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from hospital_agent.computing.giving import Gift
from hospital_agent.computing.modes import Outcome
from hospital_agent.records import Snapshot
from shared.errors import InternalError
from shared.mpc.program import Party, Program
from shared.mpc.ring import Words
from shared.mpc.sharing import BinaryShare
from shared.secure_tree.contributing import BitBlock, Layout
from shared.secure_tree.secret_id3 import secret_id3
from shared.secure_tree.secret_id3_layout import Layout as RecordLayout
from shared.secure_tree.secret_id3_layout import record_bits
from shared.tree.growth_rules import GrowthRules
from shared.tree.schema import Schema


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
    def gifts(self) -> tuple[Gift, ...]:
        """None: the tree is opened as it grows."""
        return ()

    @property
    def _shape(self) -> RecordLayout:
        return RecordLayout.of(self.schema, self.records)

    def blocks(self, snapshot: Snapshot) -> list[Words]:
        """The bits of the own records."""
        rows = snapshot.rows()
        return [record_bits(self._shape, np.stack([*rows.attributes, rows.classes], axis=1))]

    def program(self, party: Party, inputs: tuple[BinaryShare, ...]) -> Program[Outcome]:
        """Grow the tree."""
        (bits,) = inputs
        tree = yield from secret_id3(party, bits, self.schema, self.rules, open_empty=self.open_empty)
        return Outcome(tree.canonical().decode())

    def text_of(self, values: Sequence[Words]) -> str:
        """Never asked."""
        raise InternalError("mode I has no sealed result")
