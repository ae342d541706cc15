"""All that the secret modes open: each kind has its function here and its row in docs/threat-model.md.

`meter.opened` counts the opened values by kind, so that a job can be held against what its final tree shows.
"""

from __future__ import annotations

from shared.mpc.opening import open_share
from shared.mpc.program import Party, Program
from shared.mpc.ring import Words
from shared.mpc.sharing import Share


def open_stop_flags(party: Party, flags: Share) -> Program[Words]:
    """Mode I: per open node 1 if it ends here (protocol section 10 step 3). Rounds: 1. Leaks: the flags."""
    return (yield from _opened(party, "stop_flag", flags))


def open_chosen_attributes(party: Party, indices: Share) -> Program[Words]:
    """Mode I: per split node the index of its attribute (section 10 step 6). Rounds: 1. Leaks: the indices."""
    return (yield from _opened(party, "chosen_attribute", indices))


def open_leaf_classes(party: Party, labels: Share) -> Program[Words]:
    """Mode I: per leaf its class (section 10 step 4). Rounds: 1. Leaks: the classes."""
    return (yield from _opened(party, "leaf_class", labels))


def _opened(party: Party, kind: str, values: Share) -> Program[Words]:
    party.meter.opened[kind] = party.meter.opened.get(kind, 0) + values.own.size
    return (yield from open_share(party, values))
