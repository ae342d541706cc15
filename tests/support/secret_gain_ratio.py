"""Mode G with three parties in this process: deal rows, train, open as a result party does, predict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from shared.mpc.local import LocalRun, Tap, run_local
from shared.mpc.ring import Words
from shared.mpc.sharing import split_binary
from shared.secure_tree.gain_ratio.opened import layers_of
from shared.secure_tree.gain_ratio.plan import GainRatioPlan, SharedRows, class_words, key_input_dtype
from shared.secure_tree.gain_ratio.prediction import predict_shared
from shared.secure_tree.gain_ratio.shared_tree import SharedTree
from shared.secure_tree.gain_ratio.training import secret_gain_ratio
from shared.tree.gain_ratio_growing import GainRatioRules, GroupTest, Layer
from tests.support.mpc import BinaryInput, opened, seeded_random_bytes
from tests.support.numeric_samples import NumericSample


@dataclass(frozen=True)
class Training:
    """A plan and what its run came to."""

    plan: GainRatioPlan
    run: LocalRun[SharedTree]

    @property
    def arrays(self) -> list[Words]:
        """The opened result."""
        return [opened([tree.arrays[place] for tree in self.run.results]) for place in range(4)]

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The opened tree."""
        return layers_of(self.plan, self.arrays)


def widths_of(keys: NDArray[np.uint32]) -> tuple[int, ...]:
    """The fewest bits that hold each column's codes."""
    return tuple(max(1, int(column.max(initial=0)).bit_length()) for column in keys)


def deal_keys(keys: NDArray[np.uint32], widths: Sequence[int], seed: int) -> list[BinaryInput]:
    """Shares of each column's codes."""
    random_bytes = seeded_random_bytes(seed)
    return [
        split_binary(column.astype(key_input_dtype(width)), random_bytes)
        for column, width in zip(keys, widths, strict=True)
    ]


def train(
    sample: NumericSample,
    rules: GainRatioRules,
    *,
    widths: tuple[int, ...] | None = None,
    seed: int = 0,
    tap: Tap | None = None,
) -> Training:
    """Grow the tree of a sample on shares."""
    keys = sample.keys
    chosen = widths_of(keys) if widths is None else widths
    plan = GainRatioPlan(keys.shape[1], chosen, sample.label_count, rules)
    columns = deal_keys(keys, chosen, seed)
    classes = split_binary(class_words(sample.labels, sample.label_count), seeded_random_bytes(seed + 1))

    def rows_of(index: int) -> SharedRows:
        return SharedRows(tuple(column[index] for column in columns), classes[index])

    run = run_local(
        lambda party: secret_gain_ratio(party, rows_of(party.index), plan), seeded_random_bytes(seed + 2), tap
    )
    return Training(plan, run)


def predict(training: Training, keys: NDArray[np.uint32], seed: int = 5) -> LocalRun[Any]:
    """Labels of records by the shared tree, still shared."""
    columns = deal_keys(keys, training.plan.widths, seed)
    trees = training.run.results
    return run_local(
        lambda party: predict_shared(
            party, training.plan, trees[party.index], [column[party.index] for column in columns]
        ),
        seeded_random_bytes(seed + 1),
    )


def labels_by(layers: Sequence[Layer], keys: NDArray[np.uint32]) -> list[int]:
    """Labels by the plain tree, walked record by record."""
    return [_label(layers, record) for record in keys.T.tolist()]


def _label(layers: Sequence[Layer], record: Sequence[int]) -> int:
    place = 0
    for layer in layers:
        node = layer[place]
        if not isinstance(node, GroupTest):
            return node.label
        earlier = sum(isinstance(other, GroupTest) for other in layer[:place])
        place = 2 * earlier + (record[node.column] > node.threshold)
    raise AssertionError("a tree ends in leaves")


def random_sample(
    records: int, columns: int, label_count: int, *, seed: int, values: int = 2**16
) -> NumericSample:
    """Records whose class follows the first two columns, one in eight by chance."""
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, values, (columns, records)).astype(np.uint32)
    ruled = (keys[0] // max(1, values // 3) + 2 * (keys[-1] > values // 2)) % label_count
    by_chance = rng.random(records) < 1 / 8
    labels = np.where(by_chance, rng.integers(0, label_count, records), ruled)
    return NumericSample(keys, labels.astype(np.int64), label_count)


def wide_enough(keys: NDArray[np.uint32]) -> st.SearchStrategy[tuple[int, ...]]:
    """Declared widths: those of the codes, or more."""
    return st.tuples(*(st.integers(least, 32) for least in widths_of(keys)))
