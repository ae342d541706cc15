"""What the secret modes have in common for a member of a job: inputs, program, and what the program came to.

Each mode is a module of its own; `choosing.mode_of` chooses by the manifest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from hospital_agent.computing.giving import Gift
from hospital_agent.records import Snapshot
from shared.mpc.program import Party, Program
from shared.mpc.ring import Words
from shared.mpc.sharing import BinaryShare
from shared.secure_tree.contributing import Layout
from shared.secure_tree.sealed_result import SealedShare


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a compute party's program came to: a text that all three know, or its shares of the sealed results."""

    text: str | None = field(default=None, repr=False)
    sealed: tuple[SealedShare, ...] = ()


class SecretMode(Protocol):
    """One way of computing on shares. Everything but `blocks` follows from the manifest and the records' numbers."""

    @property
    def layout(self) -> Layout:
        """The blocks in which a member shares its records."""

    @property
    def layers(self) -> int:
        """Layers of equal cost that the program goes through; 0 where the tree's shape decides."""

    @property
    def memory_bytes(self) -> int:
        """About what the program takes at a compute party beside the agent itself, by measurement; rather too much."""

    @property
    def gifts(self) -> tuple[Gift, ...]:
        """The sealed results of the program, in order; none if and only if its result is a public text."""

    def blocks(self, snapshot: Snapshot) -> list[Words]:
        """The own records as the layout's blocks. Raises: InputError: they are not those that were frozen."""

    def program(self, party: Party, inputs: tuple[BinaryShare, ...]) -> Program[Outcome]:
        """What the compute parties run. Args: inputs: the layout's blocks of all members, joined in roster order."""

    def text_of(self, values: Sequence[Words]) -> str:
        """The canonical text of an opened result. Raises: JobFailure: it is none that an honest program gives."""
