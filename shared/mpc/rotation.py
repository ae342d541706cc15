"""A public table, shifted by secret amounts: the cheap look-up where many neighbouring arguments are asked at once.

Row b of the result is the table turned right by the secret shift b: entry p is `table[(p - shift) mod size]`. A table
with one 1 gives a unit vector at a secret place, a table of a function gives its values counted from there.
"""

from __future__ import annotations

import numpy as np

from shared.mpc.program import Party, Program, Round, Spec
from shared.mpc.ring import Words
from shared.mpc.sharing import Share


def rotated_tables(party: Party, table: Words, shifts: Share, length: int) -> Program[Share]:
    """The table turned by each of some secret shifts; the first `length` entries of each.

    P_0 knows shift_0 + shift_1 and turns the public table by that; what is left, shift_2, is known to P_1 and P_2,
    who turn an additive sharing of P_0's result. The parts are fresh at the end.
    Source: the shuffle of `permutation`, with turns in place of permutations, and with a first part that one party
        knows in the clear, because the table is public.
    Args: table: uint32 or uint64, its size a power of two (so that shifts may be taken modulo it part by part).
        shifts: uint32, shape (b,), any b. length: at most the size.
    Returns: share of shape (b, length), the table's dtype.
    Rounds: 2. Sends: size + 2 * length words a shift. Leaks: nothing.
    """
    size = table.size
    count = len(shifts)
    turned = np.empty((count, size), table.dtype)
    if party.index == 0:
        known = (shifts.own + shifts.next).astype(np.int64) % size
        for row, turn in zip(turned, known.tolist(), strict=True):
            _turn(table, turn, row)
        turned -= party.prss.previous.words(turned.shape, table.dtype)
        yield Round(to_next=(turned,))
        first = party.prss.previous.words((count, length), table.dtype)
        second = party.prss.next.words((count, length), table.dtype)
        yield Round()
        return Share(first, second)
    if party.index == 1:
        received = yield Round(from_previous=(Spec(turned.shape, table.dtype),))
        turned, rest = received.previous[0], shifts.next
        own = party.prss.previous.words((count, length), table.dtype)
        sent = _rows_turned(turned, rest, length)
        sent -= own
        received = yield Round(to_next=(sent,), from_next=(Spec.of(sent),))
        return Share(own, sent + received.next[0])
    turned = party.prss.next.words(turned.shape, table.dtype)
    yield Round()
    sent = _rows_turned(turned, shifts.own, length)
    following = party.prss.next.words((count, length), table.dtype)
    sent -= following
    received = yield Round(to_previous=(sent,), from_previous=(Spec.of(sent),))
    return Share(sent + received.previous[0], following)


def _rows_turned(rows: Words, turns: Words, length: int) -> Words:
    result = np.empty((len(rows), length), rows.dtype)
    for row, turn, target in zip(
        rows, (turns.astype(np.int64) % rows.shape[1]).tolist(), result, strict=True
    ):
        _turn(row, turn, target)
    return result


def _turn(row: Words, turn: int, target: Words) -> None:
    """The first entries of `row` turned right by 0 <= turn < size, into `target`."""
    head = min(turn, target.size)
    target[:head] = row[row.size - turn : row.size - turn + head]
    target[head:] = row[: target.size - head]
