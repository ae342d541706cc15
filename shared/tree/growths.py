"""What the rounds of a job may bring forward: a tree, one with fractional rows or thresholds, or the tables of a tally.

All have the same members, so that the protocol need not know which it is.
"""

from __future__ import annotations

from shared.tree.fractional_growing import FractionalGrowth
from shared.tree.growing import Growth
from shared.tree.growth_rules import GrowthRules
from shared.tree.ordered_growing import OrderedGrowth
from shared.tree.schema import Schema
from shared.tree.tallying import TallyGrowth

TreeGrowth = Growth | FractionalGrowth | OrderedGrowth
AnyGrowth = TreeGrowth | TallyGrowth


def tree_growth(schema: Schema, rules: GrowthRules | None = None) -> type[TreeGrowth]:
    """How a tree of this schema is grown; without rules by those that have no thresholds."""
    if any(attribute.is_fractional for attribute in schema.attributes):
        return FractionalGrowth
    return Growth if rules is None or rules.thresholds is None else OrderedGrowth
