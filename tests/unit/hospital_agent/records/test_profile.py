"""One small table for each thing that `privet data inspect` finds, and one without it."""

from __future__ import annotations

import json
import re
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hospital_agent.records.decimal_marks import reader_of, with_marks
from hospital_agent.records.files import read_table
from hospital_agent.records.profile.facts import facts_of
from hospital_agent.records.profile.page import document_of, html_of, text_of
from hospital_agent.records.profile.profile import profile_of
from hospital_agent.records.profile.shown import shown_values
from hospital_agent.records.source import DataSettings
from hospital_agent.records.table import Column, DecimalMark, Table
from shared.tree.numbers import UnknownValueError, parse_number

ROWS = 60


def column(name: str, texts: list[str], position: int = 1) -> Column:
    values, codes = np.unique(np.array(texts, dtype=object), return_inverse=True)
    return Column(name, position, tuple(map(str, values)), codes)


def table(**columns: list[str]) -> Table:
    made = tuple(column(name, texts, place) for place, (name, texts) in enumerate(columns.items(), start=1))
    marked = with_marks(made, None)
    return Table("ward.csv", marked, len(next(iter(columns.values()))), True, lambda row: f"line {row + 2}")


def found(name: str, texts: list[str], **more: list[str]) -> dict[str, Any]:
    """The findings of a table with this column and a class, by code."""
    classes = ["yes" if (index * 7) % 10 < 5 else "no" for index in range(len(texts))]
    profile = profile_of(table(**{name: texts}, **more, ill=classes), 5, "ill")
    return {finding.code: finding for finding in profile.findings}


def numbers(*more: str, count: int = ROWS) -> list[str]:
    """Measurements that repeat, with some fields replaced."""
    texts = [str(90 + index % 25) for index in range(count)]
    return [*more, *texts[len(more) :]]


STRANGE: dict[str, tuple[str, list[str], str]] = {
    "a question mark": ("pulse", ["a", "b", "?"] * 20, "missing-code"),
    "NA": ("pulse", numbers(*["NA"] * 6), "missing-code"),
    "unknown": ("smoker", ["yes", "no", "Unknown"] * 20, "missing-code"),
    "-9": ("pulse", numbers(*["-9"] * 6), "missing-number"),
    "999": ("pulse", numbers(*["999"] * 6), "missing-number"),
    "zeros that cannot be": ("pulse", numbers(*["0"] * 6), "impossible-zero"),
    "a typing error": ("grade", [str(1 + index % 5) for index in range(ROWS - 1)] + ["55"], "far-value"),
    "an identifier": ("case", [f"p{index}" for index in range(ROWS)], "identifier"),
    "numbers that name cases": ("x", [str(100000 + index) for index in range(ROWS)], "identifier"),
    "a name": ("surname", [f"n{index % 20}" for index in range(ROWS)], "personal"),
    "a birth date": ("x", [f"19{60 + index % 30}-01-02" for index in range(ROWS)], "date"),
    "free text": ("x", [f"patient came in with pain on the {index % 9} day" for index in range(ROWS)], "free-text"),
    "one value": ("x", ["a"] * ROWS, "constant"),
    "nearly one value": ("x", ["b", *["a"] * (ROWS - 1)], "nearly-constant"),
    "nothing": ("x", [""] * ROWS, "empty-column"),
    "1 and 1.0": ("x", ["1", "1.0", "2"] * 20, "spelling"),
    "cases": ("x", ["Yes", "yes", "no"] * 20, "spelling"),
    "accents": ("x", ["épée", "epee", "no"] * 20, "spelling"),
    "blanks within": ("x", ["a  b", "a b", "no"] * 20, "spelling"),
    "mixed": ("x", numbers(*["high"] * 6), "mixed-types"),
    "decimal commas": ("x", [f"{36 + index % 5},{index % 7}" for index in range(ROWS)], "decimal-comma"),
    "measurements": ("x", numbers(), "measurement"),
    "gaps": ("x", ["a", "b", ""] * 20, "gaps"),
    "many categories": ("x", [f"c{index % 55}" for index in range(400)], "many-values"),
}  # fmt: skip


@pytest.mark.parametrize("case", STRANGE)
def test_what_is_strange_is_found(case: str) -> None:
    name, texts, code = STRANGE[case]
    assert code in found(name, texts), case


@pytest.mark.parametrize("code", sorted({code for _, _, code in STRANGE.values()}))
def test_what_is_not_strange_is_not_found(code: str) -> None:
    plain = {"sex": ["f", "m", "m"] * 20, "stage": ["1", "2", "3", "3"] * 15, "legs": ["0", "2", "4"] * 20}
    for name, texts in plain.items():
        assert code not in found(name, texts)
    oldpeak = [f"{index % 30 / 10:.1f}" for index in range(ROWS)]
    few = {"missing-code", "missing-number", "impossible-zero", "far-value", "identifier", "mixed-types"}
    assert not {code} & few & set(found("oldpeak", oldpeak))


def test_each_remedy_is_an_option_that_can_be_typed() -> None:
    assert str(found("pulse", numbers(*["-9"] * 6))["missing-number"].advice[0]) == "--missing-in pulse=-9"
    assert str(found("case id", [f"p{n}" for n in range(ROWS)])["identifier"].advice[0]) == "--drop 'case id'"
    assert str(found("x", ["1", "1.0", "2"] * 20)["spelling"].advice[0]) == "--spelling x=number"
    assert str(found("x", ["Yes", "yes", "no"] * 20)["spelling"].advice[0]) == "--spelling x=folded"
    both = found("a", ["1", "2", "?"] * 20, b=["3", "4", "?"] * 20)["missing-code"]
    assert (both.columns, [str(one) for one in both.advice]) == (("a", "b"), ["--missing '?'"])


def test_the_class_under_another_name_is_found() -> None:
    classes = ["yes" if index % 3 else "no" for index in range(ROWS)]
    coded = ["1" if text == "yes" else "0" for text in classes]
    score = [str(200 + index if index % 3 else index) for index in range(ROWS)]
    plain = [str(index % 4) for index in range(ROWS)]
    profile = profile_of(table(coded=coded, score=score, plain=plain, ill=classes), 5, "ill")
    leaks = [finding.columns for finding in profile.findings if finding.code == "gives-class-away"]
    assert leaks == [("coded",)] or ("coded", "score") in leaks


@pytest.mark.parametrize("declared", [None, True, False])
@pytest.mark.parametrize("texts", [["36,5", "37", "38.5"], ["36,5", "37"], ["1,200", "3"], ["36.5", "37"]])
def test_numbers_are_told_as_a_job_reads_them(texts: list[str], declared: bool | None) -> None:
    (marked,) = with_marks([column("x", texts)], declared)
    facts = facts_of(marked)
    assert facts.comma == (marked.decimal_mark is DecimalMark.COMMA)
    if marked.decimal_mark is DecimalMark.UNCLEAR:
        return

    def is_read(text: str) -> bool:
        try:
            reader_of(marked.decimal_mark, lambda plain: int(parse_number("x", plain) > 0), "x")(text)
        except UnknownValueError:
            return False
        return True

    assert [number is not None for number in facts.numbers] == [is_read(text) for text in facts.values]


def test_a_class_that_is_different_in_every_row_costs_no_memory() -> None:
    """Named by mistake: rows times rows would be 128 MB here, and more than a machine has for a registry."""
    rows = 4000
    names, sizes = [f"p{row}" for row in range(rows)], [str(row * 7 % rows) for row in range(rows)]
    tracemalloc.start()
    profile = profile_of(table(size=sizes, ill=names), 5, "ill")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**25
    assert "gives-class-away" not in {finding.code for finding in profile.findings}


def test_a_column_twice_is_found_in_other_words_and_in_another_unit() -> None:
    fever = [str(360 + index % 40) for index in range(ROWS)]
    fahrenheit = [str((360 + index % 40) * 9 / 5 + 320) for index in range(ROWS)]
    word = ["female" if index % 2 else "male" for index in range(ROWS)]
    letter = ["f" if index % 2 else "m" for index in range(ROWS)]
    profile = profile_of(table(fever=fever, fahrenheit=fahrenheit, word=word, letter=letter), 5)
    assert {f.columns: f.says.split("'")[1] for f in profile.findings if f.code == "same-as"} == {
        ("fahrenheit",): "fever",
        ("letter",): "word",
    }


def test_rows_and_patients_that_come_twice_and_rows_that_contradict() -> None:
    a = ["x", "x", "y", "z"] * 15
    classes = ["yes", "no", "yes", "no"] * 15
    patients = [f"p{index // 2}" for index in range(ROWS)]
    profile = profile_of(table(pid=patients, a=a, ill=classes), 5, "ill", patient="pid")
    says = {finding.code: finding.says for finding in profile.findings}
    assert says["contradictory-rows"].startswith("30 rows")
    assert says["repeated-patients"].startswith("60 rows")
    assert "duplicate-rows" not in says
    alone = profile_of(table(a=a, ill=classes), 5, "ill")
    assert "56 rows repeat" in next(f.says for f in alone.findings if f.code == "duplicate-rows")


@pytest.mark.parametrize(
    ("classes", "code"),
    [
        (["yes"] * ROWS, "single-class"),
        (["yes", "no", ""] * 20, "class-missing"),
        (["yes", "no", "?"] * 20, "class-missing"),
        ([str(index) for index in range(ROWS)], "class-of-numbers"),
        (["rare", *["yes", "no"] * 29, "no"], "unbalanced"),
    ],
)
def test_classes_that_make_no_study(classes: list[str], code: str) -> None:
    profile = profile_of(table(a=["x", "y"] * 30, ill=classes), 5, "ill")
    assert code in {finding.code for finding in profile.findings}


@given(st.lists(st.integers(min_value=1, max_value=40), min_size=1, max_size=12), st.integers(1, 12))
def test_no_number_below_the_floor_follows_from_what_is_shown(counts: list[int], floor: int) -> None:
    """With the number of all rows, too: what is held back is nothing, or together at least the floor, or all."""
    values = [f"v{index}" for index in range(len(counts))]
    shown = shown_values(values, counts, floor)
    assert all(count >= floor for _, count in shown.values)
    hidden = sum(counts) - sum(count for _, count in shown.values)
    assert hidden == 0 or hidden >= floor or not shown.values
    assert len(shown.values) + shown.held_back == len(counts)


def test_no_page_tells_a_value_or_a_number_below_the_floor(tmp_path: Path) -> None:
    path = tmp_path / "ward.csv"
    rows = [f"{'rarest' if n == 0 else 'often'},{130 + n},{'yes' if n % 2 else 'no'}" for n in range(40)]
    path.write_text("a,pulse,ill\n" + "\n".join(rows) + "\n")
    profile = profile_of(read_table(DataSettings(path=path)), 5, "ill")
    for page in (text_of(profile), html_of(profile), json.dumps(document_of(profile))):
        assert "rarest" not in page
        assert "169" not in page  # the highest pulse, one patient's
        assert "165" in page  # the fifth highest: five rows reach it
    assert "rarest" in text_of(profile_of(read_table(DataSettings(path=path)), 1, "ill"))


def pages_of(made: Table, floor: int) -> str:
    profile = profile_of(made, floor, "ill")
    return "\n".join([text_of(profile), html_of(profile), json.dumps(document_of(profile))])


def test_no_small_number_follows_from_the_number_of_the_others() -> None:
    classes = ["yes", "no"] * 50
    mixed = pages_of(table(x=numbers("high", "low", "high", count=100), ill=classes), 5)
    assert "mixed-types" in mixed
    assert not re.search(r"(numbers|texts) \(", mixed)
    gaps = pages_of(table(x=["a", "b"] * 50, ill=["", "", "", "rare", *["often"] * 96]), 5)
    assert "of 100." in gaps
    assert "of 97" not in gaps


def test_a_code_for_missing_of_few_rows_is_told_without_its_value() -> None:
    age = ["99", *[str(1 + index % 14) for index in range(79)]]
    page = pages_of(table(age=age, ill=["yes", "no"] * 40), 5)
    assert "missing-number" in page
    assert not re.search(r"\b99\b", page)


@pytest.mark.parametrize("floor", [6, 8, 15, 40])
def test_the_range_of_few_numbers_is_no_patients_value(floor: int) -> None:
    column = [str(100 + 3 * index) for index in range(11)]
    page = pages_of(table(pulse=[*column, *[""] * 29], ill=["yes", "no"] * 20), floor)
    assert not [number for number in column if number in page]


def test_a_value_with_a_line_end_stays_on_its_columns_line() -> None:
    made = table(note=["first\nsecond", "other"] * 20, ill=["yes", "yes", "no", "no"] * 10)
    assert "  note: category, 2 different values. first\\nsecond (20), other (20)" in text_of(
        profile_of(made, 5, "ill")
    ).split("\n")


def test_a_page_of_html_escapes_what_records_hold(tmp_path: Path) -> None:
    path = tmp_path / "ward.csv"
    path.write_text("a<b,ill\n" + "<script>,yes\nb,no\n" * 10)
    page = html_of(profile_of(read_table(DataSettings(path=path)), 5, "ill"))
    assert "<script>" not in page
    assert "a&lt;b" in page
