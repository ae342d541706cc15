"""What a steward says about a draft of a contract, and how a column is read by it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from hospital_agent.records.code_listed import spelling_by_list
from hospital_agent.records.profile.facts import ColumnFacts
from hospital_agent.records.remarks import MANY_VALUES
from shared.contract.code_lists import CodeList
from shared.contract.spelling import as_spelled
from shared.wire.contract import MissingPolicy, Spelling

ByColumn = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Choices:
    """What a steward says. Keys are names of columns as the file has them.

    `names`: what the study calls a column. `missing`: of every column, `missing_in`: of one. `recode`, `prefixes`:
    column to old text, or beginning of texts, to new value. `values`: lists that are public, told whatever the records
    hold. `other`: the value of all texts that are not listed. `policies`: under "" that of all others. `measured`:
    numbers without cuts may stay as they are (mode gain-ratio). `categories`: columns of numbers that are names;
    `numbers`: columns that are measured, however few their numbers are.
    `ranges`: column to the lowest and the highest number that can be; with cuts there is no range but a said one.
    `missing_as`: the number that an empty field of one without cuts counts as. `conversions`: column to another unit to
    its factor.
    """

    name: str
    title: str = ""
    drop: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    missing_in: ByColumn = field(default_factory=dict)
    recode: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    values: ByColumn = field(default_factory=dict)
    code_lists: Mapping[str, CodeList] = field(default_factory=dict)
    prefixes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    cuts: ByColumn = field(default_factory=dict)
    ranges: ByColumn = field(default_factory=dict)
    spelling: Mapping[str, Spelling] = field(default_factory=dict)
    other: Mapping[str, str] = field(default_factory=dict)
    policies: Mapping[str, MissingPolicy] = field(default_factory=dict)
    missing_as: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    conversions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    descriptions: Mapping[str, str] = field(default_factory=dict)
    categories: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    measured: bool = False

    def called(self, column: str) -> str:
        """What the study calls a column."""
        return self.names.get(column, column)


def is_measured(facts: ColumnFacts, choices: Choices) -> bool:
    """Whether the column is drafted as numbers, not as a list of values."""
    if facts.name in {*choices.cuts, *choices.ranges, *choices.numbers}:
        return True
    named = {*choices.categories, *choices.recode, *choices.values, *choices.other, *choices.prefixes}
    named |= {*choices.code_lists}
    return facts.is_number and facts.different > MANY_VALUES and facts.name not in named


def spelling_of(facts: ColumnFacts, choices: Choices) -> Spelling:
    """How texts of the column are compared."""
    listed = choices.code_lists.get(facts.name)
    if facts.name not in choices.spelling and listed is not None:
        return spelling_by_list(listed, is_number=facts.is_number)
    return choices.spelling.get(facts.name, "number" if facts.is_number else "exact")


def known_texts(facts: ColumnFacts, choices: Choices, spelling: Spelling) -> Iterable[tuple[str, int]]:
    """The texts that stand for a value, with their rows."""
    codes = (*choices.missing, *choices.missing_in.get(facts.name, ()))
    empty = {as_spelled(code, spelling) for code in codes} | {""}
    for text, count in zip(facts.values, facts.counts, strict=True):
        if as_spelled(text, spelling) not in empty:
            yield text, count


def policy_of(facts: ColumnFacts, choices: Choices, floor: int, remarks: list[str]) -> MissingPolicy:
    """As said; else a value of its own where at least `floor` rows are without one, so that fewer do not show."""
    name = choices.called(facts.name)
    said = choices.policies.get(facts.name, choices.policies.get(""))
    if said is not None:
        return said
    spelling: Spelling = "number" if facts.is_number else spelling_of(facts, choices)
    gaps = facts.rows - sum(count for _, count in known_texts(facts, choices, spelling))
    if 0 < gaps < floor:
        remarks.append(
            f"{name}: fewer than {floor} rows are without a value, and the draft refuses such records; say what "
            f"they are with --missing-policy {name}=category, or fill the fields."
        )
    return "category" if gaps >= floor else "refuse"
