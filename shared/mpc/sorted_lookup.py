"""Look-up of very many secret arguments in a public table: by sorting them among the table's own arguments.

Behind each table entry stand, once sorted, the arguments that are equal to it. If every entry carries what it adds to
the one before, and every argument adds 0, a running sum gives each argument its entry; then all go back to where they
were. About 0.9 kB an argument of 17 bits, whatever the table's size, and as much for each entry of the table:
`shared.mpc.lookup` is cheaper for few arguments.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from shared.mpc.conversion import to_words
from shared.mpc.permutation import lay_route, send_along, send_back
from shared.mpc.program import Party, Program
from shared.mpc.ring import U32, U64, word_of_width
from shared.mpc.sharing import Share, concatenate_binary, public_binary_share, public_share
from shared.mpc.sorting import stable_sort

DIGIT_BITS: Final = 3
"""Of the radix sort: as many bytes as with two bits, and a third less rounds and permutations."""


def entries_by_sorting(party: Party, values: NDArray[np.uint64], arguments: Share) -> Program[Share]:
    """`values[x]` for every argument.

    Args: values: public uint64 table, at least one entry. arguments: shape (n,), any ring, 0 <= x < len(values).
    Returns: uint64, shape (n,).
    Rounds: those of a bit decomposition, 6 for three bits of the arguments, 6. Sends: 144 bytes for three bits of the
        arguments (32-bit words) and 80 an argument and an entry, besides the decomposition. Leaks: uniform positions.
    """
    bits = max(1, (len(values) - 1).bit_length())
    words = yield from to_words(party, arguments, bits)
    own_keys = np.arange(len(values), dtype=np.int64).astype(word_of_width(bits))
    keys = concatenate_binary([public_binary_share(party.index, own_keys), words])
    places = public_share(party.index, np.arange(len(keys), dtype=np.int64).astype(U32))
    _, (origin,) = yield from stable_sort(party, keys, bits, [places], DIGIT_BITS)
    del keys, words, places
    steps = np.zeros(len(values) + len(arguments), U64)
    steps[0] = values[0]
    np.subtract(values[1:], values[:-1], out=steps[1 : len(values)])
    # The sorted element i came from place origin[i]: along the route it goes back there.
    route, _ = yield from lay_route(party, origin)
    (sorted_steps,) = yield from send_back(party, route, [public_share(party.index, steps)])
    (entries,) = yield from send_along(party, route, [sorted_steps.cumsum()])
    found: Share = entries[len(values) :]
    return found
