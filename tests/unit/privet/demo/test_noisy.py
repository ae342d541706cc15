"""The demo with noise: options, the honest comparison, and what decides its exit code."""

from dataclasses import replace
from pathlib import Path

import pytest

from privet.demo.costs import add_up
from privet.demo.dealing import DemoRecords, prepare
from privet.demo.noisy import NoiseComparison, classify
from privet.demo.options import DemoOptions, parse_sigma
from privet.demo.pooled import grow_pooled
from privet.demo.rendering import render
from privet.demo.result import DemoResult, HeldTree, RoundSizes
from shared.errors import InputError
from shared.tree.export import reference_form

TOLD = {"epsilon_at_most": "3.602", "delta": "0.000001", "meaning": ["What it means."]}
WORK = {"count": 0.25, "encrypt": 0.5, "decrypt": 0.125, "choose": 0.0625, "transport": 1.0}
LEAF = {"leaf": "none", "count": 120}


@pytest.fixture
def records(tmp_path: Path) -> DemoRecords:
    return prepare(DemoOptions(), tmp_path)


def test_a_sigma_is_a_number_from_two_on_and_of_profile_hardened() -> None:
    assert parse_sigma(None, "id3", "hardened") is None
    assert parse_sigma(" 2.50 ", "ppsdt", "hardened") == "2.50"
    assert parse_sigma("1e3", "ppsdt", "hardened") == "1000"
    for text in ("1.9", "10001", "x", "nan", "-3"):
        with pytest.raises(InputError, match="from 2 to 10000"):
            parse_sigma(text, "ppsdt", "hardened")
    with pytest.raises(InputError, match="id3"):
        parse_sigma("5", "id3", "hardened")
    with pytest.raises(InputError, match="paper"):
        parse_sigma("5", "ppsdt", "paper")


def test_the_comparison_counts_records(records: DemoRecords) -> None:
    exact = reference_form(grow_pooled(records, DemoOptions().rules).tree, records.schema)
    label = records.schema.classes[0]
    leaf = {"leaf": label}
    told = NoiseComparison.of(TOLD, "6", leaf, exact, records)
    first = sum(row[-1] == 0 for row in records.rows)
    assert told.right == first
    assert told.same == classify(exact, records).count(label)
    assert told.right_exact == told.records == 120
    assert NoiseComparison.of(TOLD, "6", exact, exact, records).same == 120


def test_one_tree_everywhere_is_what_a_demo_with_noise_must_show(records: DemoRecords) -> None:
    options = DemoOptions(noise_sigma="6")
    pooled = grow_pooled(records, options.rules)
    held = HeldTree("0" * 64, LEAF, "none")
    exact = reference_form(pooled.tree, records.schema)
    noise = NoiseComparison.of(TOLD, "6", LEAF, exact, records)
    costs = add_up(1.5, [WORK] * 3, 0.03, [{"aggregate": 300}] * 3)
    trees = {hospital.id: held for hospital in records.hospitals}
    result = DemoResult(options, records, (RoundSizes(1, 40),), trees, pooled, costs, noise=noise)
    assert (result.equal, result.agreed, result.as_promised) == (False, True, True)
    document = result.document()
    assert document["noise"]["epsilon_at_most"] == "3.602"
    text = render(result, [])
    assert "same tree at all hospitals: yes" in text
    assert "noisy counts of 1 nodes" in text
    last = records.hospitals[-1].id
    other = replace(result, trees={**trees, last: replace(held, sha256="1" * 64)})
    assert not other.as_promised
    assert "same tree at all hospitals: no" in render(other, [])
