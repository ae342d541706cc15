"""What parties of a job can learn, as codes; their sentences are the tables `ledger.*` of `shared/texts/english.toml`.

The source is `docs/threat-model.md`, tables "Who learns what" and "What is opened". Sentences are for stewards and
ethics boards; they name no job and no hospital, so that every ledger reads alike.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from shared.texts import text


class Party(StrEnum):
    """Who learns something. The last ones before `AUTHORITY` are several parties who put together what each has."""

    CLOUD = "cloud"
    PEOPLE = "people"
    HOSPITAL = "hospital"
    COMPUTE_PARTY = "compute_party"
    RESULT_PARTY = "result_party"
    ASKER = "asker"
    HOSPITAL_AND_CLOUD = "hospital_and_cloud"
    ALL_BUT_ONE = "all_but_one"
    TWO_COMPUTE_PARTIES = "two_compute_parties"
    KEY_HOLDERS = "key_holders"
    AUTHORITY = "authority"


class Learned(StrEnum):
    """What is learned."""

    ROSTER = "roster"
    SNAPSHOT_HASHES = "snapshot_hashes"
    MESSAGE_SIZES = "message_sizes"
    ROUND_SIZES = "round_sizes"
    MASK_SEEDS = "mask_seeds"
    NONCES = "nonces"
    TREE_SHAPE = "tree_shape"
    TREE_HASH = "tree_hash"
    TREE_WITHOUT_COUNTS = "tree_without_counts"
    TREE_AS_IT_GROWS = "tree_as_it_grows"
    TREE = "tree"
    SUMS = "sums"
    NOISY_SUMS = "noisy_sums"
    MISSING_GROUPS = "missing_groups"
    INTERVALS = "intervals"
    EVALUATION = "evaluation"
    HISTOGRAM = "histogram"
    SEALED_CONTRIBUTIONS = "sealed_contributions"
    CLASSES = "classes"
    RECORD_NUMBERS = "record_numbers"
    PROGRESS = "progress"
    COMMITMENTS = "commitments"
    UNIFORM_SHARES = "uniform_shares"
    CHOICES = "choices"
    LEAF_CLASSES = "leaf_classes"
    EMPTINESS = "emptiness"
    PREDICTIONS = "predictions"
    COUNTS_OF_EACH = "counts_of_each"
    COUNTS_OF_LAST = "counts_of_last"
    NOISY_COUNTS_OF_LAST = "noisy_counts_of_last"
    COUNTS_OF_DROPPED = "counts_of_dropped"
    DIFFERENCE = "difference"
    EVERY_RECORD = "every_record"
    SHARED_TREE = "shared_tree"
    FIGURES_OF_EVALUATION = "figures_of_evaluation"
    FIGURES_OF_IMPORTANCE = "figures_of_importance"


class Condition(StrEnum):
    """When it is learned."""

    ALWAYS = "always"
    WHEN_DONE = "when_done"
    WHEN_PUBLISHED = "when_published"
    WHEN_ALIKE = "when_alike"
    WHEN_ASKED = "when_asked"
    IF_POOLED = "if_pooled"
    IF_TRAFFIC_IS_SEEN = "if_traffic_is_seen"
    IF_CLOUD_LIES = "if_cloud_lies"
    IF_KEYS_ARE_KEPT = "if_keys_are_kept"


CANNOT_BE_KNOWN: Final = ("working_together", "own_counting", "passing_on", "broken_into")
"""What no ledger and no log can say, by name."""


def party_in_words(party: Party) -> str:
    """Who learns something."""
    return text(f"ledger.party.{party.value}")


def learned_in_words(learned: Learned) -> str:
    """What is learned."""
    return text(f"ledger.learned.{learned.value}")


def condition_in_words(condition: Condition) -> str:
    """When it is learned."""
    return text(f"ledger.condition.{condition.value}")


def why_in_words(learned: Learned) -> str:
    """What it is told for."""
    return text(f"ledger.why.{learned.value}")


def amount_in_words(amount: int, unit: str) -> str:
    """How much of something. Args: unit: of an entry, in the plural."""
    return f"{amount} {text(f'ledger.unit.one_{unit}' if amount == 1 else f'ledger.unit.{unit}')}"


def unknown_in_words() -> list[str]:
    """What no ledger and no log can say, a sentence each without its mark."""
    return [text(f"ledger.cannot_be_known.{name}") for name in CANNOT_BE_KNOWN]
