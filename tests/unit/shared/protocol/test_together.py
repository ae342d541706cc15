"""What sums over several rosters tell together: the equations of whoever took part, solved."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.protocol.consenting import SeenRoster, differing_hospital
from shared.protocol.together import solved, told_together
from shared.wire.consent import Consent

DOCUMENT = "aa" * 32


def seen(*rosters: str) -> list[SeenRoster]:
    return [SeenRoster(tuple(roster), str(number), DOCUMENT) for number, roster in enumerate(rosters)]


def consent(hospital: str, sha256: str = DOCUMENT) -> Consent:
    return Consent(hospital=hospital, with_sha256=sha256, without_sha256=sha256, time=5)


def test_three_jobs_of_three_among_four_tell_of_each_other_hospital() -> None:
    """(123 + 124 - 134 - h1) / 2 = h2: the difference rule on pairs says nothing."""
    assert differing_hospital("134", DOCUMENT, seen("123", "124")) is None
    assert told_together("124", DOCUMENT, seen("123"), "1") is None
    assert told_together("134", DOCUMENT, seen("123", "124"), "1") == "2"
    assert told_together("134", DOCUMENT, seen("134", "123"), "4") is None
    assert solved([frozenset("123"), frozenset("124"), frozenset("134")], "1") == {"2", "3", "4"}


def test_two_parts_and_the_whole_tell_of_the_one_in_both() -> None:
    """123 + 345 - 12345 = h3, which h3 knows, and nobody else has seen all three."""
    assert told_together("12345", DOCUMENT, seen("123", "345"), "3") is None
    assert told_together("1234567", DOCUMENT, seen("1234", "14567"), "1") == "4"


def test_only_consents_of_all_that_are_told_of_allow_the_job() -> None:
    earlier = seen("123", "124")
    two = [consent("2"), consent("3")]
    assert told_together("134", DOCUMENT, earlier, "1", two) == "4"
    assert told_together("134", DOCUMENT, earlier, "1", [*two, consent("4")]) is None
    assert told_together("134", DOCUMENT, earlier, "1", [*two, consent("4", "bb" * 32)]) == "4"


def test_what_is_known_already_and_what_was_only_sent_and_settled_is_no_reason() -> None:
    known = seen("123", "124", "134")
    assert told_together("134", DOCUMENT, known, "1") is None
    assert told_together("234", DOCUMENT, [one for one in known if "2" in one.roster], "2") == "1"
    sent = [SeenRoster(tuple("1234"), "j", DOCUMENT, seen=False), SeenRoster(tuple("123"), "j", DOCUMENT)]
    assert told_together("123", DOCUMENT, sent, "1") is None
    assert told_together("123", DOCUMENT, sent[:1], "1") == "4"


@given(st.lists(st.sets(st.sampled_from("bcdef"), min_size=1), max_size=7))
def test_it_is_the_solution_of_the_equations(others: list[set[str]]) -> None:
    rosters = [frozenset(one | {"a"}) for one in others]
    names = "abcdef"
    matrix = np.array([[name in roster for name in names] for roster in [*rosters, {"a"}]], dtype=float)
    rank = np.linalg.matrix_rank(matrix)
    units = np.eye(len(names))
    expected = {
        name
        for place, name in enumerate(names)
        if np.linalg.matrix_rank(np.vstack([matrix, units[place]])) == rank
    }
    assert solved(rosters, "a") | {"a"} == expected


@pytest.mark.parametrize("roster", list(map("".join, itertools.combinations("1234567", 3)))[:15])
def test_a_pair_that_differs_by_one_is_found_as_well(roster: str) -> None:
    assert (
        told_together("".join(sorted({*roster, "8", "1"})), DOCUMENT, seen("".join({*roster, "1"})), "1")
        == "8"
    )
