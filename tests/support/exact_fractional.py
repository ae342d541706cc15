"""C4.5's fractional rows by rows: every record has a weight and walks down by itself. The oracle of fractional growth.

Weights are `Fraction`s, scores are compared with 90 digits, and nothing is shared with the product but the form of the
result. Source: J. R. Quinlan, C4.5: Programs for Machine Learning (1993), sections 3.1 to 3.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

DIGITS = 90
TIE = Decimal(1).scaleb(-60)

Row = Sequence[int]
Weighted = list[tuple[Fraction, Row]]


@dataclass(frozen=True, slots=True)
class Setting:
    """Branches per attribute, which of them are fractional (their code for missing is the number of branches), classes,
    and the rules of growth."""

    branches: tuple[int, ...]
    fractional: frozenset[int]
    classes: int
    criterion: str = "information-gain"
    min_node: int = 1
    min_child: int = 1
    max_depth: int | None = None
    split_on_zero_gain: bool = False
    class_weights: tuple[int, ...] | None = None
    min_gain: Fraction = Fraction(0)


def whole(rows: Sequence[Row]) -> Weighted:
    """Every record with weight 1."""
    return [(Fraction(1), row) for row in rows]


def is_missing(row: Row, attribute: int, setting: Setting) -> bool:
    """Whether a record lacks a fractional attribute."""
    return attribute in setting.fractional and row[attribute] == setting.branches[attribute]


def parted(records: Weighted, attribute: int, setting: Setting) -> list[Weighted]:
    """What goes down each branch: records with the value whole, the others in parts as the known ones are spread."""
    known = [(w, row) for w, row in records if not is_missing(row, attribute, setting)]
    total = sum((w for w, _ in known), start=Fraction(0))
    kids: list[Weighted] = []
    for value in range(setting.branches[attribute]):
        kid = [(w, row) for w, row in known if row[attribute] == value]
        share = sum((w for w, _ in kid), start=Fraction(0)) / total
        if share:
            kid += [(w * share, row) for w, row in records if is_missing(row, attribute, setting)]
        kids.append(kid)
    return kids


def totals(records: Weighted, setting: Setting) -> list[Fraction]:
    """Weight per class."""
    found = [Fraction(0)] * setting.classes
    for weight, row in records:
        found[row[-1]] += weight
    return found


def faults(tree: dict[str, Any], rows: Sequence[Row], setting: Setting) -> list[str]:
    """What is wrong with a tree (`Tree.to_json` with counts) grown on these rows; empty when nothing is.

    Of attributes tied to 60 digits any may have been chosen.
    """

    def visit(node: dict[str, Any], records: Weighted, above: int, used: tuple[int, ...]) -> list[str]:
        sums = totals(records, setting)
        where = f"at {used}"
        if _weights_of(node) != sums:
            return [f"{where}: weights {_weights_of(node)}, expected {sums}"]
        label = _label(sums, above, setting)
        best = _best(records, used, setting, counted)
        if not best:
            return [] if node.get("leaf") == label else [f"{where}: a leaf of class {label} is expected"]
        if node.get("attr") not in best:
            return [f"{where}: one of {best} is expected, not {node.get('attr')}"]
        if node["majority"] != label:
            return [f"{where}: majority {label} is expected"]
        kids = parted(records, node["attr"], setting)
        if len(kids) != len(node["kids"]):
            return [f"{where}: {len(kids)} branches are expected"]
        return [
            fault
            for kid, subtree in zip(kids, node["kids"], strict=True)
            for fault in visit(subtree, kid, label, (*used, node["attr"]))
        ]

    counted = _counted(rows, setting)
    return visit(tree, whole(rows), 0, ())


def vote(tree: dict[str, Any], row: Row, setting: Setting) -> list[Fraction]:
    """C4.5's class distribution for one record: leaves' distributions, as far as the record reaches them."""
    if "leaf" in tree:
        sums = _weights_of(tree)
        total = sum(sums, start=Fraction(0))
        if not total:
            return [Fraction(c == tree["leaf"]) for c in range(setting.classes)]
        return [weight / total for weight in sums]
    attribute = tree["attr"]
    if not is_missing(row, attribute, setting):
        return vote(tree["kids"][row[attribute]], row, setting)
    sizes = [sum(_weights_of(kid), start=Fraction(0)) for kid in tree["kids"]]
    whole_size = sum(sizes, start=Fraction(0))
    shares = [size / whole_size for size in sizes]
    votes = [vote(kid, row, setting) for kid in tree["kids"]]
    return [
        sum((share * each[c] for share, each in zip(shares, votes, strict=True)), start=Fraction(0))
        for c in range(setting.classes)
    ]


def _weights_of(node: dict[str, Any]) -> list[Fraction]:
    return [Fraction(weight) for weight in (node["weights"] if "weights" in node else node["counts"])]


def _label(sums: Sequence[Fraction], above: int, setting: Setting) -> int:
    if not any(sums):
        return above
    weighed = _weighed(sums, setting)
    return weighed.index(max(weighed))


def _weighed(sums: Sequence[Fraction], setting: Setting) -> list[Fraction]:
    return [s * w for s, w in zip(sums, setting.class_weights or [1] * setting.classes, strict=True)]


def _counted(rows: Sequence[Row], setting: Setting) -> list[int]:
    """Criterion c45: the attributes of fewer branches than three tenths of all records, or all if none has fewer."""
    records = sum(_weighed(totals(whole(rows), setting), setting))
    few = [a for a, branches in enumerate(setting.branches) if branches < Fraction(3, 10) * records]
    return few or list(range(len(setting.branches)))


def _competing(
    scores: dict[int, tuple[Decimal, bool]], gains: dict[int, Decimal], counted: list[int]
) -> dict[int, tuple[Decimal, bool]]:
    """Criterion c45: those of at least average gain, but for a thousandth of a bit."""
    averaged = [gains[a] for a in scores if a in counted]
    if not averaged:
        return {}
    with localcontext() as context:
        context.prec = DIGITS
        least = sum(averaged, Decimal(0)) / len(averaged) - Decimal(2).ln() / 1000
    return {a: score for a, score in scores.items() if gains[a] >= least}


def _best(records: Weighted, used: tuple[int, ...], setting: Setting, counted: list[int]) -> list[int]:
    sums = totals(records, setting)
    left = [a for a in range(len(setting.branches)) if a not in used]
    pure = sum(bool(s) for s in sums) <= 1
    if pure or sum(sums) < setting.min_node or not left or len(used) == setting.max_depth:
        return []
    scores: dict[int, tuple[Decimal, bool]] = {}
    for attribute in left:
        score = _score(records, attribute, setting)
        if score is not None:
            scores[attribute] = score
    if setting.criterion == "c45":
        by_gain = replace(setting, criterion="information-gain")
        gains = {a: found[0] for a in scores if (found := _score(records, a, by_gain)) is not None}
        scores = _competing(scores, gains, counted)
    if not scores:
        return []
    top = max(score for score, _ in scores.values())
    best = [attribute for attribute, (score, _) in scores.items() if top - score < TIE]
    if not setting.split_on_zero_gain and scores[best[0]][1]:
        return []
    gained = _score(records, best[0], replace(setting, criterion="information-gain"))
    with localcontext() as context:
        context.prec = DIGITS
        least = _decimal(setting.min_gain) * Decimal(2).ln()
    return [] if gained is not None and gained[0] < least else best


def _score(records: Weighted, attribute: int, setting: Setting) -> tuple[Decimal, bool] | None:
    """Gain or gain ratio, and whether the gain is exactly 0; None where the attribute may not be chosen."""
    known = [(w, row) for w, row in records if not is_missing(row, attribute, setting)]
    kids = [[(w, row) for w, row in known if row[attribute] == v] for v in range(setting.branches[attribute])]
    sizes = [sum((w for w, _ in kid), start=Fraction(0)) for kid in kids]
    if not known or any(0 < size < setting.min_child for size in sizes):
        return None
    rows = [_weighed(totals(kid, setting), setting) for kid in kids]
    columns = [sum(column, start=Fraction(0)) for column in zip(*rows, strict=True)]
    sizes = [sum(row, start=Fraction(0)) for row in rows]
    total = sum(sizes, start=Fraction(0))
    unknown = sum(_weighed(totals(records, setting), setting), start=Fraction(0)) - total
    zero = all(
        cell * total == size * column
        for row, size in zip(rows, sizes, strict=True)
        for cell, column in zip(row, columns, strict=True)
    )
    with localcontext() as context:
        context.prec = DIGITS
        share = _decimal(total / (total + unknown))
        after = sum(
            (_decimal(s / total) * _entropy(row) for s, row in zip(sizes, rows, strict=True) if s), Decimal(0)
        )
        gain = Decimal(0) if zero else share * (_entropy(columns) - after)
        if setting.criterion == "information-gain":
            return gain, zero
        if sum(bool(size) for size in sizes) < 2:
            return None
        return gain / _entropy([*sizes, unknown]), zero


def _entropy(parts: Sequence[Fraction]) -> Decimal:
    total = sum(parts, start=Fraction(0))
    shares = [_decimal(part / total) for part in parts if part]
    return -sum((share * share.ln() for share in shares), Decimal(0))


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)
