"""T7 of protocol section 14: the file, the figures that the protocol prints, and the product agree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shared.tree.f_table import f_table
from shared.tree.gain_ratio_growing import GainRatioRules, GroupLeaf, GroupTest, grow_by_gain_ratio
from shared.tree.gain_ratio_layer import (
    class_counts,
    gain_numerators,
    split_denominators,
    valid_positions,
)
from tests.vectors import generate_gain_ratio

FOLDER = Path(generate_gain_ratio.__file__).parent


@pytest.fixture(scope="module")
def layer() -> dict[str, Any]:
    document: dict[str, Any] = json.loads((FOLDER / "gain_ratio_layer.json").read_text(encoding="utf-8"))
    return document


def test_file_is_what_the_second_way_computes() -> None:
    for name, document in generate_gain_ratio.documents().items():
        assert json.loads((FOLDER / name).read_text(encoding="utf-8")) == document, name


def test_as_printed_in_the_protocol(layer: dict[str, Any]) -> None:
    printed = {
        "is_label": ["0010011010", "0100100001", "1001000100"],
        "left": ["0010012211", "0110111101", "1111000100"],
        "right": ["1100210000", "1000000010", "0000111000"],
        "whole": ["1110222211", "1110111111", "1111111100"],
    }
    for name, rows in printed.items():
        assert layer[name] == [list(map(int, row)) for row in rows], name
    fractions = {1: (180544, 180544), 2: (180544, 180544), 5: (212672, 212672), 7: (212672, 212672)}
    fractions |= {6: (131072, 262144), 9: (131072, 131072)}
    assert {i: tuple(pair) for i, pair in enumerate(layer["fractions"], start=1) if pair} == fractions
    assert [chosen and chosen["threshold"] for chosen in layer["chosen"]] == [1, None, 3, 2]


def test_counts_and_fractions(layer: dict[str, Any]) -> None:
    ends, values = layer["ends"], layer["values"]
    left, whole = class_counts(np.array(layer["labels"]) - 1, ends, 3)
    assert (left.tolist(), whole.tolist()) == (layer["left"], layer["whole"])
    assert (whole - left).tolist() == layer["right"]
    table = f_table(10, layer["scale"]).astype(np.int64)
    up_to, size = left.sum(axis=0), whole.sum(axis=0)
    assert up_to.tolist() == [1, 2, 3, 1, 1, 2, 3, 4, 1, 2]
    gains = gain_numerators(left, whole, table).tolist()
    splits = split_denominators(up_to, size, table).tolist()
    valid = valid_positions(values, ends, up_to, size, 1).tolist()
    found = [[g, d] if ok else None for g, d, ok in zip(gains, splits, valid, strict=True)]
    assert found == layer["fractions"]


def test_chosen(layer: dict[str, Any]) -> None:
    bounds = [0, *(np.flatnonzero(layer["ends"]) + 1).tolist()]
    for start, stop, chosen in zip(bounds, bounds[1:], layer["chosen"], strict=False):
        keys = np.array([layer["values"][start:stop]], dtype=np.uint32)
        labels = np.array(layer["labels"][start:stop]) - 1
        (root,) = grow_by_gain_ratio(keys, labels, 3, GainRatioRules(1), scale=layer["scale"])[0]
        assert root == (GroupTest(0, chosen["threshold"]) if chosen else GroupLeaf(int(labels[0])))
