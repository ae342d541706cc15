"""What the rounds of a job may bring forward: a tree, a tree with fractional rows, or the tables of a tally.

All three have the same members, so that the protocol need not know which it is.
"""

from __future__ import annotations

from shared.tree.fractional_growing import FractionalGrowth
from shared.tree.growing import Growth
from shared.tree.schema import Schema
from shared.tree.tallying import TallyGrowth

AnyGrowth = Growth | FractionalGrowth | TallyGrowth


def tree_growth(schema: Schema) -> type[Growth] | type[FractionalGrowth]:
    """How a tree of this schema is grown."""
    return FractionalGrowth if any(a.is_fractional for a in schema.attributes) else Growth
