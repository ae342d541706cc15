"""Sums that cannot be right are refused, without a count in the error; damaged journal records too."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.errors import InputError, InternalError, JobCode, JobFailure
from shared.tree.counting import count_rows
from shared.tree.frontier import MAX_COUNT
from shared.tree.growing import Growth
from shared.tree.growth_rules import GrowthRules
from tests.support.tree_strategies import Sample, make_schema, rules, samples

PLANTED = 7654321
EASY = GrowthRules(min_node=1, min_child=1, max_depth=None)
ROWS = [(a, b, c, (a + b * c) % 2) for a in (0, 1) for b in (0, 1) for c in (0, 1)] * 3


def start(rows: list[tuple[int, ...]] = ROWS, how: GrowthRules = EASY) -> tuple[Growth, list[int]]:
    schema = make_schema((2, 2, 2), 2)
    growth = Growth.start(schema, how, bytes(32))
    return growth, count_rows(rows, growth.queries, schema)


@given(samples(least_attributes=2), rules("information-gain"), st.data())
@settings(max_examples=60, deadline=None)
def test_one_cell_changed_in_any_round_is_detected(
    sample: Sample, how: GrowthRules, data: st.DataObject
) -> None:
    growth = Growth.start(sample.schema, how, bytes(32))
    while not growth.is_done:
        cells = count_rows(sample.rows, growth.queries, sample.schema)
        place = data.draw(st.integers(0, len(cells) - 1))
        edited = [*cells]
        edited[place] += data.draw(st.sampled_from([1, 2, 1000, MAX_COUNT - cells[place]]))
        with pytest.raises(JobFailure) as caught:
            growth.absorb(edited)
        assert caught.value.code is JobCode.INCONSISTENT_COUNTS
        growth = growth.absorb(cells)


@pytest.mark.parametrize("bad", [-1, MAX_COUNT + 1, 10**40, -(10**40)])
def test_a_cell_out_of_range(bad: int) -> None:
    growth, cells = start()
    with pytest.raises(JobFailure) as caught:
        growth.absorb([bad, *cells[1:]])
    assert caught.value.code is JobCode.RANGE_VIOLATION
    assert str(bad) not in str(caught.value)


def test_the_greatest_count_is_allowed() -> None:
    assert MAX_COUNT == 2**46
    growth, cells = start()
    tables = [MAX_COUNT, 0, 0, MAX_COUNT] * (len(cells) // 4)
    assert growth.absorb(tables).is_done


@pytest.mark.parametrize("cells", [[], [1], [1] * 13, [1.0] * 12, [True] * 12, ["1"] * 12, [None] * 12])
def test_not_one_integer_a_cell_is_our_bug(cells: list[Any]) -> None:
    growth, _ = start()
    with pytest.raises(InternalError):
        growth.absorb(cells)


def test_nothing_is_absorbed_once_done() -> None:
    growth, cells = start(how=GrowthRules(min_node=1000))
    done = growth.absorb(cells)
    with pytest.raises(InternalError):
        done.absorb([])
    with pytest.raises(InternalError):
        _ = growth.tree


def test_derived_cells_are_checked_even_when_all_asked_sums_agree() -> None:
    # Value 1 of attribute 1 occurs with value 1 of attribute 0 only, which is the child that is not asked.
    rows = [(0, 0, 0)] * 4 + [(0, 0, 1)] + [(1, 1, 0)] + [(1, 1, 1)] + [(1, 0, 1)] * 3
    schema = make_schema((2, 2), 2)
    growth = Growth.start(schema, EASY, bytes(32))
    growth = growth.absorb(count_rows(rows, growth.queries, schema))
    assert [query.path for query in growth.queries] == [((0, 0),)]
    assert [node.path for node in growth.frontier if node.derived] == [((0, 1),)]
    cells = count_rows(rows, growth.queries, schema)
    # Attribute 1 keeps its class totals, but its value 1 now has more records than the parent.
    swapped = [*cells[2:], *cells[:2]]
    with pytest.raises(JobFailure) as caught:
        growth.absorb(swapped)
    assert caught.value.code is JobCode.INCONSISTENT_COUNTS
    assert growth.absorb(cells).is_done


def test_errors_and_reprs_hold_no_counts() -> None:
    schema = make_schema((2, 2), 2)
    growth = Growth.start(schema, GrowthRules(min_node=1, min_child=1, split_on_zero_gain=True), bytes(32))
    table = [PLANTED, PLANTED, PLANTED, PLANTED]
    grown = growth.absorb(table * 2)
    for thing in (
        grown,
        *grown.frontier,
        *(table for tables in grown.parents.values() for table in tables.values()),
    ):
        assert str(PLANTED) not in repr(thing)
        assert str(2 * PLANTED) not in repr(thing)
    with pytest.raises(JobFailure) as caught:
        growth.absorb([PLANTED] * 4 + [PLANTED + 1] * 4)
    assert str(PLANTED) not in str(caught.value)
    finished = growth.absorb([PLANTED, 0, 0, PLANTED] * 2)
    assert str(PLANTED) not in repr(finished.tree)


def damaged_records() -> list[Any]:
    growth, cells = start()
    growth = growth.absorb(cells)
    record = json.loads(json.dumps(growth.to_json()))
    assert record["parents"]

    def edited(*path: Any, value: Any) -> Any:
        other = copy.deepcopy(record)
        place = other
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value
        return other

    return [
        None,
        [],
        {},
        {key: value for key, value in record.items() if key != "state"},
        edited("mh", value="00" * 32 + "zz"),
        edited("mh", value="11" * 32),
        edited("state", value="00" * 32),
        edited("last_depth", value=9),
        edited("last_depth", value=-1),
        edited("history", value=[]),
        edited("history", value=5),
        edited("history", 0, 0, "attr", value=3),
        edited("history", 0, 0, "attr", value=True),
        edited("history", 0, 0, "attr", value=1.0),
        edited("history", 0, 0, "kids", value=[None]),
        edited("history", 0, 0, "kids", 0, value=2),
        edited("history", 0, 0, "rows", 0, 0, value=-1),
        edited("history", 0, 0, "rows", 0, 0, value=float(record["history"][0][0]["rows"][0][0])),
        edited("history", 0, 0, "majority", value=bool(record["history"][0][0]["majority"])),
        edited("history", 0, 0, "node", value="/0=7"),
        edited("history", 0, 0, "node", value="0=1"),
        edited("parents", value=[]),
        edited("parents", 0, "node", value="/0=0"),
        edited("parents", 0, "tables", 0, value=[9, []]),
        edited("parents", 0, "tables", 0, 1, value=[[1, 2, 3]]),
    ]


@pytest.mark.parametrize("record", damaged_records())
def test_a_damaged_record_is_refused(record: Any) -> None:
    with pytest.raises(InputError, match="journal"):
        Growth.from_json(make_schema((2, 2, 2), 2), EASY, record)


@pytest.mark.parametrize(
    ("name", "value"),
    [("criterion", "gini"), ("min_node", 0), ("min_child", -1), ("max_depth", 0)],
)
def test_rules_that_no_manifest_can_state(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=name):
        GrowthRules(**{name: value})
