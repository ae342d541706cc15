"""What can be strange about one column by itself. Each function gives at most one finding a column."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from typing import Final

from hospital_agent.records.draft import IDENTIFIER_ROWS, IDENTIFIER_TENTHS
from hospital_agent.records.profile.facts import ColumnFacts
from hospital_agent.records.profile.finding import Advice, Finding, Weight, drop, missing_code
from hospital_agent.records.profile.shown import told
from hospital_agent.records.profile.suspects import (
    far_numbers,
    is_missing_word,
    suspected_codes,
    zeros_that_cannot_be,
)
from hospital_agent.records.remarks import MANY_VALUES
from shared.contract.spelling import folded
from shared.tree.numbers import decimal_text
from shared.tree.schema import MAX_VALUES

_ID_NAMES: Final = re.compile(
    r"(.*[ _.-])?(id|ids|mrn|ssn|nhs|uid|uuid|guid|pid|no|nr|number|case|record|patient|subject)"
    r"([ _.-](id|no|nr|number))?"
)
_PERSONAL: Final = re.compile(
    r"(.*[ _.-])?(name|surname|forename|lastname|firstname|address|street|zip|zipcode|postcode|phone|mobile|email|mail"
    r"|birth|birthday|birthdate|dob)([ _.-].*)?"
)
_MANY_CATEGORIES: Final = 50
_LONG_NUMBER: Final = 10_000
"""Measurements have few digits, and numbers of cases many."""

Rule = Callable[[ColumnFacts, int], Finding | None]
"""Facts of a column and the floor to what is strange about it."""


def column_findings(facts: ColumnFacts, floor: int) -> list[Finding]:
    """All that is strange about an attribute's column; one that should be left out is not looked at further."""
    for rule in (_empty, _constant, _identifier, _personal, _free_text, _date):
        found = rule(facts, floor)
        if found is not None:
            return [found]
    return [found for rule in _RULES if (found := rule(facts, floor)) is not None]


def spelling_finding(facts: ColumnFacts, floor: int) -> Finding | None:
    """Values that differ only by case, blanks, accents, or as `1` and `1.0`."""
    forms: dict[str, set[str]] = defaultdict(set)
    numeric = False
    for text, number in zip(facts.values, facts.numbers, strict=True):
        if text:
            forms[decimal_text(number) if number is not None else folded(text)].add(text)
            numeric = numeric or (number is not None)
    double = [texts for texts in forms.values() if len(texts) > 1]
    if not double or (facts.is_number and facts.different > MANY_VALUES):
        return None
    rule = "number" if numeric and facts.is_number else "folded"
    how = (
        "as numbers they are the same (1 and 1.0)" if rule == "number" else "by case, blanks or accents alone"
    )
    return Finding(
        "spelling",
        Weight.ACT,
        (facts.name,),
        f"{_values(len(double))} written in several ways, which differ only in spelling: {how}.",
        "Have the contract take them for one value.",
        (Advice("--spelling", f"{facts.name}={rule}"),),
    )


def _values(count: int) -> str:
    return "1 value is" if count == 1 else f"{count} values are"


def _empty(facts: ColumnFacts, _floor: int) -> Finding | None:
    if facts.kind != "empty":
        return None
    return Finding(
        "empty-column",
        Weight.ACT,
        (facts.name,),
        "no field holds anything.",
        "Leave it out.",
        (drop(facts.name),),
    )


def _constant(facts: ColumnFacts, floor: int) -> Finding | None:
    if facts.different == 1 and not facts.missing:
        return Finding(
            "constant",
            Weight.LOOK,
            (facts.name,),
            "every row has the same value, so it can tell nothing here; at another hospital it may differ.",
            "Leave it out, unless other hospitals have other values.",
            (drop(facts.name),),
        )
    return None


def _nearly_constant(facts: ColumnFacts, floor: int) -> Finding | None:
    commonest = max(facts.counts)
    if facts.rows - commonest < floor and facts.rows >= IDENTIFIER_ROWS and facts.different < 4:
        return Finding(
            "nearly-constant",
            Weight.NOTE,
            (facts.name,),
            f"all rows but fewer than {floor} have the same value, so no branch of it can reach the floor here.",
            "Leave it out, unless other hospitals have other values.",
        )
    return None


def _identifier(facts: ColumnFacts, _floor: int) -> Finding | None:
    nearly_all = facts.rows >= IDENTIFIER_ROWS and facts.different * 10 >= facts.rows * IDENTIFIER_TENTHS
    if nearly_all and facts.kind != "decimal":
        return Finding(
            "identifier",
            Weight.ACT,
            (facts.name,),
            "nearly every row has its own value, as in an identifier; a tree would learn patients by heart.",
            "Leave it out; name it with --patient to look for patients who occur twice.",
            (drop(facts.name),),
        )
    many = facts.rows >= 10 * IDENTIFIER_ROWS and facts.different * 2 >= facts.rows
    long = not facts.is_number or min(number for number, _ in facts.measured()) >= _LONG_NUMBER
    named = _ID_NAMES.fullmatch(folded(facts.name)) is not None and facts.different > MAX_VALUES // 2
    if facts.kind != "decimal" and ((many and long) or named):
        return Finding(
            "maybe-identifier",
            Weight.LOOK,
            (facts.name,),
            "most rows have a value of their own, or its name is that of an identifier.",
            "Leave it out, unless it is a measurement; then give cut points with --cuts.",
            (drop(facts.name),),
        )
    return None


def _personal(facts: ColumnFacts, _floor: int) -> Finding | None:
    if _PERSONAL.fullmatch(folded(facts.name)) is None or facts.different <= MANY_VALUES:
        return None
    return Finding(
        "personal",
        Weight.ACT,
        (facts.name,),
        "its name is that of something that points to a person.",
        "Leave it out.",
        (drop(facts.name),),
    )


def _free_text(facts: ColumnFacts, _floor: int) -> Finding | None:
    if facts.kind != "text":
        return None
    return Finding(
        "free-text",
        Weight.ACT,
        (facts.name,),
        "most fields are sentences, which may name people and make no value list.",
        "Leave it out, or code it.",
        (drop(facts.name),),
    )


def _date(facts: ColumnFacts, _floor: int) -> Finding | None:
    if facts.kind != "date":
        return None
    return Finding(
        "date",
        Weight.ACT,
        (facts.name,),
        "dates point to persons and do not come again.",
        "Leave it out, or have the export turn it into an age or a number of days.",
        (drop(facts.name),),
    )


def _missing_words(facts: ColumnFacts, _floor: int) -> Finding | None:
    found = [text for text in facts.values if is_missing_word(text)]
    if not found:
        return None
    texts = ", ".join(map(repr, found))
    return Finding(
        "missing-code",
        Weight.ACT,
        (facts.name,),
        f"{texts} is often written for a missing value; now it is a value like any other.",
        "Declare it, unless it is an answer of its own.",
        tuple(missing_code(facts.name, text) for text in found),
    )


def _missing_numbers(facts: ColumnFacts, floor: int) -> Finding | None:
    codes = suspected_codes(facts.measured()) if facts.is_number else []
    if not codes:
        return None
    rows = {number: count for number, count in facts.measured() if number in codes}
    if min(rows.values()) < floor:  # the number itself may be one patient's
        return Finding(
            "missing-number",
            Weight.LOOK,
            (facts.name,),
            f"a number of {told(min(rows.values()), floor)}, of nines alone or below 0, looks like a code for missing.",
            "Look at it (--floor 1, for your eyes only), and declare it with --missing-in if it is one.",
        )
    texts = [decimal_text(code) for code in codes]
    return Finding(
        "missing-number",
        Weight.LOOK,
        (facts.name,),
        f"{', '.join(texts)} ({told(sum(rows.values()), floor)}) looks like a code for a missing value: far from all "
        "other numbers.",
        "Declare it if it is one.",
        tuple(missing_code(facts.name, text) for text in texts),
    )


def _zeros(facts: ColumnFacts, floor: int) -> Finding | None:
    rows = zeros_that_cannot_be(facts.measured()) if facts.is_number else 0
    if not rows:
        return None
    return Finding(
        "impossible-zero",
        Weight.ACT,
        (facts.name,),
        f"0 ({told(rows, floor)}), while all other numbers are far from 0: perhaps a measurement that was not made.",
        "Declare 0 as missing, unless it can be measured.",
        (missing_code(facts.name, "0"),),
    )


def _far(facts: ColumnFacts, floor: int) -> Finding | None:
    numbers = facts.measured()
    codes = suspected_codes(numbers)
    rows = far_numbers([pair for pair in numbers if pair[0] not in codes], floor) if facts.is_number else 0
    if not rows:
        return None
    return Finding(
        "far-value",
        Weight.LOOK,
        (facts.name,),
        f"a number of {told(rows, floor)} lies far from all others: perhaps a typing error.",
        "Look at it (--floor 1, for your eyes only) and correct the record, or recode it.",
    )


def _mixed(facts: ColumnFacts, floor: int) -> Finding | None:
    pairs = [
        (number is not None, count)
        for text, number, count in zip(facts.values, facts.numbers, facts.counts, strict=True)
        if text and not is_missing_word(text)
    ]
    words = sum(count for is_number, count in pairs if not is_number)
    numbers = sum(count for is_number, count in pairs if is_number)
    if not words or not numbers or (facts.different <= MANY_VALUES and not facts.is_number):
        return None
    if not facts.is_number and numbers < words:
        return None
    return Finding(
        "mixed-types",
        Weight.ACT,
        (facts.name,),
        # Only the rarer kind: the number of the other one would tell it.
        f"numbers and texts that are none in one column ({told(min(words, numbers), floor)} of the rarer kind).",
        "Correct the texts, declare them with --missing-in, or use the column as a category.",
    )


def _comma(facts: ColumnFacts, _floor: int) -> Finding | None:
    if not facts.comma:
        return None
    return Finding(
        "decimal-comma",
        Weight.NOTE,
        (facts.name,),
        "numbers are written with a decimal comma.",
        "They are read as such; set decimal_comma in [data] if it is found out wrongly.",
    )


def _many_numbers(facts: ColumnFacts, _floor: int) -> Finding | None:
    if not facts.is_number or facts.different <= MANY_VALUES:
        return None
    return Finding(
        "measurement",
        Weight.NOTE,
        (facts.name,),
        f"measured, with more than {MANY_VALUES} different numbers.",
        "Modes PPSDT and id3 need public cut points (--cuts); mode gain-ratio takes it as it is.",
    )


def _many_categories(facts: ColumnFacts, _floor: int) -> Finding | None:
    if facts.is_number or facts.different <= _MANY_CATEGORIES:
        return None
    most = f", and a study takes {MAX_VALUES}" if facts.different > MAX_VALUES else ""
    return Finding(
        "many-values",
        Weight.ACT if most else Weight.LOOK,
        (facts.name,),
        f"{facts.different} different values{most}; most branches would hold few rows.",
        "Group them: prefixes of a code list and recodings in the contract, or leave it out.",
        (drop(facts.name),) if most else (),
    )


def _gaps(facts: ColumnFacts, _floor: int) -> Finding | None:
    if not facts.missing:
        return None
    half = 2 * facts.missing > facts.rows
    return Finding(
        "gaps",
        Weight.LOOK if half else Weight.NOTE,
        (facts.name,),
        f"{'more than half of the fields are' if half else 'some fields are'} empty.",
        "Say what an empty field is: --missing-policy category, refuse or fractional.",
    )


_RULES: Final[tuple[Rule, ...]] = (
    _nearly_constant,
    _missing_words,
    _missing_numbers,
    _zeros,
    _far,
    _mixed,
    spelling_finding,
    _comma,
    _many_numbers,
    _many_categories,
    _gaps,
)
