"""Write the vectors of the tree's mathematics: python -m tests.vectors.generate_tree

Source: protocol section 14, T1, T2, T3 and T8. Every figure here comes from `tests.support.exact_tree`
(90-digit logarithms and exact fractions), not from the product; the test compares both, and both with the
figures that the protocol prints.
"""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

from tests.support.exact_tree import Setting, Table, exact_score, f_by_decimals, first_best_tree, table_of

FOLDER = Path(__file__).parent

NAUSEA = [[8, 3, 5, 0], [0, 2, 0, 4]]
FLOAT_TRAP = [[[5, 1, 0], [1, 4, 5]], [[2, 4, 0], [1, 0, 3], [3, 1, 2]]]
HOSPITALS = [
    "010000 010000 010000 011011 110101 001112 001112 111113 111113",
    "010000 010000 011011 001102 001002 111113",
    "010000 000000 000000 010001 110101 001002 111103",
]


def documents() -> dict[str, dict[str, Any]]:
    """File name to content."""
    return {
        "tree_table.json": _table(),
        "tree_published.json": _published(),
        "tree_example.json": _example(),
        "tree_float_trap.json": _float_trap(),
    }


def main() -> None:
    """Write all files."""
    for name, document in documents().items():
        text = json.dumps(document, indent=1, ensure_ascii=False)
        (FOLDER / name).write_text(text + "\n", encoding="utf-8")


def _table() -> dict[str, Any]:
    points = [*range(9), 22, 4096, 2**24 - 1, 10**8, 2**46 - 1]
    return {
        "source": "protocol section 14, T1",
        "entries": [{"s": s, "x": x, "f": str(f_by_decimals(x, s))} for s in (16, 32) for x in points],
        "sha256_of_0_to_4096": {str(s): _table_sha256(s) for s in (16, 32)},
        "refused": [{"x": -1, "s": 32, "error": "InternalError"}],
    }


def _table_sha256(s: int) -> str:
    return hashlib.sha256(b"".join(f_by_decimals(x, s).to_bytes(8, "big") for x in range(4097))).hexdigest()


def _published() -> dict[str, Any]:
    whole = [sum(column) for column in zip(*NAUSEA, strict=True)]
    before, after = _entropy(whole), sum(sum(row) * _entropy(row) for row in NAUSEA) / sum(whole)
    return {
        "source": "protocol section 14, T2",
        "matrix": NAUSEA,
        "entropy": str(round(before, 5)),
        "conditional_entropy": str(round(after, 5)),
        "information_gain": str(round(before - after, 5)),
        "score": _score(NAUSEA),
    }


def _example() -> dict[str, Any]:
    dealt = [[[int(digit) for digit in row] for row in text.split()] for text in HOSPITALS]
    rows = [row for hospital in dealt for row in hospital]
    setting = Setting((2,) * 5, 4, split_on_zero_gain=True)
    tree = first_best_tree(rows, setting)
    canonical = json.dumps(tree, separators=(",", ":"), sort_keys=True)
    return {
        "source": "protocol section 14, T3",
        "attributes": ["N", "LP", "UP", "MP", "BU"],
        "classes": ["0", "1", "2", "3"],
        "hospitals": HOSPITALS,
        "rules": {"min_node": 1, "min_child": 1, "max_depth": None, "split_on_zero_gain": True},
        "root_scores": [_score(table_of(rows, attribute, setting)) for attribute in range(5)],
        "tree": tree,
        "sha256": hashlib.sha256(canonical.encode()).hexdigest(),
        "patient": {"codes": [0, 0, 1, 1, 1], "class": 2},
    }


def _float_trap() -> dict[str, Any]:
    first, second = FLOAT_TRAP
    return {
        "source": "protocol section 14, T8",
        "tables": FLOAT_TRAP,
        "exactly_equal": exact_score(first) == exact_score(second),
        "scores": [_score(first), _score(second)],
        "chosen": 0,
    }


def _score(table: Table) -> int:
    cells = sum(f_by_decimals(count, 32) for row in table for count in row)
    return cells - sum(f_by_decimals(sum(row), 32) for row in table)


def _entropy(counts: list[int]) -> Decimal:
    with localcontext() as context:
        context.prec = 50
        shares = [Decimal(count) / sum(counts) for count in counts if count]
        return -sum((share * share.ln() / Decimal(2).ln() for share in shares), Decimal(0))


if __name__ == "__main__":
    main()
