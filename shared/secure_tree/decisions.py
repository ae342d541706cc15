"""All that the secret modes open: each kind has its function here and its row in docs/threat-model.md.

`meter.opened` counts the opened values by kind, so that a job can be held against what its final tree shows. Each takes
one round and sends what an opening sends (`shared.mpc.opening`).
"""

from __future__ import annotations

from shared.mpc.opening import open_binary, open_share
from shared.mpc.program import Party, Program
from shared.mpc.ring import Words
from shared.mpc.sharing import BinaryShare, Share


def open_choices(party: Party, words: BinaryShare) -> Program[Words]:
    """Mode I: per node 0 for a leaf, else 1 plus the index of its attribute (section 10 steps 3 and 6, in one word).

    Leaks: the words.
    """
    _count(party, "choice", words.own.size)
    return (yield from open_binary(party, words))


def open_emptiness(party: Party, flags: Share) -> Program[Words]:
    """Mode I with `open_empty`: per child 1 if it has no record, as in the thesis. Leaks: the flags."""
    return (yield from _opened(party, "emptiness", flags))


def open_leaf_classes(party: Party, labels: Share) -> Program[Words]:
    """Mode I: per leaf its class (section 10 step 4). Leaks: the classes."""
    return (yield from _opened(party, "leaf_class", labels))


def _opened(party: Party, kind: str, values: Share) -> Program[Words]:
    _count(party, kind, values.own.size)
    return (yield from open_share(party, values))


def _count(party: Party, kind: str, values: int) -> None:
    party.meter.opened[kind] = party.meter.opened.get(kind, 0) + values
