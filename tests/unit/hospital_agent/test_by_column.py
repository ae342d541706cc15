"""Options that say something of a column: which column is meant, and that nothing is said twice."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hospital_agent.commands.by_column import columns_of, lists, one_each, pairs, several_each
from shared.errors import InputError

COLUMNS = columns_of(["age", "age=now", "icd:10"], {"icd:10": "diagnosis"})


def test_the_longest_name_that_fits_is_the_column() -> None:
    assert one_each(["age=1", "age=now=2", "diagnosis=3"], COLUMNS, "--unit") == {
        "age": "1",
        "age=now": "2",
        "icd:10": "3",
    }
    assert pairs(["icd:10:I2=heart", "3:I5=heart"], COLUMNS, "--prefix") == {
        "icd:10": {"I2": "heart", "I5": "heart"}
    }
    assert lists(["1=37, 38"], COLUMNS, "--cuts") == {"age": ["37", "38"]}
    assert several_each(["age=?", "age=NA"], COLUMNS, "--missing-in") == {"age": ["?", "NA"]}


@pytest.mark.parametrize(
    ("read", "texts"),
    [
        (one_each, ["age=a", "1=mo"]),
        (lists, ["age=1,2", "age=1,3"]),
        (pairs, ["age:a=b", "age:a=c"]),
    ],
)
def test_two_answers_to_one_question_are_refused(
    read: Callable[[list[str], object, str], object], texts: list[str]
) -> None:
    with pytest.raises(InputError, match="with another text") as caught:
        read(texts, COLUMNS, "--option")
    assert texts[1] in str(caught.value)
    assert read([texts[0]] * 2, COLUMNS, "--option") == read([texts[0]], COLUMNS, "--option")


@pytest.mark.parametrize("text", ["pulse=1", "age", "4=1", "0=1"])
def test_what_names_no_column_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="expected a column"):
        one_each([text], COLUMNS, "--unit")
