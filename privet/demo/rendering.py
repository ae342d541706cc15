"""The demo's result as text for a person."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any, Final

from privet.demo.learned import what_each_party_learned
from privet.demo.progress import plural
from privet.demo.result import DemoResult, SecretWork
from shared.tree.growth_rules import GrowthRules

_MIN_WIDTH: Final = 60
_MAX_WIDTH: Final = 110
_PART_NAMES: Final = {
    "total": "from start to tree",
    "count": "count records",
    "encrypt": "encrypt",
    "add": "add at the cloud",
    "decrypt": "decrypt",
    "choose": "check and choose",
    "transport": "transport",
    "freeze": "read and freeze records",
    "compute": "compute on shares",
    "wait": "wait for each other",
}
_OPENED: Final = {
    "choice": "choices (leaf, or the attribute asked)",
    "emptiness": "times whether a node is empty",
    "leaf_class": "classes of leaves",
    "position under a shuffle": "positions under fresh shuffles",
}
_PAPER_NOTE: Final = (
    "\nProfile paper protects too little for patients' data. The demo declared its data public test data and switched"
    "\nthe profile on at the cloud and in every hospital's policy."
)


def render(result: DemoResult, next_steps: Iterable[str]) -> str:
    """The tree, the comparison, what each party learned, what it cost, how to go on."""
    sections = [
        _headline(result),
        _tree(result),
        _comparison(result),
        *([_section("Computing on shares", _computing(result, result.secret))] if result.secret else []),
        _section("What each party learned", _table(what_each_party_learned(result))),
        _section("Seconds (parts added up over all parties, side by side)", _seconds(result.costs.seconds)),
        _section("Bytes by message type, with HTTP headers", _bytes(result.costs.bytes)),
        _section("How to go on", next_steps),
    ]
    return "\n\n".join(sections)


def _headline(result: DemoResult) -> str:
    options, seconds = result.options, result.costs.seconds["total"]
    if result.secret is not None:
        return (
            f"{result.records.title}\n"
            f"{len(result.trees)} hospitals with {len(result.records.rows)} records grew one tree on secret shares in "
            f"{plural(result.secret.rounds, 'round')} and {seconds:.2f} seconds.\n"
            f"Mode {options.mode}, frames {_way(result)}."
        )
    return (
        f"{result.records.title}\n"
        f"{len(result.trees)} hospitals with {len(result.records.rows)} records grew one tree in "
        f"{plural(len(result.rounds), 'round')} and {seconds:.2f} seconds.\n"
        f"Mode ppsdt, profile {options.profile}, {options.key_bits}-bit key{_in_shares(result)}, "
        f"{options.rules.criterion}{_pruned(options.rules)}."
        f"{_PAPER_NOTE if options.profile == 'paper' else ''}"
    )


def _pruned(rules: GrowthRules) -> str:
    return "" if rules.pruning is None else f", {rules.pruning.method} pruning"


def _in_shares(result: DemoResult) -> str:
    """Key mode threshold, in words."""
    if result.options.key_mode == "shared":
        return ""
    return f" in {len(result.trees)} shares that open a sum only together"


def _way(result: DemoResult) -> str:
    return "between the compute parties" if result.options.direct else "through the cloud"


def _computing(result: DemoResult, work: SecretWork) -> list[str]:
    opened = ", ".join(f"{count:,} {_OPENED.get(kind, kind)}" for kind, count in work.opened.items())
    sent = ", ".join(f"{party} {size:,}" for party, size in work.sent_bytes.items())
    lines = [
        f"rounds                 {work.rounds}",
        f"bytes of shares sent   {sent}",
        f"opened                 {opened}",
    ]
    if result.options.mode == "gain-ratio":
        tests, _ = _questions(result.tree.form)
        leaves = f"{tests + 1} leaves" if tests else "1 leaf"
        lines.append(f"at the end, to all     the tree: {plural(tests, 'test')}, {leaves}")
    return lines


def _tree(result: DemoResult) -> str:
    title = f"The tree ({result.records.note})" if result.records.note else "The tree"
    lines = result.tree.drawing.splitlines()
    questions, of_one_class = _questions(result.tree.form)
    if result.secret is not None and of_one_class:
        note = (
            f"Below {of_one_class} of {plural(questions, 'question')} all leaves have one class: the answers differ in "
            "how sure it is, which only counts would show, and none is opened."
        )
        lines += ["", *textwrap.wrap(note, _width())]
    return _section(title, lines)


def _questions(form: Mapping[str, Any]) -> tuple[int, int]:
    """How many questions a tree asks, and below how many of them all leaves have one class."""
    all_questions = of_one_class = 0
    open_nodes = [form]
    while open_nodes:
        node = open_nodes.pop()
        kids = list(node.get("branches", {}).values())
        all_questions += bool(kids)
        of_one_class += bool(kids) and len(_labels(node)) == 1
        open_nodes += kids
    return all_questions, of_one_class


def _labels(form: Mapping[str, Any]) -> set[str]:
    if "leaf" in form:
        return {form["leaf"]}
    return set().union(*map(_labels, form["branches"].values()))


def _comparison(result: DemoResult) -> str:
    if result.noise is not None:
        same = "yes" if result.agreed else "no"
        told = [f"same tree at all hospitals: {same}; by the noise it may differ from the exact tree"]
        wrapped = [part for line in result.noise.lines() for part in textwrap.wrap(line, _width()) or [""]]
        return "\n".join(told + [f"  {line}".rstrip() for line in wrapped])
    return "\n".join(
        (
            f"same tree as on the pooled records: {'yes' if result.equal else 'no'}",
            f"  hospitals  {result.tree.sha256}",
            f"  pooled     {result.pooled.tree.sha256}",
        )
    )


def _seconds(seconds: Mapping[str, float]) -> list[str]:
    return [f"{_PART_NAMES[part]:<22} {value:9.3f}" for part, value in seconds.items()]


def _bytes(sizes: Mapping[str, int]) -> list[str]:
    return [f"{kind:<22} {size:>9,}" for kind, size in sizes.items()]


def _table(rows: Iterable[tuple[str, str]]) -> list[str]:
    entries = list(rows)
    first = max(len(name) for name, _ in entries) + 2
    lines = []
    for name, text in entries:
        lines += textwrap.wrap(f"{name:<{first}}{text}", _width(), subsequent_indent=" " * first)
    return lines


def _width() -> int:
    """Columns within a section."""
    return min(_MAX_WIDTH, max(_MIN_WIDTH, shutil.get_terminal_size((100, 24)).columns)) - 2


def _section(title: str, lines: Iterable[str]) -> str:
    return "\n".join([title, *(f"  {line}".rstrip() for line in lines)])
