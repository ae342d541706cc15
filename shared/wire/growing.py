"""The block `pruning` of a manifest: how the grown tree is cut back, by counts that its members have already."""

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


_SHARE: Final = "share: expected above 0 and at most 1"
_CONFIDENCE: Final = "confidence: expected above 0 and at most 0.5"
