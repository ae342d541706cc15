"""A job that only counts: the tables of the root, and nothing grown from them (decision record 32).

`TallyGrowth` stands where `growing.Growth` stands in a job that grows a tree. Its tree is one leaf of class 0 whatever
was counted, so that the tree's hash, which the cloud learns, says nothing; the chained state, which the cloud sees only
under a key that it has not got, covers every cell, so that hospitals which opened other sums do not agree.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from shared.errors import InternalError, JobCode, JobFailure
from shared.tree.contingency import ContingencyTable
from shared.tree.frontier import NodeQuery, assemble, root_node
from shared.tree.growing import start_state
from shared.tree.growth_record import unreadable
from shared.tree.growth_rules import GrowthRules
from shared.tree.model import Leaf, Tree
from shared.tree.paths import ROOT
from shared.tree.schema import Schema

Tables = tuple[ContingencyTable, ...]
"""One table an attribute, values x classes."""

_LABEL: Final = 0


@dataclass(frozen=True, slots=True)
class TallyGrowth:
    """A tally before or after its one round. `mh`: the manifest's hash. `tables`: None before."""

    schema: Schema = field(repr=False)
    rules: GrowthRules
    mh: bytes
    tables: Tables | None = field(default=None, repr=False)

    @classmethod
    def start(cls, schema: Schema, rules: GrowthRules, mh: bytes) -> TallyGrowth:
        """The state before the round. `mh`: the manifest's hash, 32 bytes."""
        return cls(schema, rules, mh)

    @property
    def state(self) -> bytes:
        """`S_0` of the job, then `S_1 = SHA-256(S_0 || canonical tables)`."""
        first = start_state(self.mh)
        if self.tables is None:
            return first
        canonical = json.dumps(_cells(self.tables), separators=(",", ":"))
        return hashlib.sha256(first + canonical.encode("ascii")).digest()

    @property
    def queries(self) -> tuple[NodeQuery, ...]:
        """The root with every attribute and class, while it is open."""
        return () if self.is_done else (root_node(self.schema).query,)

    @property
    def slot_count(self) -> int:
        """Cells asked for, 0 when done."""
        return sum(query.cell_count(self.schema) for query in self.queries)

    @property
    def open_nodes(self) -> int:
        """1 before the round, 0 after it."""
        return len(self.queries)

    @property
    def is_done(self) -> bool:
        """Whether the tables are there."""
        return self.tables is not None

    @property
    def last_decisions(self) -> list[dict[str, Any]]:
        """The decision in the form of a tree's, the same whatever was counted."""
        return [{"node": "", "leaf": _LABEL}] if self.is_done else []

    @property
    def tree(self) -> Tree:
        """One leaf of class 0 without counts. Raises: InternalError: the round is still open."""
        if self.tables is None:
            raise InternalError("a tally is asked for its result while it is open")
        return Tree(Leaf(_LABEL))

    def absorb(self, counts: Sequence[int]) -> TallyGrowth:
        """The finished tally from the sums of `queries`, one integer a cell, in their order.

        Raises: JobFailure: `range_violation`, `inconsistent_counts`; `too_few_records`: fewer in all than `min_node`.
            InternalError: not one integer a cell, or the tally is done.
        """
        if self.is_done:
            raise InternalError("counts for a tally that is done")
        root = root_node(self.schema)
        tables = tuple(assemble(self.schema, [root], {}, counts, noisy=self.rules.noisy)[ROOT].values())
        if tables[0].total < self.rules.min_node:
            raise JobFailure(
                JobCode.TOO_FEW_RECORDS,
                "all hospitals together have fewer records of this selection than min_node; nothing is kept",
            )
        return replace(self, tables=tables)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON for an agent's journal. It holds counts: it must not leave the hospital."""
        tables = None if self.tables is None else _cells(self.tables)
        return {"mh": self.mh.hex(), "state": self.state.hex(), "tables": tables}

    @classmethod
    def from_json(cls, schema: Schema, rules: GrowthRules, data: Any) -> TallyGrowth:
        """What `to_json` wrote under the same schema. Raises: InputError: another form, or altered."""
        try:
            cells = data["tables"]
            tables = None if cells is None else tables_of(schema, cells)
            read = cls(schema, rules, bytes.fromhex(data["mh"]), tables)
            fits = read.state.hex() == data["state"]
        except (KeyError, TypeError, ValueError):
            raise unreadable() from None
        if not fits:
            raise unreadable()
        return read


def tables_of(schema: Schema, cells: Any) -> Tables:
    """Tables of a schema from nested lists: attribute, value, class. Raises: ValueError: of another shape."""
    tables = tuple(ContingencyTable.of(table) for table in cells)
    shape = [[schema.class_count] * schema.value_count(index) for index in range(len(schema.attributes))]
    flat = [count for table in tables for row in table.rows for count in row]
    if [[len(row) for row in table.rows] for table in tables] != shape:
        raise ValueError("tables of another schema")
    if any(type(count) is not int or count < 0 for count in flat):
        raise ValueError("a count that is not a natural number")
    return tables


def _cells(tables: Tables) -> list[list[list[int]]]:
    return [[list(row) for row in table.rows] for table in tables]
