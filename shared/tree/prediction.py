"""Answering for one record: the class, how sure it is, the path in words, and what was missing.

A record names its attributes; values come as text, numbers (decimals where every digit matters), booleans or None.
A category that the schema does not list, or a value that is not there, ends the walk at that node, whose majority
answers; the answer says so. Where the attribute's missing values are fractional and the tree has counts, a record
without a value goes on down every branch instead, and they vote (`voting`). A number that cannot be one is an error,
because guessing at it would hide a fault in the caller. A number meets a threshold exactly, as decimals; floats are
for people, and nothing is decided by them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from itertools import starmap
from typing import Final, Literal

from shared.errors import InputError
from shared.texts import text
from shared.tree.binary_tests import AtMost, BinaryTest, branch_names, goes_right
from shared.tree.model import Node, Split, Tree, shown_number
from shared.tree.numbers import UnknownValueError, parse_number
from shared.tree.schema import Attribute, Schema
from shared.tree.voting import can_vote, distribution, winner

Disclosure = Literal["class", "probability", "counts"]
Value = str | int | float | Decimal | None
StopReason = Literal["missing", "unseen"]

Z_95: Final = 1.959963984540054
"""The normal quantile of a two-sided 95 % interval."""

_SIGNS: Final = ("<= ", "> ", "= ", "!= ")
TRUE_NAMES: Final = ("true", "True", "TRUE", "yes", "Yes", "YES", "y", "1")
FALSE_NAMES: Final = ("false", "False", "FALSE", "no", "No", "NO", "n", "0")
"""How a truth value of a program may be listed, the first that is."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """The answer for one record.

    `steps`: (attribute, value) names walked. `stopped_at` and `stop_reason`: the attribute without a usable
    value where the walk ended before a leaf, else None. `probability`: share of the label among the training
    records of the place reached, with its 95 % Wilson interval; both None where the study does not allow
    them, or where no training record was. `counts`: training records per class there, where allowed.
    `parted_at`: the attribute without a value where the walk went on down every branch, else None; `probability` is
    then the label's share of their vote, and there are no interval and no counts, since no one place was reached.
    """

    label: str
    steps: tuple[tuple[str, str], ...]
    stopped_at: str | None = None
    stop_reason: StopReason | None = None
    probability: float | None = None
    interval: tuple[float, float] | None = None
    counts: Mapping[str, int | float] | None = field(default=None, repr=False)
    parted_at: str | None = None

    @property
    def path(self) -> str:
        """The path in words: `lumbar pain = yes and temperature > 37.5`; of an empty path, `any record`."""
        return text("prediction.and").join(starmap(_step, self.steps)) or text("prediction.any_record")

    @property
    def note(self) -> str | None:
        """What a reader must know about a walk that ended early or went in parts, as a sentence; None otherwise."""
        if self.parted_at is not None:
            return text("prediction.parted", attribute=self.parted_at)
        if self.stop_reason is None:
            return None
        return text(f"prediction.{self.stop_reason}", attribute=self.stopped_at)


def _step(attribute: str, value: str) -> str:
    # The name of an interval, and of a side of a test, begins with its own sign.
    return f"{attribute} {value}" if value.startswith(_SIGNS) else f"{attribute} = {value}"


def predict(
    tree: Tree, schema: Schema, record: Mapping[str, Value], disclosure: Disclosure = "class"
) -> Prediction:
    """Walk `record` (by attribute name) down the tree and answer as far as `disclosure` allows.

    Raises: InputError: a number is garbage, NaN or infinite; or the walk ends early in a tree that was kept
        without majorities.
    """
    node, steps, stop = _walk(tree.root, schema, record)
    return answer_at(node, steps, stop, schema, record, disclosure)


def answer_at(
    node: Node,
    steps: tuple[tuple[str, str], ...],
    stop: tuple[str, StopReason] | None,
    schema: Schema,
    record: Mapping[str, Value],
    disclosure: Disclosure,
) -> Prediction:
    """The answer where a walk ended. Args: stop: attribute without a usable value, and why; None at a leaf.

    Raises: InputError: as `predict`.
    """
    if stop is not None and isinstance(node, Split) and goes_in_parts(node, schema, record):
        votes = distribution(
            node,
            schema.class_count,
            lambda split: branch_of(split, schema, record)[0],
            lambda split: goes_in_parts(split, schema, record),
        )
        share = None if disclosure == "class" else float(max(votes))
        return Prediction(schema.classes[winner(votes)], steps, probability=share, parted_at=stop[0])
    stopped_at, reason = stop or (None, None)
    label = _label(node, stopped_at)
    weights = node.weights if disclosure != "class" else None
    probability, interval = _confidence(weights, label)
    counts = None if weights is None else map(shown_number, weights)
    return Prediction(
        schema.classes[label],
        steps,
        stopped_at,
        reason,
        probability,
        interval,
        dict(zip(schema.classes, counts, strict=True)) if counts and disclosure == "counts" else None,
    )


def wilson_interval(hits: float, total: float, z: float = Z_95) -> tuple[float, float]:
    """Wilson's score interval of a share `hits / total`, total > 0: (low, high), 0 to 1.

    Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference, Journal of
    the American Statistical Association 22 (1927).
    """
    share, shrink = hits / total, 1 + z * z / total
    middle = (share + z * z / (2 * total)) / shrink
    half = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total)) / shrink
    # Rounding may leave the two ends that are exact a hair away from them.
    low = 0.0 if hits == 0 else max(0.0, middle - half)
    return low, 1.0 if hits == total else min(1.0, middle + half)


def _walk(
    node: Node, schema: Schema, record: Mapping[str, Value]
) -> tuple[Node, tuple[tuple[str, str], ...], tuple[str, StopReason] | None]:
    steps: list[tuple[str, str]] = []
    while isinstance(node, Split):
        attribute = schema.attributes[node.attribute]
        branch, reason = branch_of(node, schema, record)
        if branch is None:
            return node, tuple(steps), (attribute.name, reason)
        steps.append((attribute.name, branch_names(attribute, node.test)[branch]))
        node = node.kids[branch]
    return node, tuple(steps), None


def branch_of(split: Split, schema: Schema, record: Mapping[str, Value]) -> tuple[int | None, StopReason]:
    """The subtree that the record goes down, or None, and why then; a fractional value for missing makes none.

    Raises: InputError: not a finite number where one is due.
    """
    attribute = schema.attributes[split.attribute]
    return _branch(attribute, split.test, record.get(attribute.name))


def goes_in_parts(split: Split, schema: Schema, record: Mapping[str, Value]) -> bool:
    """Whether a record that can go no further goes on down every branch."""
    is_fractional = schema.attributes[split.attribute].is_fractional
    branch, reason = branch_of(split, schema, record)
    return is_fractional and branch is None and reason == "missing" and can_vote(split)


def _branch(attribute: Attribute, test: BinaryTest | None, value: Value) -> tuple[int | None, StopReason]:
    """The subtree that the value leads to, or None; and why, if there is none. Raises: InputError: no number."""
    if isinstance(test, AtMost):
        number = value_number(attribute, value)
        return None if number is None else int(number > test.threshold), "missing"
    code, reason = value_code(attribute, value)
    if attribute.is_fractional and code == attribute.missing_code:
        return None, "missing"
    return code if test is None or code is None else int(goes_right(test, code)), reason


def value_number(attribute: Attribute, value: Value) -> Decimal | None:
    """The number that meets a threshold, in the training's range or not; of an empty field what the study declares.

    Returns: None where a field is empty and the study declares nothing. Raises: InputError: not a finite number.
    """
    given = _given(attribute, value)
    if given is None:
        return None if attribute.fixed_point is None else attribute.fixed_point.missing
    return parse_number(attribute.name, _number_text(attribute, given))


def value_code(attribute: Attribute, value: Value) -> tuple[int | None, StopReason]:
    """The index of a record's value among those listed, or None; and why, if there is none.

    Raises: InputError: not a finite number where one is due.
    """
    given = _given(attribute, value)
    if given is None:
        return attribute.missing_code, "missing"
    if attribute.is_numeric:
        return attribute.code_of(_number_text(attribute, given)), "unseen"
    return _category(attribute, given), "unseen"


def _given(attribute: Attribute, value: Value) -> str | int | float | Decimal | None:
    """The value, None where it is missing. Raises: InputError: NaN or infinity."""
    if isinstance(value, float | Decimal) and not math.isfinite(value):
        raise InputError("NaN and infinity are not values", where=f"attribute {attribute.name!r}")
    if isinstance(value, str) and not value.strip() and value not in attribute.values:
        return None
    return value


def _number_text(attribute: Attribute, value: str | int | float | Decimal) -> str:
    """A number's decimal text: of a float the shortest that gives it, which is what the caller wrote."""
    if isinstance(value, bool):
        raise InputError("expected a number, got true or false", where=f"attribute {attribute.name!r}")
    return str(value).strip()


def _category(attribute: Attribute, value: str | int | float | Decimal) -> int | None:
    """The index of a listed category: the text as it is, 1 for `1` or `1.0`, true for `true`, `yes`, `1`."""
    for spelling in _spellings(value):
        try:
            return attribute.code_of(spelling)
        except UnknownValueError:
            continue
    return None


def _spellings(value: str | int | float | Decimal) -> tuple[str, ...]:
    if isinstance(value, bool):
        return TRUE_NAMES if value else FALSE_NAMES
    if isinstance(value, float | Decimal) and value == int(value):
        return str(value), str(int(value))
    return str(value), f"{value}.0" if isinstance(value, int) else str(value)


def _label(node: Node, stopped_at: str | None) -> int:
    if not isinstance(node, Split):
        return node.label
    if node.majority is None:
        raise InputError(
            "no usable value, and this tree came without the counts that would stand in for it",
            where=f"attribute {stopped_at!r}",
            remedy="Give the attribute a value that the schema lists.",
        )
    return node.majority


def _confidence(
    weights: tuple[Fraction, ...] | None, label: int
) -> tuple[float | None, tuple[float, float] | None]:
    if weights is None or not any(weights):
        return None, None
    hits, total = weights[label], sum(weights, start=Fraction(0))
    # Whole numbers stay integers, so that nothing is rounded before the division.
    counts = (
        (int(hits), int(total)) if total.denominator == hits.denominator == 1 else (float(hits), float(total))
    )
    return counts[0] / counts[1], wilson_interval(*counts)
