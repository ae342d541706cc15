"""What one compute party knows after a program, and how far that differs between two inputs.

A party knows its parts of the input, what it drew from its two streams, and what it was sent. And it can foresee: on
the guess that the input is the first of the two, it knows all parts, and works out what it would be sent if the two
others had no masks in common. What it was sent is looked at as it is and with what was foreseen taken off, alone and in
sums, differences and XORs with each other array of its shape that the party knows; compared between the two
inputs are the frequencies of half-bytes. A message without a fresh mask, or two with the same one, stand out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from shared.mpc import permutation
from shared.mpc.local import run_local
from shared.mpc.program import Party, Program, Round, Spec
from shared.mpc.prss import Prss, Stream
from shared.mpc.random_permutation import draw_permutation
from shared.mpc.ring import U8, U32, U64, Words
from shared.mpc.sharing import PARTIES, BinaryShare, Share
from tests.support.mpc import opened, seeded_random_bytes

Input = list[tuple[Any, Any, Any]]
"""Each shared array as the shares of the three parties."""
ALL: frozenset[int] = frozenset(range(PARTIES))
BOUND, SURE = 7.0, 50.0
"""Standard deviations; what is broken comes to dozens and more."""
AGAIN = 100
HASH = Spec((32,), U8)
MANY = 200
"""Words from which on their half-bytes are looked at place by place."""


@dataclass(frozen=True)
class Case:
    """A program and two inputs for it."""

    program: Callable[..., Program[Any]]
    inputs: tuple[Input, Input]


@dataclass(frozen=True)
class Break:
    """What is broken on purpose, by keys: key i is common to parties i - 1 and i.

    silent: zeros are drawn, and permutations that move nothing. still: only such permutations. repeating: every draw
    gives the same bytes.
    """

    silent: frozenset[int] = frozenset()
    still: frozenset[int] = frozenset()
    repeating: bool = False


@dataclass
class View:
    """What one party knows, in the order in which it came to know it."""

    own: list[Words] = field(default_factory=list)
    received: list[Words] = field(default_factory=list)


class Noted(Stream):
    """A stream, broken or not, whose draws are noted."""

    def __init__(self, inner: Stream, key: int, broken: Break, view: View) -> None:
        self.inner, self.view = inner, view
        self.is_silent = key in broken.silent
        self.is_still = self.is_silent or key in broken.still
        self.piece = inner.words(2**17, U8) if broken.repeating else None

    def words(self, shape: Any, dtype: Any) -> Words:
        if self.is_silent:
            drawn = np.zeros(shape, dtype)
        elif self.piece is not None:
            size = int(np.prod(shape)) * np.dtype(dtype).itemsize
            drawn = self.piece[:size].copy().view(dtype).reshape(shape)
        else:
            drawn = self.inner.words(shape, dtype)
        self.view.own.append(drawn.copy())
        return drawn


def noted_permutation(stream: Any, size: int) -> Any:
    """In place of `draw_permutation`: the throws are not noted, the permutation is."""
    drawn = np.arange(size, dtype=np.int32) if stream.is_still else draw_permutation(stream.inner, size)
    stream.view.own.append(drawn.view(U32).copy())
    return drawn


def distance(case: Case, broken: Break | None = None, seed: int = 70) -> float:
    """The largest of all two-sample chi-square statistics of all parties, in standard deviations over its mean.

    There are thousands of them, so some stand out by chance: what is a little above the bound is not believed before
    it is seen again. Where one is far above it, the search ends.
    """
    pair = [views(case, which, seed + which, broken or Break()) for which in range(2)]
    largest = max(_furthest(first, second) for first, second in zip(*pair, strict=True))
    if largest < BOUND or largest > SURE or seed >= AGAIN:
        return largest
    return min(largest, distance(case, broken, seed + AGAIN))


def distance_of_messages(case: Case, broken: Break | None = None, runs: int = 1, seed: int = 70) -> float:
    """The same for long programs: of what came from others and what foresight leaves of it, over several runs.

    Hashes of openings are left out: those of short parts are foreseen now and then, whole or not at all, and say no
    more than the part that comes beside them.
    """
    tables: list[list[Words]] = []
    for which in range(2):
        counts: list[Words] = []
        for turn in range(runs):
            seen = views(case, which, seed + 10 * turn + which, broken or Break())
            sent = [
                words for view in seen for words in view.received if words.size and Spec.of(words) != HASH
            ]
            found = [_half_bytes(words, places=False) for words in sent]
            counts = [one + other for one, other in zip(counts, found, strict=True)] if turn else found
        tables.append(counts)
    largest = max(_statistic(one, other) for one, other in zip(*tables, strict=True))
    if largest < BOUND or largest > SURE or seed >= AGAIN:
        return largest
    return min(largest, distance_of_messages(case, broken, runs, seed + AGAIN))


def hears_nothing(case: Case, party: int) -> bool:
    """Whether a party is sent nothing at all."""
    return not _run(case, case.inputs[0], 70, Break())[party].received


def views(case: Case, which: int, seed: int, broken: Break) -> list[View]:
    """The three views of a run on one of the inputs, and besides what was sent what is left of it after foresight."""
    inputs, guess = case.inputs[which], [opened(given) for given in case.inputs[0]]
    seen = _run(case, inputs, seed, broken)
    for party, view in enumerate(seen):
        guessed = [_completed(given, plain, party) for given, plain in zip(inputs, guess, strict=True)]
        blind = replace(broken, silent=broken.silent | {(party + 2) % PARTIES})
        foreseen = _run(case, guessed, seed, blind)[party].received
        for words, expected in list(zip(view.received, foreseen, strict=True)):
            view.received.append(words ^ expected)
            if words.dtype in (U32, U64):
                view.received.append(words - expected)
    return seen


def _run(case: Case, inputs: Input, seed: int, broken: Break) -> list[View]:
    seen = [View() for _ in range(PARTIES)]
    open_places = permutation._open_places

    def program(party: Party) -> Program[Any]:
        view, shares = seen[party.index], [given[party.index] for given in inputs]
        for share in shares:
            view.own += [share.own, share.next]
        before = Noted(party.prss.previous, party.index, broken, view)
        after = Noted(party.prss.next, (party.index + 1) % PARTIES, broken, view)
        return case.program(replace(party, prss=Prss(before, after)), *shares)

    def noted_places(party: Party, half: Words) -> Program[Any]:
        places = yield from open_places(party, half)
        if places is not None:
            seen[party.index].received.append(places.view(U32).copy())
        return places

    def tap(_: int, party: int, sent: Round) -> Round:
        seen[party - 1].received.extend(words.copy() for words in sent.to_previous)
        seen[(party + 1) % PARTIES].received.extend(words.copy() for words in sent.to_next)
        return sent

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(permutation, "draw_permutation", noted_permutation)
        patch.setattr(permutation, "_open_places", noted_places)
        run_local(program, seeded_random_bytes(seed), tap)
    return seen


def _completed(given: tuple[Any, Any, Any], plain: Words, party: int) -> tuple[Any, Any, Any]:
    """All shares, as a party must take them to be if the plaintext is this one."""
    own, following = given[party].own, given[party].next
    is_binary = isinstance(given[party], BinaryShare)
    parts: list[Any] = [None] * PARTIES
    parts[party], parts[(party + 1) % PARTIES] = own, following
    parts[(party + 2) % PARTIES] = plain ^ own ^ following if is_binary else plain - own - following
    kind = BinaryShare if is_binary else Share
    return kind(parts[0], parts[1]), kind(parts[1], parts[2]), kind(parts[2], parts[0])


def _furthest(first: View, second: View) -> float:
    assert [words.shape for words in first.received] == [words.shape for words in second.received]
    largest = 0.0
    for x, y in zip(_features(first), _features(second), strict=True):
        largest = max(largest, _statistic(_half_bytes(x), _half_bytes(y)))
        if largest > SURE:
            break
    return largest


def _statistic(one: Words, other: Words) -> float:
    """In standard deviations over its mean; of rows the largest."""
    chi_square = ((one - other) ** 2 / np.maximum(one + other, 1)).sum(axis=1).max()
    return float((chi_square - 15) / np.sqrt(2 * 15))


def _features(view: View) -> Iterator[Words]:
    """Every array that came from others, and its combinations with one more that the party knows."""
    lines = {words.shape for words in view.received if words.dtype == U32 and words.ndim == 1}
    known = [*view.received, *view.own, *(np.arange(*shape, dtype=U32) for shape in sorted(lines))]
    yield from view.received
    groups: dict[tuple[Any, Any], list[Words]] = {}
    for words in known:
        groups.setdefault((words.shape, words.dtype), []).append(words)
    received = {id(words) for words in view.received}
    for members in groups.values():
        for place, words in enumerate(members):
            if id(words) in received:
                for other in members[place + 1 :]:
                    yield from _mixed(words, other)


def _mixed(x: Words, y: Words) -> Sequence[Words]:
    return (x ^ y, x + y, x - y) if x.dtype in (U32, U64) else (x ^ y,)


def _half_bytes(words: Words, places: bool = True) -> Words:
    """How often each half-byte occurs, by its place in the word; for few words all places together."""
    octets = np.ascontiguousarray(words).view(U8).reshape(-1, words.itemsize)
    halves = np.concatenate([octets & 15, octets >> 4], axis=1)
    if not places or len(octets) < MANY:
        halves = halves.reshape(-1, 1)
    rows = halves.shape[1]
    found = np.bincount((halves + 16 * np.arange(rows)).reshape(-1), minlength=16 * rows)
    return found.reshape(rows, 16)
