"""All records down the tree at once: an exported tree as arrays, a step of every record per level."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from privet.column_codes import Codes, column_codes
from privet.study_reading import readers_of
from shared.export.compiled import Question, coding_of, question_of
from shared.export.subject import Place, Subject
from shared.export.votes import IN_PARTS, vote

Places = NDArray[np.int64]
"""The place of the answer, by row."""

_KINDS: Final = {"each": 0, "up_to": 1, "equals": 2}
_LEAF: Final = -1


class TreeWalk:
    """An exported tree that is ready to be walked by many records.

    `labels`: class by place, -1 where the tree keeps none; `shares`: places by classes, None where they are not shown;
    `parents`: place by place, -1 at the root; `levels`: questions above a place.
    """

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self._readers = readers_of(subject)
        self._codings = [coding_of(subject, attribute) for attribute in subject.asked]
        column_of = {coding.attribute: column for column, coding in enumerate(self._codings)}
        self._column = np.full(len(subject.places), _LEAF, np.int64)
        self._kind = np.zeros(len(subject.places), np.int8)
        self._rank = np.zeros(len(subject.places), np.int64)
        self._offset = np.zeros(len(subject.places), np.int64)
        jumps: list[int] = []
        for place in subject.places:
            if place.attribute is None:
                continue
            column = column_of[place.attribute]
            question = question_of(place, self._codings[column])
            self._column[place.number] = column
            self._kind[place.number] = _KINDS[question.kind]
            self._rank[place.number] = question.rank
            self._offset[place.number] = len(jumps)
            jumps.extend(place.kids)
        self._jumps = np.array(jumps, np.int64)
        self._votes = np.array([place.votes for place in subject.places], bool)
        self.labels = np.array([_or_none(place.label) for place in subject.places], np.int64)
        self.parents = np.array([_or_none(place.parent) for place in subject.places], np.int64)
        self.levels = _levels(self.parents)
        shares = subject.distributions()
        self.shares = None if shares is None else np.array(shares, np.float64)

    def codes(self, columns: Sequence[Any]) -> list[Codes]:
        """The codes of the fields that the tree asks. Args: columns: of all attributes, in the schema's order.

        Raises: ValueError, TypeError: a value that no field can have.
        """
        attributes = self.subject.schema.attributes
        return [
            column_codes(
                columns[coding.attribute],
                attributes[coding.attribute],
                coding,
                self._readers[coding.attribute],
            )
            for coding in self._codings
        ]

    def places(self, codes: Sequence[Codes], rows: int) -> Places:
        """Where each of the rows ends: at a leaf, or at the split for which it has no usable value."""
        at = np.zeros(rows, np.int64)
        if not codes:
            return at
        table = np.stack(codes)
        walking = np.arange(rows)
        while walking.size:
            here = at[walking]
            column = self._column[here]
            code = table[column, walking].astype(
                np.int64
            )  # of leaves the last column, which is not looked at
            goes_on = (column != _LEAF) & (code >= 0)
            walking, here, code = walking[goes_on], here[goes_on], code[goes_on]
            rank, kind = self._rank[here], self._kind[here]
            branch = np.where(kind == 0, code, np.where(kind == 1, code > rank, code == rank))
            at[walking] = self._jumps[self._offset[here] + branch]
        return at

    def asked_at(self, place: int) -> str:
        """The name of the attribute that a place asks; empty at a leaf."""
        attribute = self.subject.places[place].attribute
        return "" if attribute is None else self.subject.schema.attributes[attribute].name

    def votes(self, codes: Sequence[Codes], places: Places) -> dict[int, tuple[Fraction, ...]]:
        """Of the rows whose answer is that of all branches of their place: the share of each class, by row."""
        if not self._votes.any():
            return {}
        table = np.stack(codes)
        rows = np.arange(len(places))
        parted = self._votes[places] & (table[self._column[places], rows] == IN_PARTS)
        found: dict[int, tuple[Fraction, ...]] = {}
        known: dict[tuple[int, ...], tuple[Fraction, ...]] = {}
        for row in np.flatnonzero(parted).tolist():
            key = tuple(table[:, row].tolist())
            if key not in known:
                known[key] = self._vote(int(places[row]), key)
            found[row] = known[key]
        return found

    def _vote(self, start: int, codes: tuple[int, ...]) -> tuple[Fraction, ...]:
        by_attribute = {coding.attribute: n for n, coding in enumerate(self._codings)}

        def question_at(place: Place) -> Question:
            return question_of(place, self._codings[by_attribute[place.attribute or 0]])

        return vote(self.subject, start, lambda attribute: codes[by_attribute[attribute]], question_at)

    def paths(self, places: Places) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The places that rows passed, their own included, row after row. Returns: ends of the rows, and the places."""
        lengths = self.levels[places] + 1
        ends = np.concatenate([[0], np.cumsum(lengths)])
        passed = np.empty(ends[-1], np.int64)
        here, slot = places.copy(), ends[1:] - 1
        rows = np.arange(len(places))
        while rows.size:
            passed[slot[rows]] = here[rows]
            here[rows] = self.parents[here[rows]]
            slot[rows] -= 1
            rows = rows[here[rows] >= 0]
        return ends, passed


def _or_none(value: int | None) -> int:
    return -1 if value is None else value


def _levels(parents: NDArray[np.int64]) -> NDArray[np.int64]:
    levels = np.zeros(len(parents), np.int64)
    for place in range(1, len(parents)):  # a parent stands before its kids
        levels[place] = levels[parents[place]] + 1
    return levels
