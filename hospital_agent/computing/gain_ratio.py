"""Mode G in a job: records as numeric columns, a tree that stays shared until its end, and questions to such a tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

import numpy as np

from hospital_agent.computing.giving import Gift
from hospital_agent.computing.modes import Outcome
from hospital_agent.records import Snapshot
from shared.errors import InternalError
from shared.ids import AgentId
from shared.mpc.program import Party, Program, Spec, together
from shared.mpc.ring import Words
from shared.mpc.sharing import BinaryShare
from shared.protocol.participation import rules_of
from shared.secure_tree.contributing import Layout, WordBlock
from shared.secure_tree.gain_ratio.opened import layers_of
from shared.secure_tree.gain_ratio.plan import (
    GainRatioPlan,
    SharedRows,
    class_dtype,
    class_words,
    key_input_dtype,
)
from shared.secure_tree.gain_ratio.prediction import predict_shared
from shared.secure_tree.gain_ratio.shared_tree import SharedTree, result_specs
from shared.secure_tree.gain_ratio.training import secret_gain_ratio
from shared.secure_tree.sealed_result import seal_result
from shared.tree.gain_ratio_growing import GainRatioRules
from shared.tree.merging import as_asked
from shared.tree.numeric import NumericColumn, column_keys, grid_steps, numeric_columns, tree_of_layers
from shared.tree.pruning import Pruning
from shared.tree.schema import Schema
from shared.wire.base import canonical_json
from shared.wire.manifest import Manifest

_CELL_BYTES: Final = 130
"""Of a column and a record."""
_CLASS_BYTES: Final = 150
"""Of a class and a record."""
_CLASS_CELL_BYTES: Final = 7
"""Of a class, a column and a record."""
_SLOT_BYTES: Final = 50
"""Of a slot of the last layer and a record."""


@dataclass(frozen=True, slots=True)
class Study:
    """What mode G makes of a manifest's schema and rules: columns, and the plan for so many records.

    `pruning`: of the opened tree, by who may know it.
    """

    schema: Schema = field(repr=False)
    columns: tuple[NumericColumn, ...] = field(repr=False)
    plan: GainRatioPlan
    pruning: Pruning | None = None

    @classmethod
    def of(cls, manifest: Manifest, schema: Schema, records: int) -> Study:
        """Raises: InputError: the schema or the rules are none that mode G can work with."""
        columns = numeric_columns(schema)
        steps: dict[int, Decimal] = {}
        if manifest.secret is not None:
            steps = {entry.attribute: Decimal(entry.step) for entry in manifest.secret.grid}
        asked = rules_of(manifest)
        rules = GainRatioRules.of(asked, grid_steps(schema, columns, steps) if steps else ())
        widths = tuple(column.width_bits for column in columns)
        return cls(schema, columns, GainRatioPlan(records, widths, schema.class_count, rules), asked.pruning)

    @property
    def memory_bytes(self) -> int:
        """By columns, classes and slots of the last layer; see docs/performance.md. Questions take less than that."""
        plan = self.plan
        of_classes = plan.classes * (_CLASS_BYTES + _CLASS_CELL_BYTES * plan.columns)
        a_record = _CELL_BYTES * plan.columns + of_classes + (_SLOT_BYTES << plan.height - 1)
        return plan.records * a_record

    @property
    def key_layout(self) -> Layout:
        """One word block a column."""
        return tuple(WordBlock(key_input_dtype(width)) for width in self.plan.widths)

    def key_blocks(self, snapshot: Snapshot) -> list[Words]:
        """The columns of the own records."""
        keys = column_keys(self.columns, snapshot.rows().attributes)
        return [
            line.astype(key_input_dtype(width)) for line, width in zip(keys, self.plan.widths, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class TrainingMode:
    """See `modes.SecretMode`. `receivers`: whom the tree is opened to."""

    study: Study
    receivers: frozenset[AgentId]

    @property
    def layout(self) -> Layout:
        """The columns, and the class words."""
        return (*self.study.key_layout, WordBlock(class_dtype(self.study.plan.classes)))

    @property
    def layers(self) -> int:
        """The height: every layer is gone through, whatever the tree."""
        return self.study.plan.height

    @property
    def memory_bytes(self) -> int:
        """As the study says."""
        return self.study.memory_bytes

    @property
    def gifts(self) -> tuple[Gift, ...]:
        """The tree."""
        return (Gift(self.receivers, result_specs(self.study.plan)),)

    def blocks(self, snapshot: Snapshot) -> list[Words]:
        """The own records."""
        classes = class_words(snapshot.rows().classes, self.study.plan.classes)
        return [*self.study.key_blocks(snapshot), classes]

    def program(self, party: Party, inputs: tuple[BinaryShare, ...]) -> Program[Outcome]:
        """Grow the tree and seal it."""
        *keys, classes = inputs
        tree = yield from secret_gain_ratio(party, SharedRows(tuple(keys), classes), self.study.plan)
        with party.meter.phase("seal"):
            return Outcome(sealed=((yield from seal_result(party, tree.arrays)),))

    def text_of(self, values: Sequence[Words]) -> str:
        """The tree under the schema's attributes."""
        study = self.study
        layers = layers_of(study.plan, values)
        tree = tree_of_layers(layers, study.schema, study.columns)
        return as_asked(tree, study.pruning).canonical().decode()


@dataclass(frozen=True, slots=True)
class PredictionMode:
    """The classes of records by a tree that stays shared. `tree`: this party's share of it, None at the others.

    `asking`: how many records each member asks about, in roster order; at least one in all, as the roster has it.
    """

    study: Study
    asking: Mapping[AgentId, int]
    tree: tuple[BinaryShare, ...] | None = field(repr=False)

    @property
    def layout(self) -> Layout:
        """The columns."""
        return self.study.key_layout

    @property
    def layers(self) -> int:
        """The height."""
        return self.study.plan.height

    @property
    def memory_bytes(self) -> int:
        """As the study says."""
        return self.study.memory_bytes

    @property
    def gifts(self) -> tuple[Gift, ...]:
        """To each member that asks, the classes of its own records."""
        dtype = self.study.plan.label_dtype
        return tuple(
            Gift(frozenset((agent,)), (Spec((count,), dtype),))
            for agent, count in self.asking.items()
            if count
        )

    def blocks(self, snapshot: Snapshot) -> list[Words]:
        """The own records, without their classes."""
        return self.study.key_blocks(snapshot)

    def program(self, party: Party, inputs: tuple[BinaryShare, ...]) -> Program[Outcome]:
        """Ask the tree, and seal each member's classes apart."""
        if self.tree is None:
            raise InternalError("a compute party without its share of the tree")
        plan = self.study.plan
        labels = yield from predict_shared(party, plan, SharedTree.of(plan, self.tree), inputs)
        ends = np.cumsum(list(self.asking.values()))
        slices = [
            labels[int(end) - count : int(end)]
            for end, count in zip(ends, self.asking.values(), strict=True)
            if count
        ]
        with party.meter.phase("seal"):
            sealed = yield from together(*(seal_result(party, [part]) for part in slices))
        return Outcome(sealed=tuple(sealed))

    def text_of(self, values: Sequence[Words]) -> str:
        """The classes of the own records, by index."""
        return canonical_json({"classes": values[0].astype(int).tolist()}).decode()
