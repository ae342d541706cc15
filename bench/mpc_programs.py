"""Small programs on shares for measuring what lies under every other one: rounds, and messages of one size."""

from __future__ import annotations

import time

from shared.mpc.arithmetic import multiply
from shared.mpc.program import Party, Program, pass_to_previous
from shared.mpc.sharing import Share


def products(party: Party, x: Share, y: Share, times: int) -> Program[Share]:
    """x * y^times, one round a product."""
    for _ in range(times):
        with party.meter.phase("products"):
            x = yield from multiply(party, x, y)
    return x


def messages(party: Party, x: Share, times: int) -> Program[None]:
    """Nothing but rounds: each party passes its part of x to the previous one, `times` times."""
    words = x.own
    for _ in range(times):
        with party.meter.phase("messages"):
            words = yield from pass_to_previous(words)


def quickest_rounds(party: Party, x: Share, stretches: int, rounds: int) -> Program[float]:
    """Seconds of a round of `messages` in the quickest of some stretches of so many rounds."""
    taken = []
    for _ in range(stretches):
        begun = time.perf_counter()
        yield from messages(party, x, rounds)
        taken.append(time.perf_counter() - begun)
    return min(taken) / rounds
