"""The published protocol three times on the same records under the same key: plain, `paper`, `hardened`.

(a) plain: `bench.plain_ppsdt`. (b), (c): Privet's own steps in this process (`bench.product`), and the whole job over
HTTP, each party a process of its own (`bench.whole_job`). All grow by the publication's rules, so the trees are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from bench import plain_ppsdt
from bench.plain_ppsdt import PlainFederation
from bench.primitives import PrimitiveCosts
from bench.product import CRYPTOGRAPHY, PARTS, Run, run_product
from bench.records import Dealt, demo_records
from bench.whole_job import WholeJob, run_whole_job
from shared.crypto.paillier_private import PrivateKey
from tests.support.toy_keys import fixed_key

REPEATS: Final = 3
"""Runs of Privet: the median of those in this process, the quickest over HTTP. The baseline is long and runs once."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Runs at one key size. `whole`: the hardened job over HTTP; None where it was not asked for."""

    key_bits: int
    plain: plain_ppsdt.Costs
    plain_tree_sha256: str
    paper: Run
    hardened: Run
    primitives: PrimitiveCosts | None = None
    whole: WholeJob | None = None

    @property
    def floor_seconds(self) -> float:
        """The hardened run's floor; see `floor_seconds`."""
        return 0.0 if self.primitives is None else floor_seconds(self.hardened, self.primitives)

    def figures(self) -> dict[str, Any]:
        """For JSON: what the tables show."""
        figures: dict[str, Any] = {
            "key_bits": self.key_bits,
            "trees_equal": self.trees_equal,
            "plain": {
                "encryptions": self.plain.encryptions,
                "decryptions": self.plain.decryptions,
                "bytes": self.plain.bytes,
                "seconds": self.plain.seconds,
            },
            "paper": _run_figures(self.paper),
            "hardened": _run_figures(self.hardened),
            "ratios": dict(ratios(self)),
            "floor_seconds": self.floor_seconds,
            "ciphertext_bytes": self.hardened.ciphertext_bytes(self.key_bits),
        }
        if self.whole is not None:
            figures["whole"] = {"seconds": self.whole.seconds, "bytes": self.whole.bytes}
        return figures

    @property
    def trees_equal(self) -> bool:
        """Whether all runs gave one tree."""
        trees = {self.plain_tree_sha256, self.paper.tree_sha256, self.hardened.tree_sha256}
        if self.whole is not None:
            trees.add(self.whole.tree_sha256)
        return len(trees) == 1


def compare_in_process(records: Dealt, key: PrivateKey, repeats: int = REPEATS) -> Comparison:
    """(a), (b) and (c) without a network; `repeats` runs of ours before the baseline and as many after it.

    A core that is shared is slower for minutes at a time, so runs far apart meet the same average as the baseline.
    """
    federation = PlainFederation(records.hospitals, records.values, records.classes, key.p, key.q)
    before = [_both(records, key) for _ in range(repeats)]
    tree = federation.train()
    after = [_both(records, key) for _ in range(repeats)]
    paper, hardened = zip(*before, *after, strict=True)
    return Comparison(
        key_bits=key.public.bits,
        plain=federation.costs,
        plain_tree_sha256=tree.sha256,
        paper=_median(paper),
        hardened=_median(hardened),
    )


def _both(records: Dealt, key: PrivateKey) -> tuple[Run, Run]:
    return run_product(records, key, "paper"), run_product(records, key, "hardened")


def _median(runs: Sequence[Run]) -> Run:
    return sorted(runs, key=lambda run: run.cryptography_seconds)[(len(runs) - 1) // 2]


def compare(primitives: PrimitiveCosts, *, quick: bool) -> Comparison:
    """Everything at one key size, on the demo's records; quick: the whole job runs once, not three times."""
    here = compare_in_process(demo_records(), fixed_key(primitives.bits), 1 if quick else REPEATS)
    whole = run_whole_job(primitives.bits, "hardened", 1 if quick else REPEATS)
    return Comparison(
        here.key_bits, here.plain, here.plain_tree_sha256, here.paper, here.hardened, primitives, whole
    )


def floor_seconds(run: Run, primitives: PrimitiveCosts) -> float:
    """CPU seconds that the modular exponentiations of a run cannot go below with these primitives.

    Every ciphertext that was really sent, encrypted with a fixed-base table (the table itself left out); every
    plaintext that had to be opened, modulo one prime where that is enough; one batched check a hospital and sum,
    which costs a decryption; and the products of the sums. No signatures, RSA, masks, tags, packing or parsing.
    """
    opened = run.decryptions + run.half_decryptions / 2 + run.checks
    products = run.summed * (run.hospitals - 1)
    milliseconds = (
        run.encryptions * primitives.encrypt + opened * primitives.decrypt + products * primitives.product
    )
    return milliseconds / 1000


def ratios(made: Comparison) -> list[tuple[str, float]]:
    """What the main job's targets speak of; a factor each."""
    crypto = sum(made.plain.seconds[part] for part in ("encrypt", "add", "decrypt"))
    found = [
        ("CPU of cryptography, plain / paper (target 5)", crypto / made.paper.cryptography_seconds),
        ("CPU of cryptography, plain / hardened (target 100)", crypto / made.hardened.cryptography_seconds),
        (
            "the same with the key's tables counted in",
            crypto / (made.hardened.cryptography_seconds + made.hardened.seconds["tables"]),
        ),
        ("bytes of bodies, plain / paper", made.plain.bytes / made.paper.bytes),
        ("bytes of bodies, plain / hardened", made.plain.bytes / made.hardened.bytes),
        (
            "bytes, plain / hardened's ciphertexts alone",
            made.plain.bytes / made.hardened.ciphertext_bytes(made.key_bits),
        ),
    ]
    if made.primitives is not None:
        found.append(
            (
                "hardened / its floor (target at most 2.5)",
                made.hardened.cryptography_seconds / made.floor_seconds,
            )
        )
    if made.whole is not None:
        found += [
            (
                "plain's CPU / whole job's wall (target 20)",
                made.plain.total_seconds / made.whole.seconds["total"],
            ),
            (
                "bytes, plain / whole job with headers (target 50)",
                made.plain.bytes / made.whole.bytes["total"],
            ),
        ]
    return found


def _run_figures(run: Run) -> dict[str, Any]:
    return {
        "rounds": run.rounds,
        "encryptions": run.encryptions,
        "decryptions": run.decryptions,
        "half_decryptions": run.half_decryptions,
        "checks": run.checks,
        "seconds": run.seconds,
        "cryptography_seconds": run.cryptography_seconds,
        "bytes": run.bytes,
        "bytes_by_type": run.bytes_by_type,
    }


def print_comparison(made: Comparison, console: Console) -> None:
    """The tables of one key size."""
    console.print(_costs_table(made))
    table = Table(title=f"Ratios, {made.key_bits} bits")
    table.add_column("ratio")
    table.add_column("factor", justify="right")
    for name, factor in ratios(made):
        table.add_row(name, f"{factor:.1f}")
    console.print(table)
    console.print(_bytes_table(made))
    console.print(f"one tree in all runs: {'yes' if made.trees_equal else 'NO'}")


def _costs_table(made: Comparison) -> Table:
    table = Table(
        title=f"The demo's records, {made.hardened.hospitals} hospitals, {made.key_bits} bits: CPU seconds, all parties"
    )
    table.add_column("part")
    for name in ("(a) plain", "(b) paper", "(c) hardened"):
        table.add_column(name, justify="right")
    runs = (made.paper, made.hardened)
    for part in PARTS:
        own = made.plain.seconds.get(part)
        table.add_row(
            part, "-" if own is None else f"{own:.4f}", *(f"{run.seconds[part]:.4f}" for run in runs)
        )
    table.add_section()
    plain = sum(made.plain.seconds.get(part, 0.0) for part in CRYPTOGRAPHY)
    table.add_row("cryptography", f"{plain:.4f}", *(f"{run.cryptography_seconds:.4f}" for run in runs))
    if made.primitives is not None:
        table.add_row("floor of (c)", "", "", f"{made.floor_seconds:.4f}")
    table.add_section()
    for name, first, others in _count_rows(made, runs):
        table.add_row(name, str(first), *(str(other) for other in others))
    return table


def _count_rows(made: Comparison, runs: Sequence[Run]) -> list[tuple[str, int | str, list[int]]]:
    return [
        ("encryptions", made.plain.encryptions, [run.encryptions for run in runs]),
        ("decryptions", made.plain.decryptions, [run.decryptions for run in runs]),
        ("modulo one prime only", "-", [run.half_decryptions for run in runs]),
        ("batched zero checks", "-", [run.checks for run in runs]),
        ("bytes of bodies", made.plain.bytes, [run.bytes for run in runs]),
    ]


def _bytes_table(made: Comparison) -> Table:
    table = Table(title=f"Bytes of the hardened job, {made.key_bits} bits, as they travel")
    table.add_column("message")
    table.add_column("bodies", justify="right")
    for kind, size in sorted(made.hardened.bytes_by_type.items(), key=lambda item: -item[1]):
        table.add_row(kind, str(size))
    table.add_section()
    table.add_row("all bodies", str(made.hardened.bytes))
    table.add_row("ciphertexts alone, as raw bytes", str(made.hardened.ciphertext_bytes(made.key_bits)))
    if made.whole is not None:
        table.add_row("over HTTP, headers and polls included", str(made.whole.bytes["total"]))
    return table
