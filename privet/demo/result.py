"""The demo's result: the hospitals' trees beside the tree of the pooled records, and what all of it cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from privet.demo.costs import Costs
from privet.demo.dealing import DemoRecords
from privet.demo.noisy import NoiseComparison
from privet.demo.options import DemoOptions
from privet.demo.pooled import PooledTree
from shared.ids import AgentId
from shared.tree.export import reference_form

_PROFILES: Final = {"id3": "secret-id3", "gain-ratio": "secret-gainratio"}


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
class SecretWork:
    """What the compute parties of a secret job did: rounds, bytes of words that each sent, values opened by kind."""

    rounds: int
    sent_bytes: Mapping[AgentId, int]
    opened: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class DemoResult:
    """`trees`: what each hospital holds when the job is done, as its own agent told. `secret`: of the secret modes.

    `noise`: of a job with noise.
    """

    options: DemoOptions
    records: DemoRecords
    rounds: tuple[RoundSizes, ...]
    trees: Mapping[AgentId, HeldTree] = field(repr=False)
    pooled: PooledTree
    costs: Costs
    secret: SecretWork | None = None
    noise: NoiseComparison | None = None

    @property
    def tree(self) -> HeldTree:
        """The first hospital's tree; where `equal` is true, everyone's."""
        return self.trees[self.records.hospitals[0].id]

    @property
    def equal(self) -> bool:
        """Whether every hospital holds the tree of the pooled records, with the same counts where it has counts."""
        pooled = self.pooled.tree if self.secret is None else self.pooled.tree.without_counts()
        expected = reference_form(pooled, self.records.schema)
        sha256 = self.pooled.tree.sha256
        return all(tree.sha256 == sha256 and tree.form == expected for tree in self.trees.values())

    @property
    def agreed(self) -> bool:
        """Whether all hospitals hold one tree, with the same counts."""
        return all(tree == self.tree for tree in self.trees.values())

    @property
    def as_promised(self) -> bool:
        """Whether it came out as it should: with noise one tree everywhere, else that of the pooled records."""
        return self.agreed if self.noise is not None else self.equal

    def document(self) -> dict[str, Any]:
        """The one document of `--json`; other tools rely on its keys."""
        document = {
            "mode": self.options.mode,
            "profile": _PROFILES.get(self.options.mode, self.options.profile),
            "key_bits": self.options.key_bits,
            "key_mode": self.options.key_mode,
            "hospitals": len(self.trees),
            "rows": len(self.records.rows),
            "rounds": len(self.rounds) if self.secret is None else self.secret.rounds,
            "tree": self.tree.form,
            "tree_sha256": self.tree.sha256,
            "pooled_tree_sha256": self.pooled.tree.sha256,
            "equal": self.equal,
            "seconds": self.costs.seconds,
            "bytes": self.costs.bytes,
        }
        if self.noise is not None:
            return document | {"agreed": self.agreed, "noise": self.noise.document()}
        if self.secret is None:
            return document
        sent = {str(party): size for party, size in self.secret.sent_bytes.items()}
        return document | {"compute_parties": sent, "opened": dict(self.secret.opened)}
