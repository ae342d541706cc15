"""What a job is thought to take at a compute party is what it took when it was measured, or somewhat more."""

from __future__ import annotations

import pytest

from hospital_agent.computing.gain_ratio import PredictionMode, Study, TrainingMode
from hospital_agent.computing.id3 import Id3Mode
from shared.secure_tree.gain_ratio.plan import GainRatioPlan
from shared.tree.gain_ratio_growing import GainRatioRules
from shared.tree.growth_rules import GrowthRules
from shared.tree.numeric import numeric_columns
from shared.tree.schema import Schema
from tests.support import measured_clinic
from tests.support.tree_strategies import make_schema


@pytest.mark.parametrize(
    ("records", "columns", "classes", "height", "megabytes"),
    [
        (30_000, 10, 2, 3, 51),
        (60_000, 10, 2, 3, 97),
        (30_000, 10, 8, 3, 87),
        (20_000, 4, 32, 3, 117),
        (30_000, 10, 2, 7, 127),
        (30_000, 10, 2, 9, 390),
    ],
)
def test_mode_g(records: int, columns: int, classes: int, height: int, megabytes: int) -> None:
    schema = Schema.from_json(measured_clinic.SCHEMA)
    plan = GainRatioPlan(records, (16,) * columns, classes, GainRatioRules(height=height))
    study = Study(schema, numeric_columns(schema), plan)
    assert 1.0 < study.memory_bytes / (megabytes * 1e6) < 1.3
    assert TrainingMode(study, frozenset()).memory_bytes == study.memory_bytes
    assert PredictionMode(study, {}, None).memory_bytes == study.memory_bytes


@pytest.mark.parametrize(
    ("records", "attributes", "values", "classes", "megabytes"),
    [(30_000, 20, 5, 4, 564), (20_000, 6, 30, 20, 1447), (100_000, 20, 5, 4, 1170)],
)
def test_mode_i(records: int, attributes: int, values: int, classes: int, megabytes: int) -> None:
    schema = make_schema((values,) * attributes, classes)
    mode = Id3Mode(schema, GrowthRules(), records, open_empty=False)
    assert 1.0 < mode.memory_bytes / (megabytes * 1e6) < 1.6
