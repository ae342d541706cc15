"""What each party learned in this run: the table of protocol section 12, with the run's own numbers."""

from __future__ import annotations

from collections.abc import Sequence

from privet.demo.progress import plural
from privet.demo.result import DemoResult
from shared.tree.model import Split


def what_each_party_learned(result: DemoResult) -> list[tuple[str, str]]:
    """(party, what it learned), in the order of the protocol's table."""
    if result.secret is not None:
        return _secret(result, list(result.secret.sent_bytes))
    if result.options.profile == "paper":
        return _paper(result)
    return _hardened(result)


def _hardened(result: DemoResult) -> list[tuple[str, str]]:
    return [
        ("cloud", f"who takes part, and sizes: {_sizes(result)}; no count, no attribute, no record"),
        (
            "every hospital",
            f"{_sums(result)} over all hospitals together, and the tree; no other hospital's counts",
        ),
        (
            "hospital and cloud",
            "together no more than a hospital alone, while two other hospitals are honest",
        ),
        ("trusted authority", "nothing: it was offline; it could decrypt sums that it intercepts"),
        (
            f"{len(result.trees) - 1} hospitals together",
            f"the last one's counts{_but_for_noise(result)}, by subtraction: why at least 3 must take part",
        ),
    ]


def _but_for_noise(result: DemoResult) -> str:
    return "" if result.noise is None else " with its own part of the noise"


def _secret(result: DemoResult, parties: Sequence[str]) -> list[tuple[str, str]]:
    computed = ", ".join(parties)
    others = [str(h.id) for h in result.records.hospitals if h.id not in parties]
    opened = (
        "leaf or attribute of each node as it is decided, and the classes of leaves: all of it stands in the tree"
        if result.options.mode == "id3"
        else "positions under fresh shuffles, which say nothing; the tree itself only at its end"
    )
    rows = [
        ("cloud", "who takes part, how many records each shares, sizes and times of sealed frames"),
        (f"compute parties {computed}", f"each alone: {opened}; no count, no record"),
        ("every hospital", "the tree; no count, no other hospital's record"),
        ("two compute parties together", "every shared record: why three independent hospitals must compute"),
        ("trusted authority", "nothing"),
    ]
    if others:
        rows.insert(
            2, (f"hospitals {', '.join(others)}", "shared their records, computed nothing, learned the tree")
        )
    return rows


def _paper(result: DemoResult) -> list[tuple[str, str]]:
    splits = sum(isinstance(node, Split) for node in result.pooled.tree.nodes())
    return [
        (
            "cloud",
            f"who takes part, every nonce, the shape of the tree with its {splits} attributes, {_sizes(result)}",
        ),
        ("every hospital", f"{_sums(result)} over all hospitals together, and the tree"),
        ("... with others' traffic", "differences of the other hospitals' own counts"),
        ("hospital and cloud", "together the counts of each single hospital"),
        ("trusted authority", "nothing: it was offline; it could decrypt sums that it intercepts"),
        (
            "therefore",
            "profile paper is for public test data; the default profile hardened closes these gaps",
        ),
    ]


def _sizes(result: DemoResult) -> str:
    nodes = ", ".join(str(each.nodes) for each in result.rounds)
    sums = ", ".join(str(each.sums) for each in result.rounds)
    return f"{plural(len(result.rounds), 'round')} with {nodes} open nodes and {sums} sums"


def _sums(result: DemoResult) -> str:
    nodes = sum(each.nodes for each in result.rounds)
    return f"the {'' if result.noise is None else 'noisy '}counts of {nodes} nodes"
