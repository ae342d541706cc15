"""The demo's result: the hospitals' trees beside the tree of the pooled records, and what all of it cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from privet.demo.costs import Costs
from privet.demo.dealing import DemoRecords
from privet.demo.options import DemoOptions
from privet.demo.pooled import PooledTree
from shared.ids import AgentId
from shared.tree.export import reference_form


@dataclass(frozen=True, slots=True)
class RoundSizes:
    """What the cloud saw of one round: open nodes, and sums asked for."""

    nodes: int
    sums: int


@dataclass(frozen=True, slots=True)
class HeldTree:
    """A tree as a hospital's agent shows it: its hash, the reference form with counts, a drawing."""

    sha256: str
    form: Mapping[str, Any] = field(repr=False)
    drawing: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class DemoResult:
    """`trees`: what each hospital holds when the job is done, as its own agent told."""

    options: DemoOptions
    records: DemoRecords
    rounds: tuple[RoundSizes, ...]
    trees: Mapping[AgentId, HeldTree] = field(repr=False)
    pooled: PooledTree
    costs: Costs

    @property
    def tree(self) -> HeldTree:
        """The first hospital's tree; where `equal` is true, everyone's."""
        return self.trees[self.records.hospitals[0].id]

    @property
    def equal(self) -> bool:
        """Whether every hospital holds the tree of the pooled records, with the same counts in its leaves."""
        expected = reference_form(self.pooled.tree, self.records.schema)
        sha256 = self.pooled.tree.sha256
        return all(tree.sha256 == sha256 and tree.form == expected for tree in self.trees.values())

    def document(self) -> dict[str, Any]:
        """The one document of `--json`; other tools rely on its keys."""
        return {
            "mode": "ppsdt",
            "profile": self.options.profile,
            "key_bits": self.options.key_bits,
            "hospitals": len(self.trees),
            "rows": len(self.records.rows),
            "rounds": len(self.rounds),
            "tree": self.tree.form,
            "tree_sha256": self.tree.sha256,
            "pooled_tree_sha256": self.pooled.tree.sha256,
            "equal": self.equal,
            "seconds": self.costs.seconds,
            "bytes": self.costs.bytes,
        }
