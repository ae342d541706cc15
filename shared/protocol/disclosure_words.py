"""What parties of a job can learn, as codes and as sentences: the one place where both stand.

The source is `docs/threat-model.md`, tables "Who learns what" and "What is opened". Sentences are for stewards and
ethics boards; they name no job and no hospital, so that every ledger reads alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


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


class Condition(StrEnum):
    """When it is learned."""

    ALWAYS = "always"
    WHEN_DONE = "when_done"
    WHEN_PUBLISHED = "when_published"
    WHEN_ASKED = "when_asked"
    IF_POOLED = "if_pooled"
    IF_TRAFFIC_IS_SEEN = "if_traffic_is_seen"
    IF_CLOUD_LIES = "if_cloud_lies"
    IF_KEYS_ARE_KEPT = "if_keys_are_kept"


PARTIES: Final[Mapping[Party, str]] = {
    Party.CLOUD: "the cloud and who runs it",
    Party.PEOPLE: "people whom the cloud lets look at results",
    Party.HOSPITAL: "each hospital that takes part",
    Party.COMPUTE_PARTY: "each of the three compute parties",
    Party.RESULT_PARTY: "each hospital to which the result is opened",
    Party.ASKER: "who asks a hospital's agent for predictions",
    Party.HOSPITAL_AND_CLOUD: "one hospital together with the cloud",
    Party.ALL_BUT_ONE: "all hospitals but one, together",
    Party.TWO_COMPUTE_PARTIES: "two compute parties together",
    Party.KEY_HOLDERS: "as many holders of the key as open a sum, together with the cloud",
    Party.AUTHORITY: "the trusted authority",
}

WORDS: Final[Mapping[Learned, str]] = {
    Learned.ROSTER: "which hospitals take part, and which declined",
    Learned.SNAPSHOT_HASHES: "a salted hash of each hospital's frozen records, which says nothing of them",
    Learned.MESSAGE_SIZES: "sizes and times of all messages",
    Learned.ROUND_SIZES: "for each round how many nodes are open and how many cells are asked",
    Learned.MASK_SEEDS: "seeds of masks, which hide nothing by themselves: every contribution has further masks",
    Learned.NONCES: "the nonce of each matrix, by which differences between hospitals' cells can be had",
    Learned.TREE_SHAPE: "the shape of the tree, from sizes and times of sealed messages",
    Learned.TREE_HASH: "the hash of the result, and that every hospital holds the same",
    Learned.TREE_WITHOUT_COUNTS: "the tree, without counts",
    Learned.TREE_AS_IT_GROWS: "chosen attributes and leaves as the tree grows, without counts",
    Learned.TREE: "the tree",
    Learned.SUMS: "counts summed over all hospitals, for every cell that is asked",
    Learned.NOISY_SUMS: "counts summed over all hospitals, with noise on each",
    Learned.MISSING_GROUPS: (
        "in these sums, records of a node counted apart by which fields they lack, of those whose missing values are "
        "fractional, in groups however small"
    ),
    Learned.INTERVALS: (
        "in these sums, at every node that is asked, records of each class in each interval or value of an attribute "
        "with an order, on both sides of thresholds: narrow intervals show numbers nearly as they are"
    ),
    Learned.EVALUATION: (
        "how many records of each true class end at each place of a tree that it has, summed over all hospitals, "
        "small counts included"
    ),
    Learned.HISTOGRAM: (
        "how many records each value of each attribute has in each class, summed over all hospitals, small counts "
        "included"
    ),
    Learned.SEALED_CONTRIBUTIONS: "the other hospitals' encrypted contributions, which no hospital can open alone",
    Learned.CLASSES: "the classes that the tree gives for its own records",
    Learned.RECORD_NUMBERS: "how many records each hospital shares",
    Learned.PROGRESS: "phases, rounds, bytes and times of the computation",
    Learned.COMMITMENTS: "hiding commitments to the parts of the result",
    Learned.UNIFORM_SHARES: "shares and masked values that are uniformly random, whatever the records",
    Learned.CHOICES: "for each node whether it is a leaf, else its attribute; the finished tree shows the same",
    Learned.LEAF_CLASSES: "the class of each leaf; the finished tree shows the same",
    Learned.EMPTINESS: "for each child whether it has no record",
    Learned.PREDICTIONS: "predictions, each at most as detailed as the study's rule of disclosure",
    Learned.COUNTS_OF_EACH: "every hospital's own counts, for every cell that is asked",
    Learned.COUNTS_OF_LAST: "the remaining hospital's own counts, which are the sums less what they put in",
    Learned.NOISY_COUNTS_OF_LAST: "the remaining hospital's own counts, with at least its own part of the noise",
    Learned.COUNTS_OF_DROPPED: "the counts of round 0 of a hospital that is falsely called silent",
    Learned.DIFFERENCE: (
        "the part of a hospital that consented to it, by the difference from an earlier job over the same records"
    ),
    Learned.EVERY_RECORD: "every shared record of every hospital",
    Learned.SHARED_TREE: "the tree that stays shared",
}

CONDITIONS: Final[Mapping[Condition, str]] = {
    Condition.ALWAYS: "while the job runs as agreed",
    Condition.WHEN_DONE: "once the job is done",
    Condition.WHEN_PUBLISHED: "once all hospitals have attested the tree, since the study publishes it",
    Condition.WHEN_ASKED: "when a record is asked about",
    Condition.IF_POOLED: "if they put together what each of them has",
    Condition.IF_TRAFFIC_IS_SEEN: "if it also reads the messages between the others",
    Condition.IF_CLOUD_LIES: "if the cloud falsely calls a hospital silent in round 0; the hospital holds evidence",
    Condition.IF_KEYS_ARE_KEPT: "if it kept the keys that it dealt, and intercepts messages",
}

WHY: Final[Mapping[Learned, str]] = {
    Learned.ROSTER: "messages must reach those who take part",
    Learned.SNAPSHOT_HASHES: "to prove later which data went in",
    Learned.MESSAGE_SIZES: "whoever carries messages sees them",
    Learned.ROUND_SIZES: "to ask for the next round",
    Learned.MASK_SEEDS: "to take them off the sum",
    Learned.NONCES: "the published method works so; it is for test data only",
    Learned.TREE_SHAPE: "work follows the tree that is opened level by level",
    Learned.TREE_HASH: "to agree on one result",
    Learned.TREE_WITHOUT_COUNTS: "the study publishes it",
    Learned.TREE_AS_IT_GROWS: "the published method tells them so; it is for test data only",
    Learned.TREE: "it is the result of the job",
    Learned.SUMS: "splits are computed from them",
    Learned.NOISY_SUMS: "splits are computed from them",
    Learned.MISSING_GROUPS: "the records of such a group go to every branch with one weight",
    Learned.INTERVALS: "the best place for a threshold is found in them",
    Learned.EVALUATION: "it is the result of the job: how good the tree is follows from it",
    Learned.HISTOGRAM: "it is the result of the job: cut points are chosen by it",
    Learned.SEALED_CONTRIBUTIONS: "so that each can recompute the sum before it helps to open it",
    Learned.CLASSES: "it is the result of the job",
    Learned.RECORD_NUMBERS: "sizes of all messages follow from them",
    Learned.PROGRESS: "to know one that works from one that is lost",
    Learned.COMMITMENTS: "to agree on a result that not everybody may know",
    Learned.UNIFORM_SHARES: "computing on shares is made of them",
    Learned.CHOICES: "the tree is grown level by level",
    Learned.LEAF_CLASSES: "they are part of the tree",
    Learned.EMPTINESS: "the study asks for the thesis' version, which shows it",
    Learned.PREDICTIONS: "the tree is there to be asked",
    Learned.COUNTS_OF_EACH: "each hospital holds the whole key",
    Learned.COUNTS_OF_LAST: "who knows a sum and all but one of its terms knows the last",
    Learned.NOISY_COUNTS_OF_LAST: "who knows a sum and all but one of its terms knows the last",
    Learned.COUNTS_OF_DROPPED: (
        "two sums that differ by one hospital show it; max_shrinks 0 or threshold keys prevent it"
    ),
    Learned.DIFFERENCE: "the hospital has signed that results may differ by it alone",
    Learned.EVERY_RECORD: "two of them hold all three parts of every shared value",
    Learned.SHARED_TREE: "two of them hold all three parts of it",
}

SINGULARS: Final[Mapping[str, str]] = {
    "hospitals": "hospital",
    "rounds": "round",
    "contributions": "contribution",
    "cells": "cell",
    "nodes": "node",
    "leaves": "leaf",
    "trees": "tree",
    "hashes": "hash",
    "commitments": "commitment",
    "records": "record",
}
"""Units of amounts, of one and of several."""

CANNOT_BE_KNOWN: Final[tuple[str, ...]] = (
    "whether parties who should not work together have done so: nothing that they do among themselves shows in a log",
    "whether a hospital counted its records rightly: the sums only show that nobody changed them on the way",
    "what people do with a tree, with sums or with predictions once they have them",
    "what a party whose machine was broken into has given away, keys included",
)
"""What no ledger and no log can say."""
