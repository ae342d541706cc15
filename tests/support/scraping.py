"""What `/metrics` shows, read as Prometheus reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families


@dataclass(frozen=True)
class Scrape:
    """One answer. `kinds`: type by family. `labels`: names of labels by family, `le` of histograms left out."""

    values: Mapping[tuple[str, frozenset[tuple[str, str]]], float]
    kinds: Mapping[str, str]
    labels: Mapping[str, frozenset[str]]

    def value(self, sample: str, **labels: str) -> float:
        """A sample's value; 0 where there is none."""
        return self.values.get((sample, frozenset(labels.items())), 0.0)

    def label_values(self, family: str) -> set[str]:
        """Every value of a label of samples whose name begins so."""
        return {v for (name, pairs) in self.values if name.startswith(family) for k, v in pairs if k != "le"}


def read_scrape(text: str) -> Scrape:
    """Parse Prometheus' text format."""
    families = list(text_string_to_metric_families(text))
    values = {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }
    labels = {
        family.name: frozenset(name for sample in family.samples for name in sample.labels) - {"le"}
        for family in families
    }
    return Scrape(values, {family.name: family.type for family in families}, labels)
