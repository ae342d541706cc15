"""A tree cut back by the records that an evaluation held out: counts that this hospital has already, nothing is asked.

Every hospital that has the model and the evaluation comes to the same tree, whose hash tells so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final, Literal

from hospital_agent.models.model import Model
from hospital_agent.models.tallies import TallyResult
from shared.errors import InputError
from shared.protocol.participation import rules_of
from shared.protocol.report_facts import judged_on
from shared.tree.cost_complexity import weakest_links
from shared.tree.model import Split, Tree
from shared.tree.reduced_error import (
    best_on_hold_out,
    errors_at,
    prune_by_hold_out,
    prune_unnamed_by_hold_out,
)

HoldOutMethod = Literal["reduced-error", "cost-complexity"]
NAMED: Final = (
    "The tree of a secret mode keeps no training counts: new leaves are of the most frequent class of these records, "
    "and branches that none of them reached stay."
)
WARNING: Final = (
    "Pruned by these very records, so its errors on them are fewer than on new ones: judge it on others."
)


@dataclass(frozen=True, slots=True)
class PrunedModel:
    """`model`: with the pruned tree in place of the grown one. Errors: of each on the hold-out records.

    `alpha`: of cost-complexity, from which on the tree is the best one. `names_leaves`: whether new leaves are of the
    hold-out records' most frequent class, as the grown tree keeps none at its splits.
    """

    model: Model
    grown: Tree = field(repr=False)
    records: int
    errors_before: int
    errors_after: int
    alpha: Fraction | None = None
    names_leaves: bool = False


def prune_model(model: Model, evaluation: TallyResult, method: HoldOutMethod) -> PrunedModel:
    """The tree of a model, pruned by an evaluation of it.

    Raises: InputError: of another model, of records that it was grown on, with answers that no place gave; or of a tree
        whose splits keep no majority, by cost-complexity.
    """
    ends = _ends(model, evaluation)
    tree, alpha = model.shown_tree, None
    names_leaves = any(isinstance(node, Split) and node.majority is None for node in tree.nodes())
    if names_leaves:
        pruned = _unnamed(model, ends, method)
    elif method == "reduced-error":
        pruned = prune_by_hold_out(tree, ends)
    else:
        best = best_on_hold_out(tree, ends, weakest_links(tree, "errors", rules_of(model.manifest).weighed))
        pruned, alpha = best.tree, best.alpha
    return PrunedModel(
        replace(model, tree=pruned),
        tree,
        evaluation.records,
        errors_at(tree, ends, tree),
        errors_at(tree, ends, pruned),
        alpha,
        names_leaves,
    )


def _unnamed(model: Model, ends: Sequence[Sequence[int]], method: HoldOutMethod) -> Tree:
    """The pruned tree of a secret mode, whose training counts nobody has."""
    if method != "reduced-error":
        raise InputError(
            f"{method} weighs training errors, and the secret modes open the training counts to nobody",
            where=f"model {model.id}",
            remedy="Prune it by --method reduced-error.",
        )
    return prune_unnamed_by_hold_out(model.shown_tree, ends)


def _ends(model: Model, evaluation: TallyResult) -> Sequence[Sequence[int]]:
    asked, where = evaluation.manifest.tally, f"evaluation {evaluation.job}"
    if asked is None or asked.kind != "evaluation" or asked.tree_sha256 != model.tree_sha256:
        raise InputError(
            "it is not an evaluation of this model",
            where=where,
            remedy="See `privet agent evaluation DIR` for the jobs here and their trees.",
        )
    on = judged_on(
        model.manifest.selection,
        evaluation.manifest.selection,
        frozenset(model.hospitals),
        frozenset(evaluation.proof.hospitals),
    )
    if on != "held-out":
        raise InputError(
            "it counted records that the tree was grown on; pruning by them would keep what fits their chance",
            where=where,
            remedy="Grow the tree with records held out (--hold-out), and evaluate it on those.",
        )
    if evaluation.votes(model) is not None:
        raise InputError(
            "records without a value were answered by several branches together, so no place has their counts",
            where=where,
            remedy="Prune while the tree grows: privet cloud job create --prune pessimistic.",
        )
    return list(evaluation.places(model.shown_tree).values())
