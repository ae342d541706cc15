"""Mode I as a program for `bench.parties`: the tree's canonical text, from a schema and rules as plain values."""

from __future__ import annotations

from typing import Any

from shared.mpc.program import Party, Program
from shared.mpc.sharing import BinaryShare
from shared.secure_tree.secret_id3 import secret_id3
from shared.tree.growth_rules import GrowthRules
from shared.tree.schema import Schema


def id3(party: Party, bits: BinaryShare, schema: dict[str, Any], rules: dict[str, Any]) -> Program[str]:
    """Grow on shared bits. Args: schema: `Schema.to_json()`. rules: members of `GrowthRules`."""
    tree = yield from secret_id3(party, bits, Schema.from_json(schema), GrowthRules(**rules))
    return tree.canonical().decode()
