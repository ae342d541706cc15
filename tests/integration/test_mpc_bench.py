"""The secret modes' part of `make bench`, on small sizes: every figure is there, the floor has a real run's bytes."""

from __future__ import annotations

import numpy as np
import pytest

from bench.gain_ratio import Case, measure_case, records_of
from bench.gain_ratio_floor import PHASES, floor_of
from bench.gain_ratio_sweeps import GainRatioFigures, Sweep, rounds_of
from bench.mpc_fits import Fit, linear, n_log_n
from bench.mpc_primitive_programs import primitives
from bench.mpc_primitives import COUNTERPARTS, measure_ours
from shared.mpc.local import LocalRun, run_local
from shared.mpc.sharing import split_binary
from shared.rng import random_bytes
from shared.secure_tree.gain_ratio.plan import GainRatioPlan, SharedRows, class_words, key_input_dtype
from shared.secure_tree.gain_ratio.shared_tree import SharedTree
from shared.secure_tree.gain_ratio.training import secret_gain_ratio
from shared.tree.gain_ratio_growing import GainRatioRules

PLANS = (
    GainRatioPlan(1000, (16,) * 4, 2, GainRatioRules(height=3)),
    GainRatioPlan(600, (11, 7), 5, GainRatioRules(height=4)),
)
"""The second has layers with many cells."""


def trained(plan: GainRatioPlan) -> LocalRun[SharedTree]:
    random = np.random.default_rng(0)
    keys = [
        split_binary(random.integers(0, 2**width, plan.records).astype(key_input_dtype(width)), random_bytes)
        for width in plan.widths
    ]
    labels = random.integers(0, plan.classes, plan.records)
    shared = split_binary(class_words(labels, plan.classes), random_bytes)
    return run_local(
        lambda party: secret_gain_ratio(
            party, SharedRows(tuple(key[party.index] for key in keys), shared[party.index]), plan
        ),
        random_bytes,
    )


@pytest.mark.parametrize("plan", PLANS)
def test_the_floor_of_mode_g_has_the_bytes_of_a_run(plan: GainRatioPlan) -> None:
    run, floor = trained(plan), floor_of(plan)
    phases = run.meters[0].by_phase.keys()
    assert set(phases) == {*PHASES, "labels"} == {*floor, "labels"}
    for name in PHASES:
        sent = sum(meter.by_phase[name].sent_bytes for meter in run.meters)
        # What is left out is as small as the slots are few: sizes of cells sorted, decisions, padding.
        assert floor[name].sent == pytest.approx(sent, rel=0.08), name
        assert floor[name].sent <= sent
        # Two words are drawn for each one sent, but for what is opened.
        assert floor[name].drawn == pytest.approx(2 * floor[name].sent, rel=0.25), name
    total = sum(work.sent for work in floor.values())
    assert total == pytest.approx(run.total_bytes, rel=0.03)


def test_mode_g_is_measured_in_three_processes_beside_its_floor() -> None:
    case = Case(300, 3, 2)
    figure = measure_case(case)
    assert set(figure.phases) == {*PHASES, "labels"}
    assert sum(phase.sent for phase in figure.phases.values()) == figure.sent
    assert sum(phase.rounds for phase in figure.phases.values()) == figure.rounds
    assert figure.seconds > figure.floor_seconds > 0
    sweep = Sweep("Rows", "rows", (linear, n_log_n), lambda each: each.records, (figure,) * 3)
    found = GainRatioFigures((sweep,), (), (rounds_of(2),))
    assert found.figures()["sweeps"][0]["cases"][0]["case"]["records"] == 300
    assert ">measured<" in found.plot()


def test_rounds_of_a_layer_grow_with_the_levels_of_the_attribute_maximum_only() -> None:
    few, more, many = (rounds_of(columns) for columns in (4, 8, 16))
    assert many.maximum - more.maximum == more.maximum - few.maximum == 6
    assert few.rest == pytest.approx(many.rest, abs=1)


def test_random_records_are_the_same_every_time() -> None:
    for first, second in zip(records_of(Case(50, 2, 1)), records_of(Case(50, 2, 1)), strict=True):
        assert np.array_equal(first, second)


def test_every_primitive_is_measured() -> None:
    found = {figure.name: figure for figure in measure_ours(100, 64, repeats=1)}
    assert found.keys() == {primitive.name for primitive in primitives(100, 64)}
    assert set(COUNTERPARTS.values()) <= found.keys()
    assert found["multiply, 64 bit"].sent == 24
    assert found["multiply, 32 bit"].rounds == 1
    assert all(figure.wall_nanoseconds > 0 and figure.rounds > 0 for figure in found.values())


def test_a_law_is_recognised() -> None:
    grown = [(10.0**k, 3 + 2 * n_log_n(10.0**k)) for k in range(3, 6)]
    right, wrong = Fit.of(n_log_n, grown), Fit.of(linear, grown)
    assert right.r_squared == pytest.approx(1)
    assert right.worst == pytest.approx(0, abs=1e-9)
    assert right.at(10) == pytest.approx(3 + 2 * n_log_n(10))
    assert wrong.worst > 0.1
    with pytest.raises(ValueError, match="two points"):
        Fit.of(linear, grown[:2])
