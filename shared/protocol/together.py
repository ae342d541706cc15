"""What several results over the same records tell together, though no two of their rosters differ by one hospital.

A sum over a roster is an equation for the counts of its members. A hospital knows the sums of the jobs that it took
part in, and its own counts; whose counts follow by adding and subtracting them is linear algebra. Three jobs of three
among four hospitals, all with h1, tell h1 the counts of each of the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from shared.protocol.consenting import SeenRoster
from shared.wire.consent import Consent

Roster = frozenset[str]


def told_together(
    roster: Sequence[str],
    study_sha256: str | None,
    earlier: Iterable[SeenRoster],
    own: str,
    consents: Sequence[Consent] = (),
) -> str | None:
    """The hospital whose counts `own` could work out with this job and not before, unless it has consented.

    Args: study_sha256: of the present job's document, which the consent names. earlier: over the same records, without
        the present job; one that was only sent to does not count where its job went on with the present roster.
    """
    known, present = list(earlier), frozenset(roster)
    settled = {one.job for one in known if one.seen and frozenset(one.roster) == present}
    before = {frozenset(one.roster) for one in known if one.seen or one.job not in settled}
    if present in before:
        return None
    agreed = {one.hospital for one in consents if study_sha256 in (one.with_sha256, one.without_sha256)}
    new = solved({*before, present}, own) - solved(before, own) - agreed - {own}
    return min(new, default=None)


def solved(rosters: Iterable[Roster], own: str) -> set[str]:
    """The hospitals whose counts follow from the sums over the rosters and from those of `own`."""
    equations = sorted({frozenset(roster - {own}) for roster in rosters}, key=sorted)
    alike: dict[tuple[bool, ...], list[str]] = {}
    for hospital in sorted(frozenset().union(*equations)):
        alike.setdefault(tuple(hospital in equation for equation in equations), []).append(hospital)
    groups = list(alike.items())  # hospitals that always come together cannot be told apart
    rows = [[Fraction(taken[place]) for taken, _ in groups] for place in range(len(equations))]
    found: set[str] = set()
    for row in _reduced(rows):
        places = [place for place, value in enumerate(row) if value]
        if len(places) == 1 and len(groups[places[0]][1]) == 1:
            found.update(groups[places[0]][1])
    return found


def _reduced(rows: list[list[Fraction]]) -> list[list[Fraction]]:
    """The reduced row echelon form: a unit vector is in the span of the rows exactly if it is one of these."""
    rows, done = list(rows), 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((at for at in range(done, len(rows)) if rows[at][column]), None)
        if pivot is None:
            continue
        rows[done], rows[pivot] = rows[pivot], rows[done]
        head = rows[done][column]
        rows[done] = [value / head for value in rows[done]]
        for at, row in enumerate(rows):
            if at != done and row[column]:
                factor = row[column]
                rows[at] = [value - factor * lead for value, lead in zip(row, rows[done], strict=True)]
        done += 1
    return rows[:done]
