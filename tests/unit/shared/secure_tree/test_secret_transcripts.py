"""What both trainers send follows from public numbers, in mode I from the opened tree too; contents say nothing.

Transcripts are compared message by message: who sends what words of what shape to whom in which round. Contents are
put to the test of `tests.support.views`, which must notice every mechanism that is switched off.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.mpc.local import LocalRun, Tap
from shared.mpc.program import Party, Program, Round, Spec
from shared.mpc.ring import Words
from shared.mpc.sharing import BinaryShare, split_binary
from shared.secure_tree import decisions
from shared.secure_tree.gain_ratio.plan import GainRatioPlan, SharedRows, class_words
from shared.secure_tree.gain_ratio.training import secret_gain_ratio
from shared.secure_tree.secret_id3 import secret_id3
from shared.secure_tree.secret_id3_layout import Layout, record_bits
from shared.tree.gain_ratio_growing import GainRatioRules
from shared.tree.growth_rules import GrowthRules
from tests.support.mpc import seeded_random_bytes
from tests.support.numeric_samples import NumericSample, gain_ratio_rules, numeric_samples
from tests.support.secret_gain_ratio import Training, deal_keys, random_sample, train
from tests.support.tree_strategies import Sample, make_schema, rules, samples
from tests.support.views import ALL, BOUND, Break, Case, Input, distance_of_messages
from tests.unit.shared.secure_tree.test_secret_id3 import PLAIN, in_secret

BROKEN = 25
Transcript = list[tuple[int, int, tuple[Spec, ...], tuple[Spec, ...]]]


def listener(transcript: Transcript) -> Tap:
    def tap(number: int, party: int, sent: Round) -> Round:
        sides = (tuple(Spec.of(words) for words in side) for side in (sent.to_previous, sent.to_next))
        transcript.append((number, party, *sides))
        return sent

    return tap


def costs(run: LocalRun[Any]) -> list[Any]:
    return [(meter.by_phase, meter.opened) for meter in run.meters]


# Mode G


def other_records(sample: NumericSample, seed: int) -> NumericSample:
    """Records with nothing in common but the public numbers: sizes, and widths that the caller fixes."""
    rng = np.random.default_rng(seed)
    top = sample.keys.max(axis=1, initial=0).astype(np.int64)[:, None]
    keys = rng.integers(0, top + 1, sample.keys.shape).astype(np.uint32)
    return replace(sample, keys=keys, labels=rng.integers(0, sample.label_count, len(sample.labels)))


def heard(
    sample: NumericSample, rules: GainRatioRules, widths: tuple[int, ...]
) -> tuple[Training, Transcript]:
    transcript: Transcript = []
    return train(sample, rules, widths=widths, tap=listener(transcript)), transcript


@settings(deadline=None, max_examples=12)
@given(st.data(), st.integers(0, 2**32))
def test_mode_g_sends_the_same_whatever_the_records(data: st.DataObject, seed: int) -> None:
    sample = data.draw(numeric_samples(least_rows=1, most_rows=30))
    of_job = data.draw(gain_ratio_rules(len(sample.keys)))
    widths = tuple(data.draw(st.integers(int(column.max()).bit_length() or 1, 32)) for column in sample.keys)
    first, one = heard(sample, of_job, widths)
    second, other = heard(other_records(sample, seed), of_job, widths)
    assert one == other
    assert costs(first.run) == costs(second.run)


def rows_of_g() -> tuple[Input, Input]:
    """Records that split in both layers, and records that are all the same."""
    first = random_sample(64, 2, 2, seed=8, values=16)
    second = replace(first, keys=np.zeros_like(first.keys), labels=np.zeros_like(first.labels))
    columns = (
        [
            *deal_keys(sample.keys, (4, 4), seed),
            split_binary(class_words(sample.labels, 2), seeded_random_bytes(seed + 1)),
        ]
        for seed, sample in ((20, first), (30, second))
    )
    one, other = columns
    return one, other


def grow_g(party: Party, first: BinaryShare, second: BinaryShare, classes: BinaryShare) -> Program[Any]:
    plan = GainRatioPlan(64, (4, 4), 2, GainRatioRules(height=2, min_node=2, min_child=2, grid=(3, 0)))
    return secret_gain_ratio(party, SharedRows((first, second), classes), plan)


MODE_G = Case(grow_g, rows_of_g())


# Mode I


def replayed(opened: list[Words]) -> Any:
    """Openers that open what there is, and go on with what another run opened."""
    given_out = [iter(opened) for _ in range(3)]

    def instead_of(opener: Any) -> Any:
        def open_it(party: Party, words: Any) -> Program[Words]:
            yield from opener(party, words)
            return next(given_out[party.index])

        return open_it

    return instead_of


def recorded(opened: list[Words]) -> Any:
    def instead_of(opener: Any) -> Any:
        def open_it(party: Party, words: Any) -> Program[Words]:
            found = yield from opener(party, words)
            if party.index == 0:
                opened.append(found)
            return found

        return open_it

    return instead_of


OPENERS = ("open_choices", "open_leaf_classes", "open_emptiness")


def heard_with(instead_of: Any, *arguments: Any, **options: Any) -> tuple[LocalRun[Any], Transcript]:
    transcript: Transcript = []
    with pytest.MonkeyPatch.context() as patch:
        for name in OPENERS:
            opener = instead_of(getattr(decisions, name))
            for module in [
                each for key, each in sys.modules.items() if key.startswith("shared.secure_tree.secret_id3")
            ]:
                if hasattr(module, name):
                    patch.setattr(module, name, opener)
        return in_secret(*arguments, tap=listener(transcript), **options), transcript


@settings(deadline=None, max_examples=40)
@given(samples(), rules("information-gain"), st.booleans(), st.integers(0, 2**32))
def test_mode_i_sends_what_its_opened_values_say_and_no_more(
    sample: Sample, of_job: GrowthRules, open_empty: bool, seed: int
) -> None:
    """A simulator that knows the opened values alone: other records, on which it goes on as if they had given these."""
    limits = [len(attribute.values) for attribute in sample.schema.attributes] + [sample.schema.class_count]
    rng = np.random.default_rng(seed)
    others = [tuple(int(rng.integers(limit)) for limit in limits) for _ in sample.rows]
    opened: list[Words] = []
    first, one = heard_with(recorded(opened), sample.schema, sample.rows, of_job, open_empty=open_empty)
    second, other = heard_with(replayed(opened), sample.schema, others, of_job, open_empty=open_empty)
    assert one == other
    assert costs(first) == costs(second)
    assert first.results[0].canonical() == second.results[0].canonical()


SCHEMA = make_schema((2, 3), 2)
CLEAR = [(0, 0, 0)] * 2 + [(0, 1, 0), (0, 2, 0)] + [(1, 0, 1)] * 2 + [(1, 1, 1), (1, 2, 1)] * 3
ROUGH = [(0, 2, 0)] * 8 + [(1, 2, 1)] * 3 + [(1, 0, 1)]
"""Two very different sets of records with one tree."""


def rows_of_i() -> tuple[Input, Input]:
    one, other = (
        [split_binary(record_bits(Layout.of(SCHEMA, len(rows)), rows * 4), seeded_random_bytes(seed))]
        for seed, rows in ((40, CLEAR), (50, ROUGH))
    )
    return one, other


MODE_I = Case(lambda party, bits: secret_id3(party, bits, SCHEMA, PLAIN), rows_of_i())

# Contents of both

BOTH = {"mode G": MODE_G, "mode I": MODE_I}


@pytest.mark.parametrize("name", BOTH)
def test_no_party_can_tell_the_records_apart(name: str) -> None:
    assert distance_of_messages(BOTH[name], runs=2) < BOUND


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("key", sorted(ALL))
def test_each_party_could_without_the_masks_of_the_other_two(name: str, key: int) -> None:
    assert distance_of_messages(BOTH[name], Break(silent=frozenset([key]))) > BROKEN


@pytest.mark.parametrize("key", [0, 1])
def test_parties_1_and_2_could_without_shuffles(key: int) -> None:
    assert distance_of_messages(MODE_G, Break(still=frozenset([key]))) > BROKEN
