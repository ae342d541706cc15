"""Baseline of the engine's primitives: the same operations on MPyC's secure arrays of integers of 64 bits.

A script of its own, because MPyC starts its parties by the script's name: `python bench/mpyc_primitives.py -M3 RESULT
SIZE`. Each party leaves its seconds in a file.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from mpyc.runtime import mpc

BITS = 64
PRODUCTS_A_COMPARISON = 100
"""So many more products than comparisons are asked, because they take so much less."""


async def main(result: str, size: int) -> None:
    """Share numbers, time each operation once; the clock stops when the shares of its results are there."""
    secret = mpc.SecInt(BITS)
    random = np.random.default_rng(0)
    values = random.integers(1, 2**16, (2, PRODUCTS_A_COMPARISON * size))
    await mpc.start()
    x, y = (mpc.input(secret.array(row.astype(object)), senders=0) for row in values)
    await mpc.gather(x, y)
    few_x, few_y = x[:size], y[:size]
    spent: dict[str, Any] = {}
    for name, count, operation in (
        ("multiply", len(values[0]), lambda: x * y),
        ("less than", size, lambda: few_x < few_y),
        ("equal", size, lambda: few_x == few_y),
    ):
        begun, cpu = time.perf_counter(), time.process_time()
        await mpc.gather(operation())
        spent[name] = {
            "elements": count,
            "wall_seconds": time.perf_counter() - begun,
            "cpu_seconds": time.process_time() - cpu,
        }
    await mpc.shutdown()
    Path(f"{result}.{mpc.pid}").write_text(json.dumps(spent), encoding="utf-8")


if __name__ == "__main__":
    mpc.run(main(sys.argv[-2], int(sys.argv[-1])))
