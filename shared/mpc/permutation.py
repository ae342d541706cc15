"""Moving the elements of shared arrays by permutations that are secret.

Rows walk past all three parties as two masked halves, and are permuted on their way by permutations that pairs of
parties draw from their common streams. To apply a permutation that is itself shared, it is sent on such a walk by
p_01 and p_02, and parties 1 and 2 tell each other where its elements belong. Each of them lacks one of the two
permutations, so what it sees is uniform, whatever the data; party 0, which knows both, sees nothing. A shuffle hides
one opened permutation only; therefore opening is done where the shuffle is spent, in `lay_route`, and the `Route` it
gives may then carry any number of columns, in both directions.

Source: Araki 2021 in docs/sources.md (the walk of two halves); Chida 2019 (applying a shared permutation by opening
it under a shuffle).
Deviation: as party 0 is not told the positions, it need not lack a permutation; p_12 is drawn only where the result is
to be in an order that nobody knows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from shared.errors import InternalError, JobCode, JobFailure
from shared.mpc.program import Party, Program, Spec
from shared.mpc.random_permutation import Indices, draw_permutation
from shared.mpc.ring import U32, Words
from shared.mpc.sharing import Share
from shared.mpc.walking import Column, Form, Place, from_halves, swap_halves

Move = Callable[[Words], Words]

OPENED_KIND: Final = "position under a shuffle"
"""The name under which `Meter.opened` counts opened positions."""


@dataclass(slots=True, eq=False)
class Shuffle:
    """What a party knows of a permutation that takes element p_01[p_02[j]] to place j; good for one `lay_route`."""

    size: int
    first: Indices | None = field(repr=False)
    """p_01, at parties 0 and 1."""
    second: Indices | None = field(repr=False)
    """p_02, at parties 0 and 2."""
    spent: bool = False

    def spend(self) -> None:
        """Mark as used for an opening. Raises: InternalError: it was used before: two openings would leak."""
        if self.spent:
            raise InternalError("a shuffle may hide one opened permutation only; draw another")
        self.spent = True


def draw_shuffle(party: Party, size: int) -> Shuffle:
    """A fresh shuffle of `size` elements; may be drawn long before it is used. Rounds: 0. Leaks: nothing."""
    if party.index == 0:
        first = draw_permutation(party.prss.next, size)
        return Shuffle(size, first, draw_permutation(party.prss.previous, size))
    if party.index == 1:
        return Shuffle(size, draw_permutation(party.prss.previous, size), None)
    return Shuffle(size, None, draw_permutation(party.prss.next, size))


def shuffle(party: Party, columns: Sequence[Column]) -> Program[list[Any]]:
    """The columns in a uniform order that nobody knows, the same for all of them.

    Args: columns: 1-D, of one length; of any kinds and word types.
    Returns: their fresh shares, in the order of `columns`.
    Rounds: 2. Sends: 4 words an element of each column. Leaks: nothing.
    """
    size = _common_size(columns)
    drawn = draw_shuffle(party, size)
    last: Indices | None = None
    if party.index != 0:
        last = draw_permutation(party.prss.next if party.index == 1 else party.prss.previous, size)
    return (
        yield from _walked(_Walk(Place(party), _take(drawn.first), _take(drawn.second), _take(last)), columns)
    )


@dataclass(frozen=True, slots=True, eq=False)
class Route:
    """A shared permutation d made ready to move columns: element i to place d[i], and back.

    `places[j]`: where the element at place j of the shuffle belongs; known to parties 1 and 2.
    """

    shuffle: Shuffle
    places: Indices | None = field(repr=False)


def lay_route(
    party: Party, destination: Share, columns: Sequence[Column] = (), shuffle: Shuffle | None = None
) -> Program[tuple[Route, list[Any]]]:
    """Open a shared permutation under a fresh shuffle, and move columns by it at once.

    Args: destination: uint32, 1-D, a permutation of 0..n-1: element i goes to place destination[i].
        columns: 1-D, of length n. shuffle: drawn beforehand and never used; a fresh one by default.
    Returns: the route, for `send_along` and `send_back`; the moved columns.
    Rounds: 3 (2 without columns). Sends: 16 bytes an element and 4 words an element of each column.
    Leaks: uniform positions, to parties 1 and 2.
    Raises: JobFailure: `share_inconsistent`: what was opened is not a permutation.
    """
    size = _common_size([destination, *columns])
    if destination.dtype != U32:
        raise ValueError(f"destinations are uint32 words, not {destination.dtype}")
    drawn = draw_shuffle(party, size) if shuffle is None else shuffle
    if drawn.size != size:
        raise ValueError(f"the shuffle has {drawn.size} elements, the destination {size}")
    drawn.spend()
    walk = _along(party, Route(drawn, None))
    destination_half, *halves = yield from _begin(walk, [destination, *columns])
    route = Route(drawn, (yield from _open_places(party, destination_half)))
    party.meter.opened[OPENED_KIND] = party.meter.opened.get(OPENED_KIND, 0) + size
    if not columns:
        return route, []
    walk = replace(walk, third=_put(route.places))
    return route, (yield from _finish(walk, columns, halves))


def send_along(party: Party, route: Route, columns: Sequence[Column]) -> Program[list[Any]]:
    """Move columns by a route: element i goes to place d[i].

    Rounds: 2. Sends: 4 words an element of each column. Leaks: nothing.
    """
    _check_size(route, columns)
    return (yield from _walked(_along(party, route), columns))


def send_back(party: Party, route: Route, columns: Sequence[Column]) -> Program[list[Any]]:
    """Move columns against a route: out[i] = column[d[i]].

    Rounds: 2. Sends: 4 words an element of each column. Leaks: nothing.
    """
    _check_size(route, columns)
    return (yield from _walked(_back(party, route), columns))


def move_to(party: Party, destination: Share, columns: Sequence[Column]) -> Program[list[Any]]:
    """Element i of every column goes to place destination[i].

    Args, leaks and errors as `lay_route`. Returns: fresh shares of the moved columns.
    Rounds: 3. Sends: 16 bytes an element and 4 words an element of each column.
    """
    return (yield from lay_route(party, destination, columns))[1]


def gather(party: Party, index: Share, columns: Sequence[Column]) -> Program[list[Any]]:
    """out[i] = column[index[i]] for a shared permutation `index`: what `move_to` does, undone.

    Args, leaks and errors as `lay_route`.
    Rounds: 4. Sends: 16 bytes an element and 4 words an element of each column.
    """
    route, _ = yield from lay_route(party, index)
    return (yield from send_back(party, route, columns))


@dataclass(frozen=True, slots=True)
class _Walk:
    """The three moves that two halves make in walking order; a party knows two of them.

    first: known to roles 0 and 1; second: to roles 0 and 2; third: to roles 1 and 2.
    """

    place: Place
    first: Move | None
    second: Move | None
    third: Move | None


def _along(party: Party, route: Route) -> _Walk:
    """p_01, p_02, to the places."""
    return _Walk(Place(party), _take(route.shuffle.first), _take(route.shuffle.second), _put(route.places))


def _back(party: Party, route: Route) -> _Walk:
    """From the places, against p_02, against p_01; mirrored, so that those who know the first move begin."""
    place = Place(party, mirrored=True)
    return _Walk(place, _take(route.places), _put(route.shuffle.second), _put(route.shuffle.first))


def _walked(walk: _Walk, columns: Sequence[Column]) -> Program[list[Any]]:
    halves = yield from _begin(walk, columns)
    return (yield from _finish(walk, columns, halves))


def _begin(walk: _Walk, columns: Sequence[Column]) -> Program[list[Words]]:
    """The first two moves. Role 0 starts with the sum of its parts, role 1 with the part that is left.

    Each half is masked before it is handed on, by the stream of the pair that the receiver is not in.
    Returns: the halves before the third move, at roles 1 and 2. Rounds: 1. Sends: 2 words an element.
    """
    place = walk.place
    forms = [Form.of(column) for column in columns]
    specs = [form.spec for form in forms]
    if place.role == 0:
        first, second = _known(walk.first), _known(walk.second)
        masked = []
        for form, column in zip(forms, columns, strict=True):
            half = first(form.plus(column.own, column.next))
            form.plus(half, form.draw(place.stream_after), out=half)
            half = second(half)
            masked.append(form.plus(half, form.draw(place.stream_before), out=half))
        yield from place.exchange(to_after=masked)
        return [np.empty(0, spec.dtype) for spec in specs]
    if place.role == 1:
        first = _known(walk.first)
        masked = []
        for form, column in zip(forms, columns, strict=True):
            half = first(place.part_after(column))
            masked.append(form.minus(half, form.draw(place.stream_before), out=half))
        arrived, _ = yield from place.exchange(to_after=masked, from_before=specs)
        return list(arrived)
    second = _known(walk.second)
    masks = [form.draw(place.stream_after) for form in forms]
    arrived, _ = yield from place.exchange(from_before=specs)
    halves = []
    for form, half, mask in zip(forms, arrived, masks, strict=True):
        moved = second(half)
        halves.append(form.minus(moved, mask, out=moved))
    return halves


def _finish(walk: _Walk, columns: Sequence[Column], halves: Sequence[Words]) -> Program[list[Any]]:
    """The third move, and fresh shares. Rounds: 1. Sends: 2 words an element."""
    forms = [Form.of(column) for column in columns]
    if walk.place.role != 0:
        third = _known(walk.third)
        halves = [third(half) for half in halves]
    return (yield from from_halves(walk.place, forms, halves))


def _open_places(party: Party, half: Words) -> Program[Indices | None]:
    """Parties 1 and 2 tell each other their halves of the shuffled destination, and check the sum.

    Neither learns more than the sum: the other's half is the sum less its own.
    """
    others = yield from swap_halves(Place(party), [Spec.of(half)], [half])
    if party.index == 0:
        return None
    opened = half + others[0]
    if not _is_permutation(opened):
        raise JobFailure(
            JobCode.SHARE_INCONSISTENT,
            f"party {party.index}: the opened positions are not a permutation of {len(opened)} places; "
            "the job ends here",
        )
    return opened.view(np.int32)


def _is_permutation(places: Words) -> bool:
    if int(places.max()) >= len(places):
        return False
    seen = np.zeros(len(places), np.bool_)
    seen[places.astype(np.intp)] = True
    return bool(seen.all())


def _take(order: Indices | None) -> Move | None:
    if order is None:
        return None
    index = order.astype(np.intp)
    return lambda words: words.take(index)


def _put(order: Indices | None) -> Move | None:
    if order is None:
        return None
    index = order.astype(np.intp)

    def move(words: Words) -> Words:
        moved = np.empty_like(words)
        moved[index] = words
        return moved

    return move


def _known(move: Move | None) -> Move:
    if move is None:
        raise InternalError("this party takes no part in this move")
    return move


def _common_size(columns: Sequence[Column]) -> int:
    sizes = {column.shape for column in columns}
    if len(sizes) != 1 or len(shape := sizes.pop()) != 1:
        raise ValueError("columns that move together are one-dimensional and of one length")
    return shape[0]


def _check_size(route: Route, columns: Sequence[Column]) -> None:
    if columns and _common_size(columns) != route.shuffle.size:
        raise ValueError(f"the route has {route.shuffle.size} elements, the columns have others")
