"""A demo with differential privacy: how the hospitals' noisy tree does beside the exact one, on the same records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from privet.demo.dealing import DemoRecords


@dataclass(frozen=True, slots=True)
class NoiseComparison:
    """`epsilon`: what the job tells of one record at most, beside `delta`; `meaning`: sentences on it.

    `same`: records that both trees give one class. `right`, `right_exact`: records whose own class the noisy and the
    exact tree give. `majority`: records of the most frequent class, which is what a tree without questions gets right.
    """

    sigma: str
    epsilon: str
    delta: str
    meaning: tuple[str, ...]
    records: int
    same: int
    right: int
    right_exact: int
    majority: int

    @classmethod
    def of(
        cls,
        told: Mapping[str, Any],
        sigma: str,
        noisy: Mapping[str, Any],
        exact: Mapping[str, Any],
        records: DemoRecords,
    ) -> NoiseComparison:
        """Both trees, as reference forms, over all records. Args: told: what the cloud says of the job's noise."""
        labels = [records.schema.classes[row[-1]] for row in records.rows]
        answers = classify(noisy, records)
        expected = classify(exact, records)
        return cls(
            sigma,
            str(told["epsilon_at_most"]),
            str(told["delta"]),
            tuple(told["meaning"]),
            len(labels),
            _agreeing(answers, expected),
            _agreeing(answers, labels),
            _agreeing(expected, labels),
            max(map(labels.count, records.schema.classes)),
        )

    def document(self) -> dict[str, Any]:
        """The part of `--json`."""
        return {
            "sigma": self.sigma,
            "epsilon_at_most": self.epsilon,
            "delta": self.delta,
            "records": self.records,
            "same_class_as_exact_tree": self.same,
            "right": self.right,
            "right_exact_tree": self.right_exact,
            "right_majority_class": self.majority,
        }

    def lines(self) -> list[str]:
        """For a person: what was compared, then what the noise means."""
        return [
            f"same class as the tree without noise    {self._share(self.same)}",
            f"right by the noisy tree                 {self._share(self.right)}",
            f"right by the tree without noise         {self._share(self.right_exact)}",
            f"right by the most frequent class        {self._share(self.majority)}",
            "",
            *self.meaning,
        ]

    def _share(self, count: int) -> str:
        return f"{count} of {self.records} records"


def classify(form: Mapping[str, Any], records: DemoRecords) -> list[str]:
    """The class of each record by a tree in its reference form."""
    places = {attribute.name: place for place, attribute in enumerate(records.schema.attributes)}
    found = []
    for row in records.rows:
        node = form
        while "leaf" not in node:
            place = places[node["attribute"]]
            node = node["branches"][records.schema.attributes[place].values[row[place]]]
        found.append(str(node["leaf"]))
    return found


def _agreeing(left: Sequence[str], right: Sequence[str]) -> int:
    return sum(a == b for a, b in zip(left, right, strict=True))
