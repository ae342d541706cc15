"""The best of many candidates, level by level; on equal ones the first wins. Words ride along with the winners.

Numbers decide, and are carried by the comparison itself. The words of a candidate (its code, its column) stay
XOR-shared and follow the bits of the comparisons one round later, beside the next level.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from shared.mpc.arithmetic import conjunction_terms, reshare_binary
from shared.mpc.program import Party, Program, together
from shared.mpc.selection import word_masks
from shared.mpc.sharing import BinaryShare
from shared.secure_tree.gain_ratio.arrays import joined
from shared.secure_tree.gain_ratio.matches import Entrants, Match

Riding = list[BinaryShare]
Follow = Callable[[Riding], Program[Riding]]
"""The words of a level's winners, from those of its candidates."""
Play = Callable[[Party, Entrants], Program[tuple[Entrants, Follow]]]
"""One level: from some candidates to fewer."""


def knock_out(
    party: Party, entrants: Sequence[Any], words: Sequence[BinaryShare], play: Play
) -> Program[tuple[Entrants, Riding]]:
    """The best along the first axis.

    Args: entrants: shapes (candidates, ..). words: shape (candidates, w), as the level's bits.
    Returns: both with one candidate left, first axis of length 1.
    Rounds: those of all levels, and 1. Sends: those of all levels. Leaks: nothing.
    """
    field, riding = list(entrants), list(words)
    follow: Follow | None = None
    while len(field[0]) > 1:
        playing: list[Program[Any]] = [play(party, field)]
        if follow is not None:
            playing.append(follow(riding))
        (field, follow), *rode = yield from together(*playing)
        if rode:
            riding = rode[0]
    if follow is not None:
        riding = yield from follow(riding)
    return field, riding


def by_pairs(match: Match) -> Play:
    """A level in which neighbours play; a last one without a neighbour passes.

    Rounds: the match's. Sends: a match a pair, and 3 words for each of its words. Leaks: nothing.
    """

    def play(party: Party, field: Entrants) -> Program[tuple[Entrants, Follow]]:
        pairs = len(field[0]) // 2
        winners, wins = yield from match(party, _lefts(field, pairs), _rights(field, pairs))
        passed = [joined([won, one[2 * pairs :]]) for won, one in zip(winners, field, strict=True)]
        return passed, partial(_follow, party, wins)

    return play


def _follow(party: Party, wins: BinaryShare, riding: Riding) -> Program[Riding]:
    pairs = len(wins)
    winners = yield from together(
        *(
            _followed(party, wins, x, y)
            for x, y in zip(_lefts(riding, pairs), _rights(riding, pairs), strict=True)
        )
    )
    return [joined([won, one[2 * pairs :]]) for won, one in zip(winners, riding, strict=True)]


def _followed(party: Party, wins: BinaryShare, left: BinaryShare, right: BinaryShare) -> Program[BinaryShare]:
    parts = conjunction_terms(word_masks(wins, left.dtype), left ^ right)
    parts ^= left.own
    return (yield from reshare_binary(party, parts))


def _lefts(field: list[Any], pairs: int) -> list[Any]:
    return [one[0 : 2 * pairs : 2] for one in field]


def _rights(field: list[Any], pairs: int) -> list[Any]:
    return [one[1 : 2 * pairs : 2] for one in field]
