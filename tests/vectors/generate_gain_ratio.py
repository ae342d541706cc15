"""Write the vector of mode G's layer: python -m tests.vectors.generate_gain_ratio

Source: protocol section 14, T7, the worked example of JP7494932B2 with its misprints corrected. Every figure here comes
from `tests.support.exact_gain_ratio` (90-digit logarithms and exact fractions), not from the product.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.exact_gain_ratio import GainRatioSetting, best_cut, cuts_of, gain_and_split

FOLDER = Path(__file__).parent

ENDS = "0011000101"
VALUES = [1, 2, 5, 2, 3, 4, 5, 7, 2, 4]
LABELS = [3, 2, 1, 3, 2, 1, 1, 3, 1, 2]
CLASSES = 3
SCALE = 16


def documents() -> dict[str, dict[str, Any]]:
    """File name to content."""
    return {"gain_ratio_layer.json": _layer()}


def main() -> None:
    """Write all files."""
    for name, document in documents().items():
        text = json.dumps(document, indent=1, ensure_ascii=False)
        (FOLDER / name).write_text(text + "\n", encoding="utf-8")


def _layer() -> dict[str, Any]:
    groups = _groups()
    places = [(group, place) for group in groups for place in range(len(group))]
    left = [[_count(g[: p + 1], label) for g, p in places] for label in _labels()]
    whole = [[_count(g, label) for g, _ in places] for label in _labels()]
    return {
        "source": "protocol section 14, T7",
        "ends": [int(end) for end in ENDS],
        "values": VALUES,
        "labels": LABELS,
        "scale": SCALE,
        "is_label": [[int(label == wanted) for label in LABELS] for wanted in _labels()],
        "left": left,
        "whole": whole,
        "right": [[w - u for w, u in zip(*pair, strict=True)] for pair in zip(whole, left, strict=True)],
        "fractions": [_fraction(group, place) for group, place in places],
        "chosen": [_chosen(group) for group in groups],
    }


def _labels() -> range:
    return range(1, CLASSES + 1)


def _groups() -> list[list[tuple[int, int]]]:
    """(value, label) of each group's records."""
    groups: list[list[tuple[int, int]]] = [[]]
    for end, value, label in zip(ENDS, VALUES, LABELS, strict=True):
        groups[-1].append((value, label))
        if end == "1":
            groups.append([])
    return groups[:-1]


def _count(records: list[tuple[int, int]], label: int) -> int:
    return sum(own == label for _, own in records)


def _fraction(group: list[tuple[int, int]], place: int) -> list[int] | None:
    """Gain+ and SplitInfo+ of a position, None where no cut may be."""
    if place + 1 == len(group) or group[place][0] == group[place + 1][0]:
        return None
    sides = (group[: place + 1], group[place + 1 :])
    left, right = ([_count(side, label) for label in _labels()] for side in sides)
    return list(gain_and_split(left, right, SCALE))


def _chosen(group: list[tuple[int, int]]) -> dict[str, Any] | None:
    """The group's test and the thresholds that tie with it, None for a leaf."""
    setting = GainRatioSetting(CLASSES, SCALE, height=1)
    rows = [(value, label - 1) for value, label in group]
    best = best_cut(rows, setting)
    if best is None:
        return None
    equal = [cut.value for cut in cuts_of(rows, setting) if cut.gain * best.split == best.gain * cut.split]
    return {"threshold": best.value, "tied": equal, "gain": best.gain, "split": best.split}


if __name__ == "__main__":
    main()
