"""The comparison of `make bench`, with a toy key: the same tree three times, and each run's work as published."""

from __future__ import annotations

import pytest

from bench.ppsdt import Comparison, compare_in_process
from bench.records import demo_records
from bench.rounds import run_round
from bench.svg import Panel, Series, draw
from shared.crypto.key_holder import KeyHolder
from shared.secure_tree.packing import plaintext_count
from tests.support.toy_keys import fixed_key

TOY = fixed_key(512)
HOSPITALS = 3


@pytest.fixture(scope="module")
def made() -> Comparison:
    return compare_in_process(demo_records(HOSPITALS), TOY, repeats=1)


def test_all_three_ways_grow_one_tree(made: Comparison) -> None:
    assert made.trees_equal


def test_the_plain_protocol_does_what_the_publication_reports(made: Comparison) -> None:
    # 9 nodes with an attribute left ask 33 matrices of 2 x 4 cells at each of 3 hospitals.
    assert (made.plain.encryptions, made.plain.decryptions) == (792, 792)


def test_paper_sends_one_ciphertext_a_cell_of_every_open_node(made: Comparison) -> None:
    # Root 5 matrices, then 2 nodes of 4, then 2 of 3: pure nodes follow from their parent's row.
    matrices = 5 + 2 * 4 + 2 * 3
    assert made.paper.encryptions == matrices * 8 * HOSPITALS
    assert made.paper.summed == matrices * 8


def test_hardened_sends_as_many_ciphertexts_as_the_packing_needs(made: Comparison) -> None:
    assert made.hardened.rounds == 3
    assert made.hardened.encryptions == made.hardened.summed * HOSPITALS
    root = plaintext_count(40, HOSPITALS, TOY.public.bits) + 1
    # Later rounds leave out what the parents' rows tell, so none needs more than the root.
    assert root < made.hardened.summed <= root * made.hardened.rounds
    assert made.hardened.checks == made.hardened.rounds * HOSPITALS


def test_every_part_is_measured(made: Comparison) -> None:
    for run in (made.paper, made.hardened):
        assert all(seconds > 0 for part, seconds in run.seconds.items())
    assert set(made.plain.seconds) == {"count", "encrypt", "add", "decrypt", "choose"}


def test_bytes_are_those_of_all_messages(made: Comparison) -> None:
    expected = {"job_offer", "job_accept", "receipt", "roster", "round_open", "contribution", "aggregate"}
    assert set(made.hardened.bytes_by_type) == expected | {"decision", "job_done", "attest"}
    assert set(made.paper.bytes_by_type) == expected | {"notify", "job_done", "attest"}
    assert made.hardened.bytes < made.paper.bytes < made.plain.bytes


@pytest.mark.parametrize("hospitals", [3, 5])
def test_a_round_costs_the_ciphertexts_of_its_cells(hospitals: int) -> None:
    costs, sums = run_round(KeyHolder(TOY), hospitals, slots=50)
    assert costs.ciphertexts == len(sums) == plaintext_count(50, hospitals, TOY.public.bits) + 1


def test_a_plot_names_its_axes_and_lines() -> None:
    line = Series("a & b", ((1, 0.5), (10, 5)))
    text = draw([Panel("title", "across", "up", (line,))])
    assert all(f">{words}<" in text for words in ("title", "across", "up", "a &amp; b", "0.1", "10"))
