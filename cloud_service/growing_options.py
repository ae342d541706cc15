"""Options of `privet cloud job create` about growing a good tree: least gain, class weights, thresholds, pruning."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from shared.errors import InputError

if TYPE_CHECKING:
    from shared.wire.growing import PruningSpec


class ThresholdsName(StrEnum):
    """How ordered attributes are split in two in mode ppsdt."""

    GAIN = "gain"
    GAIN_MDL = "gain-mdl"


class PruningName(StrEnum):
    """How the grown tree is cut back."""

    MAJORITY = "majority"
    COLLAPSE = "collapse"
    PESSIMISTIC = "pessimistic"
    COST_COMPLEXITY = "cost-complexity"


class BoundName(StrEnum):
    """How pessimistic pruning reckons errors at worst."""

    C45 = "c45"
    BINOMIAL = "binomial"


class CostName(StrEnum):
    """What cost-complexity pruning weighs against leaves."""

    ERRORS = "errors"
    GINI = "gini"


MinGain = Annotated[
    str | None,
    typer.Option(metavar="BITS", help="Least information gain of a split, such as 0.01."),
]
ClassWeight = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LABEL=N",
        help="Modes ppsdt and id3: records of this class count N times in gains and majorities (repeatable); others "
        "once.",
    ),
]
Thresholds = Annotated[
    ThresholdsName | None,
    typer.Option(
        help="Mode ppsdt: split attributes with cut points or an order in two (<= t, > t) where the information gain "
        "is greatest, with C4.5's least numbers of records. gain-mdl: less the cost of choosing among many places."
    ),
]
Prune = Annotated[
    PruningName | None,
    typer.Option(
        help="Cut back the grown tree, by what is known already. majority: stop where one class has --prune-share of "
        "the records; collapse: subtrees that save no error (modes id3 and gain-ratio: whose leaves are of one class). "
        "Mode ppsdt only: pessimistic: also those that save none at worst (C4.5); cost-complexity: those not worth "
        "their leaves."
    ),
]
PruneConfidence = Annotated[
    str | None, typer.Option(metavar="NUMBER", help="pessimistic: 0.25; smaller prunes more.")
]
PruneBound = Annotated[
    BoundName | None, typer.Option(help="pessimistic: as C4.5 reckons (c45), or the exact binomial limit.")
]
PruneAlpha = Annotated[
    str | None,
    typer.Option(metavar="NUMBER", help="cost-complexity: what a leaf costs, as a share of all records."),
]
PruneShare = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER", help="majority: the share of its most frequent class that makes a node a leaf."
    ),
]
PruneCost = Annotated[CostName | None, typer.Option(help="cost-complexity: errors, or Gini impurity.")]


def least_gain(text: str | None) -> str | None:
    """The least gain as it is typed. Raises: InputError: no such number."""
    return _number(text, "--min-gain")


def class_weights(words: Sequence[str]) -> dict[str, int] | None:
    """Weights by label. Raises: InputError: another form, or a label twice."""
    weights: dict[str, int] = {}
    for word in words:
        label, equals, number = word.rpartition("=")
        if not equals or label in weights or not (number.isascii() and number.isdecimal()):
            raise InputError(
                "expected LABEL=N with a whole number, once for each class",
                where="--class-weight",
                remedy='For example: --class-weight "yes=5".',
            )
        weights[label] = int(number)
    return weights or None


def pruning(
    prune: PruningName | None,
    confidence: str | None,
    bound: BoundName | None,
    alpha: str | None,
    cost: CostName | None,
    share: str | None = None,
) -> PruningSpec | None:
    """The manifest's block. Raises: InputError: options that do not belong together, or no number."""
    from pydantic import ValidationError

    from shared.wire.base import describe
    from shared.wire.growing import PruningSpec

    details = (confidence, bound, alpha, cost, share)
    if prune is None:
        if any(detail is not None for detail in details):
            raise InputError(
                "say how to prune, too", where="--prune", remedy="Add --prune pessimistic, or another."
            )
        return None
    try:
        return PruningSpec(
            method=prune.value,
            confidence=_number(confidence, "--prune-confidence"),
            bound=None if bound is None else bound.value,
            alpha=_number(alpha, "--prune-alpha"),
            cost=None if cost is None else cost.value,
            share=_number(share, "--prune-share"),
        )
    except ValidationError as error:
        raise InputError(
            describe(error), where="--prune", remedy="Change or leave out its options."
        ) from None


def _number(text: str | None, option: str) -> str | None:
    from shared.wire.growing import SHARE_PATTERN

    if text is None or re.fullmatch(SHARE_PATTERN, text):
        return text
    raise InputError(
        f"expected a number from 0 on, with a point and at most nine digits behind it, got {text!r}",
        where=option,
        remedy=f"For example: {option} 0.25.",
    )
