"""The block `pruning` of a manifest: how the grown tree is cut back, by what its members know already."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Final, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from shared.wire.base import WireModel, is_absent

MAX_CLASS_WEIGHT: Final = 1000
SHARE_PATTERN: Final = r"^(0|[1-9][0-9]{0,2})(\.[0-9]{1,9})?$"
Share = Annotated[str, StringConstraints(pattern=SHARE_PATTERN)]
"""A decimal number that is not negative, as text, with at most nine digits behind the point."""

Method = Literal["majority", "collapse", "pessimistic", "cost-complexity"]
Bound = Literal["c45", "binomial"]
Cost = Literal["errors", "gini"]


class PruningSpec(WireModel):
    """How the grown tree is pruned.

    Modes id3 and gain-ratio have majority, and collapse, there of subtrees whose leaves are all of one class.
    `confidence`, `bound`: of pessimistic, 0.25 and c45 where they are absent. `alpha`, `cost`: of cost-complexity,
    which names its alpha; the cost is errors where it is absent. `share`: of majority, which names it.
    """

    method: Method
    confidence: Annotated[Share | None, Field(exclude_if=is_absent)] = None
    bound: Annotated[Bound | None, Field(exclude_if=is_absent)] = None
    alpha: Annotated[Share | None, Field(exclude_if=is_absent)] = None
    cost: Annotated[Cost | None, Field(exclude_if=is_absent)] = None
    share: Annotated[Share | None, Field(exclude_if=is_absent)] = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        pessimistic, priced = self.method == "pessimistic", self.method == "cost-complexity"
        wrong = [
            (
                not pessimistic and (self.confidence, self.bound) != (None, None),
                "confidence and bound are of pessimistic",
            ),
            (
                self.confidence is not None and not 0 < Fraction(self.confidence) <= Fraction(1, 2),
                _CONFIDENCE,
            ),
            (priced != (self.alpha is not None), "alpha: it belongs to cost-complexity, and that needs it"),
            (not priced and self.cost is not None, "cost is of cost-complexity"),
            (
                (self.method == "majority") != (self.share is not None),
                "share: it belongs to majority, and that needs it",
            ),
            (self.share is not None and not 0 < Fraction(self.share) <= 1, _SHARE),
        ]
        reason = next((text for broken, text in wrong if broken), None)
        if reason is not None:
            raise ValueError(reason)
        return self


def secret_growing_fault(
    profile: str, *, trains: bool, opens: bool, weighs: bool, bounds: bool, pruning: PruningSpec | None
) -> str | None:
    """Why a secret job cannot have its rules of growth; None where it can.

    Args: profile: secret-id3 or secret-gainratio. trains: it grows a tree, which `opens` in the end to somebody.
        weighs, bounds: it names class weights, or a least gain.
    """
    method = None if pruning is None else pruning.method
    first = "min_gain" if bounds else "class_weights" if weighs else "pruning"
    wrong = [
        (not trains, f"{first}: a job that asks a tree grows none"),
        (
            weighs and profile != "secret-id3",
            f"class_weights: {_NO_WEIGHTS}",
        ),
        (
            method not in (None, *_WITHOUT_COUNTS),
            f"pruning: {method} {_NO_ERRORS}",
        ),
        (
            method == "collapse" and not opens,
            "pruning: collapse joins leaves of an opened tree, and this one stays shared; its answers are the same",
        ),
    ]
    asked = weighs or bounds or pruning is not None
    return next((text for broken, text in wrong if asked and broken), None)


_NO_WEIGHTS: Final = (
    "mode gain-ratio compares attributes where equally many records are on either side, which weighed records are not; "
    "leave them out, or choose mode id3"
)
_NO_ERRORS: Final = (
    "needs the errors of leaves, which secret modes open to nobody; choose majority or collapse, or prune the opened "
    "tree by held-out records (privet agent prune)"
)
_WITHOUT_COUNTS: Final = ("majority", "collapse")
_SHARE: Final = "share: expected above 0 and at most 1"
_CONFIDENCE: Final = "confidence: expected above 0 and at most 0.5"
