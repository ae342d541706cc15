"""Any table: looking at it never fails, a draft tells nothing below the floor, and records fit their own draft."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hospital_agent.commands.contracting import advised
from hospital_agent.records.contract_check import check_table
from hospital_agent.records.contract_draft import draft_contract
from hospital_agent.records.draft_choices import Choices
from hospital_agent.records.profile.page import document_of, html_of, text_of
from hospital_agent.records.profile.profile import profile_of
from hospital_agent.records.source import DataSettings
from hospital_agent.records.table import Column, Table
from shared.errors import InputError

TEXTS = [
    "",
    "a",
    "A",
    "b ",
    "é",
    "1",
    "1.0",
    "2",
    "-9",
    "999",
    "0",
    "?",
    "NA",
    "3.25",
    "1e3",
    "2024-01-02",
    "x|y",
    "=",
    "<b>",
]
texts = st.one_of(
    st.sampled_from(TEXTS), st.integers(-5, 120).map(str), st.decimals(0, 50, places=2).map(str)
)
tables = st.integers(1, 40).flatmap(
    lambda rows: st.lists(st.lists(texts, min_size=rows, max_size=rows), min_size=2, max_size=5)
)
POLICIES = {"": "category"}


def table_of(columns: list[list[str]]) -> Table:
    made = []
    for position, column in enumerate(columns, start=1):
        values, codes = np.unique(
            np.array([text.strip() for text in column], dtype=object), return_inverse=True
        )
        made.append(Column(f"c{position}", position, tuple(map(str, values)), codes))
    return Table("some.csv", tuple(made), len(columns[0]), True, lambda row: f"line {row + 2}")


@pytest.mark.long
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=100)
@given(tables, st.integers(1, 6), st.booleans())
def test_records_fit_their_own_draft_and_nothing_rare_is_in_it(
    columns: list[list[str]], floor: int, measured: bool
) -> None:
    target = [text.strip() or "none" for text in columns[-1]]
    table = table_of([*columns[:-1], target])
    profile = profile_of(table, floor, len(columns))
    for page in (text_of(profile), html_of(profile), str(document_of(profile))):
        assert page
    try:
        choices = advised(profile, Choices("any", policies={"": "refuse"} if measured else {"": "category"}))
        kept = [facts for facts in profile.facts[:-1] if facts.name not in choices.drop]
        made = draft_contract(profile, choices)
    except InputError:
        return
    told = {entry.value for owner in made.contract.attributes for entry in owner.values}
    for facts in kept:
        for text, count in zip(facts.values, facts.counts, strict=True):
            alone = sum(text in other.values for other in profile.facts) == 1
            if count < floor and alone and facts.kind == "category" and text not in choices.missing:
                assert text not in told
    if floor == 1 and not measured:
        settings_here = DataSettings(contract=made.contract)
        spared = [one.name for one in made.contract.attributes if one.kind == "number"]
        spared += ["c" + str(len(columns))] if any("without a class" in one for one in made.remarks) else []
        faults = check_table(table, made.contract, settings_here).faults
        assert [fault for fault in faults if fault.column not in spared] == []
