"""Mode I beside MPyC's secure ID3: three processes each, the same records, the same rule of stopping, one run.

Ours splits by information gain, MPyC's by Gini impurity, so the trees need not be equal; each is held against its own
oracle on the pooled records. A node ends if it is pure or has at most a twentieth of the records, as in MPyC's
demonstration. Both clocks start when the records are shared, and stop when the tree is known.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.parties import run_three
from shared.secure_tree.secret_id3_layout import Layout, record_bits
from shared.tree.counting import count_rows
from shared.tree.growing import grow
from shared.tree.growth_rules import GrowthRules
from shared.tree.schema import Attribute, Schema
from tests.support import reference_data

SETS: Final = ("balance-scale", "car-evaluation", "vote", "tic-tac-toe", "kr-vs-kp", "spect")
QUICK_SETS: Final = ("balance-scale", "vote")
SMALLEST_PART: Final = 20
"""A node with at most one in so many of all records ends."""
REPEATS: Final = 3
"""Of each way on each set, the quickest counts: a small set is over within a few time slices of a busy machine."""
LARGE: Final = (100_000, 20, 5, 4, 6)
QUICK_LARGE: Final = (10_000, 20, 5, 4, 4)
"""Random records: how many, attributes, values, classes, depth."""

SMOOTHING: Final = 8
"""As in `bench.mpyc_id3`, which cannot be imported: MPyC reads the command line."""

Rows = list[tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Run:
    """One way on one set: of the slowest party the time, of all parties the CPU time and what they sent."""

    wall_seconds: float
    cpu_seconds: float
    sent_bytes: int
    peak_bytes: int
    rounds: int | None
    nodes: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """Both ways on one set."""

    name: str
    records: int
    attributes: int
    ours: Run
    mpyc: Run | None

    @property
    def ratio(self) -> float | None:
        """How many times as fast ours is."""
        return self.mpyc.wall_seconds / self.ours.wall_seconds if self.mpyc else None


def measure_id3(*, quick: bool) -> list[Comparison]:
    """All sets, then the large one without MPyC. Raises: RuntimeError: a tree is not its oracle's."""
    found = []
    for name in QUICK_SETS if quick else SETS:
        schema, rows = records(name)
        least = len(rows) // SMALLEST_PART
        rules = {"min_node": least + 1, "min_child": 1, "max_depth": None, "split_on_zero_gain": True}
        # In turns, so that both meet the same machine.
        pairs = [(run_ours(schema, rows, rules), run_mpyc(schema, rows, least)) for _ in range(REPEATS)]
        ours, mpyc = (min(runs, key=lambda run: run.wall_seconds) for runs in zip(*pairs, strict=True))
        found.append(Comparison(name, len(rows), len(schema.attributes), ours, mpyc))
    count, attributes, values, classes, depth = QUICK_LARGE if quick else LARGE
    schema, rows = random_records(count, attributes, values, classes)
    ours = run_ours(schema, rows, {"max_depth": depth})
    return [*found, Comparison(f"random, depth {depth}", count, attributes, ours, None)]


def records(name: str) -> tuple[Schema, Rows]:
    """A public set; SPECT with both of its files, as MPyC has it."""
    if name != "spect":
        case = reference_data.load(name)
        return case.schema, case.codes
    schema = reference_data.load("spect-train").schema
    rows = []
    for file in ("SPECT.train", "SPECT.test"):
        for line in (reference_data.DATA / "spect-heart" / file).read_text(encoding="utf-8").split():
            label, *fields = line.split(",")
            codes = (a.code_of(text) for a, text in zip(schema.attributes, fields, strict=True))
            rows.append((*codes, schema.class_code(label)))
    return schema, rows


def random_records(count: int, attributes: int, values: int, classes: int) -> tuple[Schema, Rows]:
    """Uniform records, always the same: nothing stops the tree but its depth and its least sizes."""
    drawn = np.random.default_rng(1).integers(0, [values] * attributes + [classes], (count, attributes + 1))
    columns = [Attribute(f"a{i}", tuple(f"v{v}" for v in range(values))) for i in range(attributes)]
    schema = Schema.create(columns, "class", [f"c{c}" for c in range(classes)])
    return schema, [tuple(row) for row in drawn.tolist()]


def run_ours(schema: Schema, rows: Rows, rules: dict[str, Any]) -> Run:
    """Three real processes over the direct transport."""
    bits = record_bits(Layout.of(schema, len(rows)), rows)
    arguments = {"schema": schema.to_json(), "rules": rules}
    results = run_three("bench.id3_program:id3", arguments, binary={"bits": bits})
    expected = grow(schema, GrowthRules(**rules), lambda queries: count_rows(rows, queries, schema)).tree
    if any(result.value != expected.canonical().decode() for result in results):
        raise RuntimeError("the secret tree is not the tree of the pooled records")
    return Run(
        max(result.wall_seconds for result in results),
        sum(result.cpu_seconds for result in results),
        sum(result.sent_bytes for result in results),
        max(result.peak_bytes for result in results),
        results[0].rounds,
        expected.node_count,
    )


def run_mpyc(schema: Schema, rows: Rows, least: int) -> Run:
    """Three processes that MPyC starts itself, over TCP on loopback."""
    values = [len(attribute.values) for attribute in schema.attributes]
    case = {"rows": rows, "values": values, "classes": schema.class_count, "least": least}
    with tempfile.TemporaryDirectory() as folder:
        file, result = Path(folder, "case.json"), Path(folder, "result")
        file.write_text(json.dumps(case | {"result": str(result)}), encoding="utf-8")
        script = Path(__file__).with_name("mpyc_id3.py")
        subprocess.run(
            [sys.executable, str(script), "-M3", str(file)], check=True, capture_output=True, timeout=600
        )
        parties = [json.loads(Path(f"{result}.{party}").read_text(encoding="utf-8")) for party in range(3)]
    nodes = dict(parties[0]["nodes"])
    if canonical(nodes) != plain_gini(rows, values, schema.class_count, least):
        raise RuntimeError("MPyC's tree is not the one by Gini impurity of the pooled records")
    return Run(
        max(party["wall_seconds"] for party in parties),
        sum(party["cpu_seconds"] for party in parties),
        sum(party["sent_bytes"] for party in parties),
        max(party["peak_bytes"] for party in parties),
        None,
        len(nodes),
    )


def canonical(nodes: dict[int, Any], number: int = 0) -> Any:
    """Nested lists [attribute, kids], or a class."""
    what = nodes[number]
    return what if isinstance(what, int) else [what[0], [canonical(nodes, kid) for kid in what[1]]]


def plain_gini(rows: Rows, values: Sequence[int], classes: int, least: int) -> Any:
    """What `bench.mpyc_id3` grows, on plain rows."""

    def visit(some: Rows, left: tuple[int, ...]) -> Any:
        sizes = [sum(row[-1] == c for row in some) for c in range(classes)]
        if not left or max(sizes) == len(some) or len(some) <= least:
            return sizes.index(max(sizes))
        best = max(left, key=lambda a: worth(some, a))
        rest = tuple(a for a in left if a != best)
        return [best, [visit([row for row in some if row[best] == v], rest) for v in range(values[best])]]

    def worth(some: Rows, attribute: int) -> Fraction:
        cells = Counter((row[attribute], row[-1]) for row in some)
        sizes = Counter(row[attribute] for row in some)
        squares = Counter[int]()
        for (value, _), count in cells.items():
            squares[value] += count * count
        return sum((Fraction(squares[v], SMOOTHING * sizes[v] + 1) for v in squares), Fraction(0))

    return visit(list(rows), tuple(range(len(values))))


def print_id3(found: Sequence[Comparison], console: Console) -> None:
    """One line a set and way."""
    table = Table(
        title="Mode I (information gain) beside MPyC's secure ID3 (Gini), three processes each, best of 3"
    )
    for column in ("records", "", "wall s", "CPU s, all", "MB sent, all", "peak MB", "rounds", "nodes"):
        table.add_column(column, justify="left" if column in ("records", "") else "right")
    for each in found:
        label = f"{each.name}, {each.records:,} x {each.attributes}"
        for way, run in (("Privet", each.ours), ("MPyC", each.mpyc)):
            if run is not None:
                table.add_row(label, way, *_columns(run))
                label = f"{each.ratio:.1f} times as fast" if each.ratio else ""
    console.print(table)


def _columns(run: Run) -> list[str]:
    return [
        f"{run.wall_seconds:.3f}",
        f"{run.cpu_seconds:.2f}",
        f"{run.sent_bytes / 1e6:.1f}",
        f"{run.peak_bytes / 1e6:.0f}",
        "" if run.rounds is None else str(run.rounds),
        str(run.nodes),
    ]


def figures(found: Sequence[Comparison]) -> list[dict[str, Any]]:
    """The same for a file."""
    return [asdict(each) | {"ratio": each.ratio} for each in found]
