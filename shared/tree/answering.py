"""A tree made ready to be asked thousands of times a second, and its answers as plain JSON.

Answers are those of `prediction.predict`. Whatever follows from the place where a walk ends (class, share, interval,
path, sentences) is worked out once and kept as text, so that a record costs no more than its walk. Only listed texts,
truth values and small whole numbers are remembered: nothing of a patient's record stays behind.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from shared.texts import text
from shared.tree.binary_tests import branch_names
from shared.tree.model import Node, Split, Tree
from shared.tree.prediction import (
    Disclosure,
    Prediction,
    StopReason,
    Value,
    answer_at,
    branch_of,
)
from shared.tree.schema import Schema

_SMALL: Final = 256
"""Whole numbers below this are remembered: codes such as 0 and 1, no measurement that could name a person."""
_MOST_KEPT: Final = 65_536

Step = tuple[int | None, StopReason, bool]
"""Where a value leads: the branch, or None and why; and whether the field was empty."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One record's answer, as JSON and as its text. `label`: the class."""

    label: str
    document: Mapping[str, Any] = field(repr=False)
    text: str = field(repr=False)


@dataclass(slots=True, eq=False)
class _Place:
    """A node made ready. `came`: from which place by which step; None at the root."""

    node: Node
    came: tuple[_Place, tuple[str, str]] | None
    attribute: str = ""
    kids: list[_Place] = field(default_factory=list)
    listed: dict[str, Step] = field(default_factory=dict)
    plain: dict[tuple[type, object], Step] = field(default_factory=dict)
    kept: dict[tuple[StopReason | None, tuple[str, ...]], Answer] = field(default_factory=dict)

    @property
    def steps(self) -> tuple[tuple[str, str], ...]:
        """(attribute, value) names on the way here."""
        found, place = [], self
        while place.came is not None:
            place, step = place.came
            found.append(step)
        return tuple(reversed(found))


@dataclass(slots=True)
class AnswerBook:
    """Answers of one tree. `is_noisy`: its counts carry noise, so that an interval would be too narrow."""

    tree: Tree
    schema: Schema
    disclosure: Disclosure
    is_noisy: bool = False
    _root: _Place = field(init=False, repr=False)
    _kept: int = field(default=0, init=False, repr=False)

    def __post_init__(self) -> None:
        """Make every node ready."""
        self._root = _Place(self.tree.root, None)
        for place in _places(self._root, self.schema):
            if isinstance(place.node, Split):
                described = self.schema.attributes[place.node.attribute]
                listed = (
                    () if described.is_numeric else described.values
                )  # a number is no name of an interval
                place.listed = {value: self._step(place.node, value) for value in listed}

    def answer(self, record: Mapping[str, Value]) -> Answer:
        """The answer for one record by attribute name. Raises: InputError: as `predict`."""
        place: _Place = self._root
        gaps: tuple[str, ...] = ()
        while place.kids:
            branch, reason, is_empty = self._look_up(place, record.get(place.attribute))
            if is_empty:
                gaps += (place.attribute,)
            if branch is None:
                return self._at(place, reason, gaps, record)
            place = place.kids[branch]
        return self._at(place, None, gaps, record)

    def _look_up(self, place: _Place, value: Value) -> Step:
        kind = value.__class__
        if kind is str:
            found = place.listed.get(value)  # type: ignore[arg-type]
            return self._step(place.node, value) if found is None else found
        if value is None or kind is bool or (kind is int and 0 <= value < _SMALL):  # type: ignore[operator]
            found = place.plain.get((kind, value))
            if found is None:
                found = place.plain[kind, value] = self._step(place.node, value)
            return found
        return self._step(place.node, value)

    def _step(self, node: Node, value: Value) -> Step:
        split = cast("Split", node)
        attribute = self.schema.attributes[split.attribute]
        is_empty = value is None or (isinstance(value, str) and not value.strip())
        return *branch_of(split, self.schema, {attribute.name: value}), is_empty

    def _at(
        self, place: _Place, reason: StopReason | None, gaps: tuple[str, ...], record: Mapping[str, Value]
    ) -> Answer:
        known = place.kept.get((reason, gaps))
        if known is not None:
            return known
        stop = None if reason is None else (place.attribute, reason)
        prediction = answer_at(place.node, place.steps, stop, self.schema, record, self.disclosure)
        document = answer_document(prediction, gaps, is_noisy=self.is_noisy)
        answer = Answer(prediction.label, document, json.dumps(document, ensure_ascii=False))
        # A vote depends on what the record says further down, so it belongs to no place.
        if prediction.parted_at is None and self._kept < _MOST_KEPT:
            place.kept[reason, gaps] = answer
            self._kept += 1
        return answer


def _places(root: _Place, schema: Schema) -> Iterator[_Place]:
    """All places, kids hung under their parents on the way."""
    pending = [root]
    while pending:
        place = pending.pop()
        if isinstance(place.node, Split):
            attribute = schema.attributes[place.node.attribute]
            place.attribute = attribute.name
            names = branch_names(attribute, place.node.test)
            place.kids = [
                _Place(kid, (place, (attribute.name, name)))
                for kid, name in zip(place.node.kids, names, strict=True)
            ]
            pending.extend(place.kids)
        yield place


def answer_document(
    prediction: Prediction, gaps: tuple[str, ...] = (), *, is_noisy: bool = False
) -> dict[str, Any]:
    """An answer as plain JSON. Args: gaps: attributes on the way whose field was empty."""
    # The interval knows only the chance of a sample, not that of the noise: for noisy counts it would be too narrow.
    interval = None if is_noisy else prediction.interval
    parted = {} if prediction.parted_at is None else {"parted_at": prediction.parted_at}
    return parted | {
        "class": prediction.label,
        "probability": prediction.probability,
        "interval_95": None if interval is None else list(interval),
        "counts": None if prediction.counts is None else dict(prediction.counts),
        "path": prediction.path,
        "steps": [{"attribute": attribute, "value": value} for attribute, value in prediction.steps],
        "explanation": _explanation(prediction, interval),
        "covered": prediction.stop_reason is None,
        "missing": [{"attribute": name, "treated": _treated(name, prediction)} for name in gaps],
        "stopped_at": prediction.stopped_at,
        "stop_reason": prediction.stop_reason,
        "note": prediction.note,
    }


def _treated(attribute: str, prediction: Prediction) -> str:
    """What became of an empty field: what the study declares, the majority where the walk ended, or every branch."""
    if attribute == prediction.stopped_at:
        return "majority"
    return "every-branch" if attribute == prediction.parted_at else "declared"


def _explanation(prediction: Prediction, interval: tuple[float, float] | None) -> str:
    """The answer in one or two sentences."""
    label, path = prediction.label, prediction.path
    told = [
        text("prediction.because", label=label, path=path)
        if prediction.steps
        else text("prediction.always", label=label)
    ]
    if prediction.note is not None:
        is_covered = prediction.stop_reason is None
        told.append(prediction.note if is_covered else text("prediction.not_covered", note=prediction.note))
    if prediction.probability is not None:
        told.append(_share(prediction, prediction.probability, interval))
    return " ".join(told)


def _share(prediction: Prediction, probability: float, interval: tuple[float, float] | None) -> str:
    of = "prediction.of_votes" if prediction.parted_at is not None else "prediction.of_records"
    between = ""
    if interval is not None:
        between = text("prediction.between", low=_percent(interval[0]), high=_percent(interval[1]))
    return text(of, share=_percent(probability), between=between)


def _percent(share: float) -> str:
    return text("prediction.percent", n=f"{100 * share:.0f}")
