"""Secret inference gives the plain tree's labels and costs the same for all records and trees."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.errors import InternalError
from shared.mpc.local import run_local
from shared.secure_tree.gain_ratio.prediction import predict_shared
from shared.tree.gain_ratio_growing import GainRatioRules
from tests.support.mpc import opened, seeded_random_bytes
from tests.support.numeric_samples import gain_ratio_rules, numeric_samples
from tests.support.secret_gain_ratio import (
    deal_keys,
    labels_by,
    predict,
    random_sample,
    train,
    wide_enough,
)


@settings(deadline=None, max_examples=25)
@given(st.data())
def test_equals_the_plain_prediction(data: st.DataObject) -> None:
    sample = data.draw(numeric_samples(least_rows=1, most_rows=40))
    rules = data.draw(gain_ratio_rules(len(sample.keys)))
    training = train(sample, rules, widths=data.draw(wide_enough(sample.keys)))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    others = np.array([rng.integers(0, 2**width, 9) for width in training.plan.widths], np.uint32)
    asked = np.concatenate([sample.keys, others], axis=1)
    run = predict(training, asked)
    assert opened(run.results).tolist() == labels_by(training.layers, asked)
    assert all(not meter.opened for meter in run.meters)


@pytest.mark.parametrize("records", [1, pytest.param(64, marks=pytest.mark.long), 65, 500])
def test_many_columns_and_any_number_of_records(records: int) -> None:
    sample = random_sample(300, 66, 3, seed=3)
    training = train(sample, GainRatioRules(height=3))
    asked = random_sample(records, 66, 3, seed=4).keys
    asked = np.minimum(asked, (1 << np.array(training.plan.widths))[:, None] - 1).astype(np.uint32)
    assert opened(predict(training, asked).results).tolist() == labels_by(training.layers, asked)


def test_cost_does_not_depend_on_tree_and_records() -> None:
    rules, widths = GainRatioRules(height=3), (16, 16)
    deep, flat = random_sample(80, 2, 2, seed=1), random_sample(80, 2, 2, seed=1, values=1)
    trainings = [train(sample, rules, widths=widths) for sample in (deep, flat)]
    assert [len(training.layers) > 1 for training in trainings] == [True, False]
    runs = [predict(training, asked) for training in trainings for asked in (deep.keys, flat.keys)]
    assert all(run.sent_bytes == runs[0].sent_bytes for run in runs)


def test_refuses_columns_of_other_words() -> None:
    training = train(random_sample(20, 2, 2, seed=1), GainRatioRules(height=1), widths=(16, 16))
    columns = deal_keys(np.zeros((2, 3), np.uint32), (16, 20), 1)
    tree = training.run.results[0]
    with pytest.raises(InternalError, match="words of uint16"):
        run_local(
            lambda party: predict_shared(
                party, training.plan, tree, [column[party.index] for column in columns]
            ),
            seeded_random_bytes(),
        )
