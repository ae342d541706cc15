"""How far one distribution is from what it was at training, and how much of it is told.

The yardstick is the population stability index of each attribute: the sum over its values of (p - q) ln(p / q), p the
share now and q the share at training. As a rule of thumb of credit scoring, below 0.1 nothing happened, from 0.25 on
the population is another one. By chance alone an index of (k - 1)(1/n + 1/m) is to be expected, with k values, n
records now and m at training; it is taken off before a word is chosen.

Sources: N. Siddiqi, Credit Risk Scorecards (2006), chapter 8; B. Yurdakul and J. Naranjo, Statistical properties of the
population stability index, Journal of Risk Model Validation 14 (2020).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

WATCH: Final = 0.1
SHIFTED: Final = 0.25
FEWEST: Final = 100
"""Records below which no word is chosen."""
CELL_FLOOR: Final = 5
"""Cells with fewer records than this are not told, and never one cell alone, which would follow from the total."""

State = Literal["stable", "watch", "shifted", "too few records", "gathering a baseline"]
STATES: Final[tuple[State, ...]] = ("shifted", "watch", "stable", "too few records", "gathering a baseline")
"""From the one that needs a person most to the one that says least."""
Source = Literal["training", "histogram", "first window"]


@dataclass(slots=True)
class Gauge:
    """One distribution: of an attribute's values (with cells for empty fields and for other values), or of classes."""

    name: str
    cells: tuple[str, ...]
    counts: list[int]
    baseline: list[float] | None = None
    source: Source = "first window"

    def document(self) -> dict[str, Any]:
        """Shares and the index, small cells not told."""
        told = _told(self.counts)
        index, chance = self._without(told).index
        return {
            "name": self.name,
            "state": self.state,
            "psi": None if index is None else round(index, 3),
            "psi_by_chance": None if chance is None else round(chance, 3),
            "baseline": self.source if self.baseline is not None else None,
            "records": sum(self.counts),
            "cells": [
                {
                    "value": cell,
                    "records": count,
                    "share_at_baseline": share,
                }
                for cell, count, share in zip(self.cells, told, self._shares(), strict=True)
            ],
        }

    def _shares(self) -> list[float | None]:
        """At the baseline; own records that stand for it have small cells too."""
        known = self.baseline
        if known is None:
            return [None] * len(self.cells)
        whole, own = sum(known) or 1.0, self.source == "first window"
        told = _told([round(count) for count in known]) if own else known
        return [None if count is None else round(count / whole, 4) for count in told]

    def _without(self, told: Sequence[int | None]) -> Gauge:
        """The cells that are not told as one, so that the index tells no more than they do; nothing without others."""
        shares = self._shares()
        shown = [place for place, count in enumerate(told) if count is not None and shares[place] is not None]
        if self.baseline is None or not shown:
            return replace(self, counts=[], baseline=None)
        hidden = [place for place in range(len(told)) if place not in shown]
        counts = [*(self.counts[place] for place in shown), sum(self.counts[place] for place in hidden)]
        baseline = [*(self.baseline[place] for place in shown), sum(self.baseline[place] for place in hidden)]
        return replace(self, counts=counts, baseline=baseline)

    def between(self, begin: Sequence[int] | None, end: Sequence[int]) -> Gauge:
        """The same of the records from one moment to another."""
        return replace(self, counts=[b - a for a, b in zip(begin or [0] * len(end), end, strict=True)])

    @property
    def index(self) -> tuple[float | None, float | None]:
        """The population stability index, and what chance alone would give."""
        if self.baseline is None or not any(self.baseline) or not any(self.counts):
            return None, None
        used = [(c, b) for c, b in zip(self.counts, self.baseline, strict=True) if c or b]
        now, then = sum(c for c, _ in used), sum(b for _, b in used)
        half, cells = 0.5, len(used)  # half a record in every cell, so that an empty one makes no infinity
        index = 0.0
        for count, known in used:
            p, q = (count + half) / (now + half * cells), (known + half) / (then + half * cells)
            index += (p - q) * math.log(p / q)
        return index, (cells - 1) * (1 / now + 1 / then)

    @property
    def state(self) -> State:
        """What to make of it."""
        index, chance = self.index
        if self.baseline is None:
            return "gathering a baseline"
        if index is None or chance is None or sum(self.counts) < FEWEST:
            return "too few records"
        excess = index - chance
        return "stable" if excess < WATCH else "watch" if excess < SHIFTED else "shifted"


def worst(states: Iterable[State]) -> State:
    """The word for a whole model."""
    found = set(states)
    return next((state for state in STATES if state in found), "too few records")


def _told(counts: Sequence[int]) -> list[int | None]:
    """Counts by cell, None where one is not told: none at all and few look alike, so that no rare value stands out."""
    if not any(counts):
        return list(counts)
    rising = sorted(range(len(counts)), key=lambda place: counts[place])
    small = sum(count < CELL_FLOOR for count in counts)
    hidden = {*rising[: 2 if small == 1 else small]}
    return [None if place in hidden else count for place, count in enumerate(counts)]
