"""Whatever an owner shares as classes and codes, the trainer works on records of one class and codes of the width."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shared.mpc.local import run_local
from shared.mpc.sharing import split_binary
from shared.secure_tree.gain_ratio.one_class import doublings, one_class
from shared.secure_tree.gain_ratio.opened import layers_of
from shared.secure_tree.gain_ratio.plan import GainRatioPlan, SharedRows, class_dtype
from shared.secure_tree.gain_ratio.training import secret_gain_ratio
from shared.tree.gain_ratio_growing import GainRatioRules, grow_by_gain_ratio
from tests.support.mpc import assert_cost, binary, opened, run_and_open, seeded_random_bytes


@given(st.sampled_from([1, 2, 3, 4, 5, 6, 7, 9, 10, 17, 33, 64]), st.data())
def test_of_several_bits_the_lowest_is_kept(classes: int, data: st.DataObject) -> None:
    dtype = class_dtype(classes)
    most = int(np.iinfo(dtype).max)
    words = np.array(data.draw(st.lists(st.integers(0, most), min_size=1, max_size=20)), dtype)
    run = run_and_open(one_class, binary(words), classes=classes)
    named = [int(word) & ((1 << (classes - 1)) - 1) for word in words]
    assert run.value.tolist() == [word & -word for word in named]
    rounds = 1 + doublings(classes) if classes > 2 else 0
    assert_cost(run, rounds=rounds, elements=len(words), words_per_element=3 * rounds, dtype=dtype)


def test_words_of_no_honest_owner_are_trained_on_as_records_of_one_class() -> None:
    """Else places opened under a shuffle would be no permutation, and tell of the classes of others' records."""
    random = np.random.default_rng(3)
    plan = GainRatioPlan(60, (3, 11), 4, GainRatioRules(height=3))
    words = [random.integers(0, 2**16, 60).astype(np.uint16) for _ in plan.widths]
    classes = random.integers(0, 2**8, 60).astype(np.uint8)
    deal = seeded_random_bytes(1)
    *columns, labels = (split_binary(each, deal) for each in (*words, classes))
    run = run_local(
        lambda party: secret_gain_ratio(
            party, SharedRows(tuple(column[party.index] for column in columns), labels[party.index]), plan
        ),
        deal,
    )
    arrays = [opened([tree.arrays[place] for tree in run.results]) for place in range(4)]
    keys = np.stack([word % 2**width for word, width in zip(words, plan.widths, strict=True)])
    lowest = [next((c for c in range(3) if word >> c & 1), 3) for word in classes.tolist()]
    expected = grow_by_gain_ratio(keys.astype(np.uint32), np.array(lowest), 4, plan.rules)
    assert layers_of(plan, arrays) == expected
