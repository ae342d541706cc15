"""Baseline of mode I: secure ID3 by Gini impurity in MPyC, on Shamir shares, level by level on secure arrays.

The algorithm is the one MPyC's own demonstration follows: a node ends if one class has all its records or if it has
at most a given number of them, both opened as one bit; otherwise it splits on the attribute with the greatest
sum_v (sum_c n_vc^2) / (8 n_v + 1). The code is our own. The demonstration grows node by node and multiplies the
vectors of all values into every node; here all nodes of a level are decided together and only the vectors of the
classes are multiplied, so this is the faster of the two.

Source: S. de Hoogh, B. Schoenmakers, P. Chen, H. op den Akker, "Practical secure decision tree learning in a
teletreatment application", FC 2014.

A script of its own, because MPyC starts its parties by the script's name: `python bench/mpyc_id3.py -M3 case.json`.
Each party leaves its result in a file.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from mpyc.runtime import mpc

SMOOTHING = 8
"""The publication's factor, so that no denominator is 0; `bench.mpc_id3` has it too."""


class Ratios:
    """Fractions (top, bottom) with positive bottoms, along the last axis, ordered by cross products."""

    size = 2

    def __init__(self, pairs: Any) -> None:
        self.top, self.bottom = pairs[..., 0], pairs[..., 1]

    def __lt__(self, other: Ratios) -> Any:
        return mpc.np_less(self.top * other.bottom, other.top * self.bottom)


def integer_bits(values: list[int], records: int) -> int:
    """Bits that hold every difference of cross products, with a sign."""
    bottom = max(prod([SMOOTHING * records // count + 2] * count) for count in values)
    return (records * bottom * bottom).bit_length() + 2


def worth(counts: Any, values: list[int]) -> Any:
    """Ratios of all attributes of some nodes.

    Args: counts: secret, (nodes, classes, table rows). Returns: (nodes, attributes, 2).
    """
    nodes, width = len(counts), 1 << (max(values) - 1).bit_length()
    tops, bottoms = (counts * counts).sum(axis=1), SMOOTHING * counts.sum(axis=1) + 1
    # Every attribute is filled up with fractions 0 / 1.
    starts = np.cumsum([0, *values[:-1]])
    place = np.array(
        [
            [start + min(v, count - 1) for v in range(width)]
            for start, count in zip(starts, values, strict=True)
        ]
    )
    real = np.array([[int(v < count) for v in range(width)] for count in values])
    top = tops[:, place.reshape(-1)].reshape(nodes, len(values), width) * real
    bottom = bottoms[:, place.reshape(-1)].reshape(nodes, len(values), width) * real + (1 - real)
    while width > 1:
        left, right = (np.s_[:, :, side::2] for side in (0, 1))
        top = top[left] * bottom[right] + top[right] * bottom[left]
        bottom = bottom[left] * bottom[right]
        width //= 2
    return mpc.np_concatenate((top, bottom), axis=2)


async def grow(members_of: Any, classes: Any, values: list[int], least: int) -> dict[int, Any]:
    """Nodes by number: a class index, or an attribute and the numbers of its children.

    Args: members_of: secret bits, (table rows, n). classes: secret bits, (classes, n). least: records that still end
        a node.
    """
    starts = np.cumsum([0, *values[:-1]])
    by_value = members_of.T
    nodes: dict[int, Any] = {}
    numbers, left = [0], [list(range(len(values)))]
    members = None
    count, records = 1, members_of.shape[1]
    class_count = classes.shape[0]
    while numbers:
        if members is None:
            of_class = classes.reshape(1, class_count, records)
        else:
            of_class = members.reshape(len(numbers), 1, records) * classes.reshape(1, class_count, records)
        sizes = of_class.sum(axis=2)
        label, most = mpc.np_argmax(sizes, axis=1, arg_only=False)
        size = sizes.sum(axis=1)
        ended = [not some for some in left]
        if not all(ended):
            goes_on = await mpc.np_is_zero_public((size <= least) + (most.reshape(len(numbers)) == size))
            ended = [is_used or not zero for is_used, zero in zip(ended, goes_on.tolist(), strict=True)]
        leaves, splits = ([i for i, end in enumerate(ended) if end == kind] for kind in (True, False))
        if leaves:
            for i, opened in zip(leaves, await mpc.output(label[leaves]), strict=True):
                nodes[numbers[i]] = int(opened)
        if not splits:
            break
        chosen_class = of_class[splits]
        counts = mpc.np_matmul(chosen_class.reshape(len(splits) * class_count, records), by_value)
        ratios = worth(counts.reshape(len(splits), class_count, sum(values)), values)
        open_here = np.array([left[i] for i in splits])
        rows = np.arange(len(splits))[:, None]
        best = await mpc.output(
            mpc.np_argmax(ratios[rows, open_here], axis=1, key=Ratios)
            if open_here.shape[1] > 1
            else type(ratios)(np.zeros(len(splits), dtype=int))
        )
        parents, table_rows, new_numbers, new_left = [], [], [], []
        for i, place in zip(splits, best, strict=True):
            attribute = left[i][int(place)]
            kids = list(range(count, count + values[attribute]))
            count += values[attribute]
            nodes[numbers[i]] = (attribute, kids)
            parents += [i] * len(kids)
            table_rows += [int(starts[attribute]) + v for v in range(len(kids))]
            new_numbers += kids
            new_left += [[a for a in left[i] if a != attribute]] * len(kids)
        vectors = members_of[table_rows]
        members = vectors if members is None else members[parents] * vectors
        numbers, left = new_numbers, new_left
    return nodes


async def main(case: dict[str, Any]) -> None:
    """Share the records, grow, tell what it took."""
    codes = np.array(case["rows"]).T
    values, class_count = case["values"], case["classes"]
    secret = mpc.SecInt(integer_bits(values, codes.shape[1]))
    bits = np.array([codes[a] == v for a, count in enumerate(values) for v in range(count)], dtype=int)
    labels = np.array([codes[-1] == c for c in range(class_count)], dtype=int)
    await mpc.start()
    shared = mpc.input(secret.array(bits), senders=0), mpc.input(secret.array(labels), senders=0)
    await mpc.gather(*shared)
    begun, cpu = time.perf_counter(), time.process_time()
    nodes = await grow(*shared, values, case["least"])
    result = {
        "wall_seconds": time.perf_counter() - begun,
        "cpu_seconds": time.process_time() - cpu,
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "sent_bytes": sum(peer.protocol.nbytes_sent for peer in mpc.parties if peer.pid != mpc.pid),
        "nodes": [[number, what] for number, what in sorted(nodes.items())],
    }
    await mpc.shutdown()
    Path(f"{case['result']}.{mpc.pid}").write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    mpc.run(main(json.loads(Path(sys.argv[-1]).read_text(encoding="utf-8"))))
