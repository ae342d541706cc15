"""What a model is asked against what it was trained on: counters by attribute and value, no record kept.

How far each distribution is from the one of training is said in `gauges`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import pairwise
from typing import Any, Final, Self

from hospital_agent.models.gauges import CELL_FLOOR, FEWEST, SHIFTED, WATCH, Gauge, Source, worst
from hospital_agent.models.windows import KEPT_WEEKS, Mark, begin_of, week_of
from shared.errors import InputError
from shared.tree.binary_tests import AtMost
from shared.tree.model import Leaf, Split, Tree
from shared.tree.prediction import Value, value_code, value_number
from shared.tree.schema import Attribute, Schema

FIRST_WINDOW: Final = 500
"""Records that become the yardstick where the training's distribution is not known."""
TOLD_EVERY: Final = 20
"""Counts are told as they stood when at least so many more records had come, else who looks before and after a question
would read the patient off the difference. Who asks 19 of them himself still can: see the threat model."""

_SMALL: Final = 256
_EMPTY, _OTHER = "(empty)", "(another value)"


@dataclass(slots=True)
class Watch:
    """The counters of one model since a moment.

    `shown`: the step that is told. `weeks`: those that were told last before the weeks that are kept, oldest first.
    """

    since: int
    attributes: tuple[_Watched, ...] = field(repr=False)
    classes: Gauge
    records: int = 0
    shown: Mark | None = None
    weeks: list[Mark] = field(default_factory=list, repr=False)
    _week: int | None = None

    @classmethod
    def of(
        cls,
        schema: Schema,
        tree: Tree,
        since: int,
        histogram: Mapping[str, Sequence[int]],
        *,
        with_counts: bool,
    ) -> Self:
        """Args: histogram: records of all hospitals by attribute and value, where a job has counted them.

        with_counts: the study lets the counts of the tree be known.
        """
        thresholds: dict[int, set[Decimal]] = {}
        for node in tree.nodes():
            if isinstance(node, Split) and isinstance(node.test, AtMost):
                thresholds.setdefault(node.attribute, set()).add(node.test.threshold)
        watched = [
            _Watched.of(attribute, tuple(sorted(thresholds.get(place, ()))))
            for place, attribute in enumerate(schema.attributes)
            if attribute.fixed_point is None or place in thresholds
        ]
        classes = Gauge(schema.class_name, schema.classes, [0] * schema.class_count)
        if with_counts:
            _give_baseline(classes, _answered(tree, schema.class_count), "training")
        for entry in watched:
            known = histogram.get(entry.name)
            if known is not None and len(known) == len(entry.gauge.cells) - 2:
                _give_baseline(entry.gauge, [*known, 0, 0], "histogram")
            elif with_counts:
                _give_baseline(entry.gauge, _root_values(tree, schema, entry.attribute), "training")
        return cls(since, tuple(watched), classes)

    def count(self, record: Mapping[str, Value], label: int) -> None:
        """Count one record in the study's words, and the class that was answered."""
        self.records += 1
        self.classes.counts[label] += 1
        for entry in self.attributes:
            entry.gauge.counts[entry.place_of(record.get(entry.name))] += 1
        if self.records == FIRST_WINDOW:
            self._take_baseline()

    def _take_baseline(self) -> None:
        """Where training's distribution is not known, the first records stand in; counting then begins again."""
        gauges = [g for g in self.gauges if g.baseline is None]
        for gauge in gauges:
            gauge.baseline, gauge.source = [float(count) for count in gauge.counts], "first window"
            gauge.counts[:] = [0] * len(gauge.counts)
        if gauges:
            self.shown, self.weeks = None, []

    def advance(self, now: int) -> None:
        """After records were counted: a new step, if `TOLD_EVERY` more have come; a new week. Args: now: Unix seconds.

        By records and the clock alone: who looks, or starts the agent anew, cannot have a step when it suits him.
        """
        week = week_of(now)
        if self._week is not None and week > self._week and self.shown is not None:
            last = self.weeks[-1].records if self.weeks else 0
            if self.shown.records > last:
                self.weeks = [*self.weeks, replace(self.shown, moment=begin_of(week))][-KEPT_WEEKS:]
        self._week = week
        if self.records - (0 if self.shown is None else self.shown.records) >= TOLD_EVERY:
            self.shown = Mark(now, self.records, {g.name: tuple(g.counts) for g in self.gauges})

    @property
    def gauges(self) -> list[Gauge]:
        """The classes first, then the attributes."""
        return [self.classes, *(entry.gauge for entry in self.attributes)]

    def told(self, since: int | None = None) -> dict[str, Any]:
        """What people and programs are shown: how it stood at the last step; before the first no counts.

        Args: since: from the week of this moment on (Unix seconds), or the first one that is kept.
        """
        if self.shown is None:
            return _without_counts(self._document(self.since, self.records, self.gauges)) | {"over_time": []}
        begin = None if since is None else next((m for m in reversed(self.weeks) if m.moment <= since), None)
        marks = [None, *self.weeks, self.shown]
        periods = [self._period(a, b) for a, b in pairwise(marks) if b is not None]
        found = self._between(begin, self.shown)
        return found | {"over_time": [period for period in periods if period["records"]]}

    def _period(self, begin: Mark | None, end: Mark) -> dict[str, Any]:
        """A week, or what there was before the first, in short."""
        found = self._between(begin, end)
        gauges = [g for g in (found["classes"], *found["attributes"]) if g["psi"] is not None]
        furthest = max(gauges, key=lambda g: float(g["psi"]), default=None)
        return {
            "since": found["since"],
            "until": end.moment,
            "records": found["records"],
            "state": found["state"],
            "furthest": None if furthest is None else {"name": furthest["name"], "psi": furthest["psi"]},
        }

    def _between(self, begin: Mark | None, end: Mark) -> dict[str, Any]:
        gauges = [
            gauge.between(None if begin is None else begin.counts[gauge.name], end.counts[gauge.name])
            for gauge in self.gauges
        ]
        if begin is None:
            return self._document(self.since, end.records, gauges)
        return self._document(begin.moment, end.records - begin.records, gauges)

    def _document(self, since: int, records: int, gauges: Sequence[Gauge]) -> dict[str, Any]:
        """Args: gauges: in the order of the property."""
        classes, *attributes = [gauge.document() for gauge in gauges]
        return {
            "since": since,
            "records": records,
            "state": worst(gauge.state for gauge in gauges),
            "thresholds": {
                "watch": WATCH,
                "shifted": SHIFTED,
                "fewest_records": FEWEST,
                "cell_floor": CELL_FLOOR,
            },
            "classes": classes,
            "attributes": attributes,
        }

    def kept(self) -> dict[str, Any]:
        """What is written to disk."""
        gauges = {
            g.name: {"counts": g.counts, "baseline": g.baseline, "source": g.source} for g in self.gauges
        }
        return {
            "since": self.since,
            "records": self.records,
            "gauges": gauges,
            "shown": None if self.shown is None else self.shown.kept(),
            "weeks": [mark.kept() for mark in self.weeks],
            "week": self._week,
        }

    def restore(self, kept: Mapping[str, Any]) -> None:
        """Go on from what was written; what does not fit the model any more is left out."""
        self.since, self.records = int(kept["since"]), int(kept["records"])
        for gauge in self.gauges:
            known = kept["gauges"].get(gauge.name)
            if known is not None and len(known["counts"]) == len(gauge.counts):
                gauge.counts[:] = [int(count) for count in known["counts"]]
                if gauge.baseline is None and known["baseline"] is not None:
                    gauge.baseline, gauge.source = [float(b) for b in known["baseline"]], known["source"]
        sizes = {gauge.name: len(gauge.counts) for gauge in self.gauges}
        weeks = [Mark.of(mark, sizes) for mark in kept.get("weeks", ())]
        self.shown = Mark.of(kept.get("shown"), sizes)
        self.weeks = [mark for mark in weeks if mark is not None]
        self._week = kept.get("week")


@dataclass(slots=True)
class _Watched:
    """One attribute: where its values are counted. Listed texts and small codes are looked up."""

    attribute: Attribute
    name: str
    points: tuple[Decimal, ...] | None
    gauge: Gauge
    listed: dict[str, int] = field(repr=False)
    plain: dict[tuple[type, object], int] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, attribute: Attribute, points: tuple[Decimal, ...]) -> Self:
        is_number = attribute.fixed_point is not None
        names = _between(points) if is_number else attribute.values
        gauge = Gauge(attribute.name, (*names, _EMPTY, _OTHER), [0] * (len(names) + 2))
        listed = (
            {} if attribute.is_numeric else {value: place for place, value in enumerate(attribute.values)}
        )
        return cls(attribute, attribute.name, points if is_number else None, gauge, listed)

    def place_of(self, value: Value) -> int:
        """The cell of a value; of what cannot be read, that for other values."""
        kind = value.__class__
        if kind is str:
            found = self.listed.get(value)  # type: ignore[arg-type]
            return self._read(value) if found is None else found
        if value is None or kind is bool or (kind is int and 0 <= value < _SMALL):  # type: ignore[operator]
            found = self.plain.get((kind, value))
            if found is None:
                found = self.plain[kind, value] = self._read(value)
            return found
        return self._read(value)

    def _read(self, value: Value) -> int:
        empty, other = len(self.gauge.cells) - 2, len(self.gauge.cells) - 1
        if value is None or (isinstance(value, str) and not value.strip()):
            return empty
        try:
            if self.points is None:
                code, _ = value_code(self.attribute, value)
                return other if code is None or code >= empty else code
            number = value_number(self.attribute, value)
        except InputError:
            return other
        return empty if number is None else bisect_left(self.points, number)


def _without_counts(document: dict[str, Any]) -> dict[str, Any]:
    def bare(gauge: dict[str, Any]) -> dict[str, Any]:
        cells = [cell | {"records": None} for cell in gauge["cells"]]
        return gauge | {"psi": None, "psi_by_chance": None, "cells": cells}

    return document | {
        "classes": bare(document["classes"]),
        "attributes": [bare(gauge) for gauge in document["attributes"]],
    }


def _give_baseline(gauge: Gauge, known: Sequence[float] | None, source: Source) -> None:
    if known is not None and sum(known) > 0:
        gauge.baseline, gauge.source = [max(0.0, float(count)) for count in known], source


def _between(points: Sequence[Decimal]) -> tuple[str, ...]:
    bounds = [format(point, "f") for point in points]
    middle = (f"> {low} to {high}" for low, high in pairwise(bounds))
    return (f"<= {bounds[0]}", *middle, f"> {bounds[-1]}") if bounds else ("any",)


def _answered(tree: Tree, classes: int) -> list[float] | None:
    """Training records by the class that the tree answers them; None where its leaves have no counts."""
    found = [0.0] * classes
    for node in tree.nodes():
        if isinstance(node, Leaf):
            if node.weights is None:
                return None
            found[node.label] += float(sum(node.weights))
    return found


def _root_values(tree: Tree, schema: Schema, attribute: Attribute) -> list[float] | None:
    """Training records by cell of the attribute that the tree asks first; None of every other one."""
    root = tree.root
    if not isinstance(root, Split) or root.test is not None or schema.attributes[root.attribute] != attribute:
        return None
    weights = [kid.weights for kid in root.kids]
    if any(weight is None for weight in weights) or len(weights) != len(attribute.values):
        return None
    return [*(float(sum(weight or ())) for weight in weights), 0.0, 0.0]
