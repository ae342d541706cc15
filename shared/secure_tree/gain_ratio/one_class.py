"""Class words as owners shared them become words that name one class, whatever an owner shared.

Places of rows in the order by class are opened under a shuffle (`numerators`). They are a permutation, and so say
nothing, only if every record is of one class. A class word with several bits would put its record in a place that
depends on the counts of the others' classes. So of several bits only the lowest is kept.
"""

from __future__ import annotations

from shared.mpc.arithmetic import conjunction, conjunction_terms, reshare_binary
from shared.mpc.program import Party, Program
from shared.mpc.sharing import BinaryShare


def one_class(party: Party, words: BinaryShare, classes: int) -> Program[BinaryShare]:
    """Of each class word its lowest bit, if it has any, and no bit above the classes.

    Args: words: shape (n,), one bit for each class but the last (`plan.class_words`).
    Rounds: none up to 2 classes, else 1 + `doublings`. Sends: 3 words a record and round. Leaks: nothing.
    """
    words = words.masked((1 << (classes - 1)) - 1)
    if classes <= 2:
        return words
    below = words
    for step in range(doublings(classes)):
        further = _raised(below, 1 << step)
        terms = conjunction_terms(below, further)
        terms ^= below.own
        terms ^= further.own
        below = yield from reshare_binary(party, terms)
    repeated = yield from conjunction(party, words, _raised(below, 1))
    return words ^ repeated


def doublings(classes: int) -> int:
    """How often each bit is joined with those below it until it has met all of them."""
    return max(1, (classes - 3).bit_length()) if classes > 2 else 0


def _raised(words: BinaryShare, places: int) -> BinaryShare:
    return words.map(lambda part: part << part.dtype.type(places))
