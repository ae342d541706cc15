"""What a plan refuses, and the words in which rows are shared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shared.errors import InputError
from shared.secure_tree.gain_ratio.plan import (
    GainRatioPlan,
    class_dtype,
    class_words,
    key_input_dtype,
)
from shared.tree.gain_ratio_growing import GainRatioRules


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"records": -1}, "records"),
        ({"widths": ()}, "columns"),
        ({"widths": (1,) * 1025}, "columns"),
        ({"widths": (0,)}, "width"),
        ({"widths": (33,)}, "width"),
        ({"classes": 0}, "classes"),
        ({"classes": 65}, "classes"),
        ({"rules": GainRatioRules(height=11)}, "height"),
        ({"rules": GainRatioRules(height=1, grid=(1, 2))}, "grid"),
        ({"rules": GainRatioRules(height=1, grid=(2**32,))}, "grid"),
        ({"records": 2**24 - 1}, "records"),
    ],
)
def test_refuses(changes: dict[str, Any], where: str) -> None:
    plan = {"records": 10, "widths": (3,), "classes": 2, "rules": GainRatioRules(height=1)}
    with pytest.raises(InputError, match=rf"^{where}: "):
        GainRatioPlan(**(plan | changes))


def test_class_words_have_a_bit_a_class_but_the_last() -> None:
    assert class_words([0, 1, 2, 0], 3).tolist() == [1, 2, 0, 1]
    assert class_words([63, 62, 0], 64).tolist() == [0, 2**62, 1]
    assert class_words([0], 1).tolist() == [0]
    assert [class_dtype(classes) for classes in (1, 2, 9, 10, 18, 64)] == [
        np.uint8, np.uint8, np.uint8, np.uint16, np.uint32, np.uint64
    ]  # fmt: skip
    assert [key_input_dtype(width) for width in (1, 16, 17, 32)] == [np.uint16] * 2 + [np.uint32] * 2
