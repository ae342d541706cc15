"""What can be strange about one column by itself. Each function gives at most one finding a column."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from typing import Final

from hospital_agent.records.draft import IDENTIFIER_ROWS, IDENTIFIER_TENTHS
from hospital_agent.records.profile.facts import ColumnFacts
from hospital_agent.records.profile.finding import Advice, Finding, Weight, drop, finding, missing_code
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
    return finding(
        "spelling",
        Weight.ACT,
        (facts.name,),
        key=f"spelling-{rule}" if len(double) > 1 else f"spelling-{rule}-once",
        advice=(Advice("--spelling", f"{facts.name}={rule}"),),
        n=len(double),
    )


def _empty(facts: ColumnFacts, _floor: int) -> Finding | None:
    if facts.kind != "empty":
        return None
    return finding(
        "empty-column",
        Weight.ACT,
        (facts.name,),
        advice=(drop(facts.name),),
    )


def _constant(facts: ColumnFacts, floor: int) -> Finding | None:
    if facts.different == 1 and not facts.missing:
        return finding(
            "constant",
            Weight.LOOK,
            (facts.name,),
            advice=(drop(facts.name),),
        )
    return None


def _nearly_constant(facts: ColumnFacts, floor: int) -> Finding | None:
    commonest = max(facts.counts)
    if facts.rows - commonest < floor and facts.rows >= IDENTIFIER_ROWS and facts.different < 4:
        return finding(
            "nearly-constant",
            Weight.NOTE,
            (facts.name,),
            floor=floor,
        )
    return None


def _identifier(facts: ColumnFacts, _floor: int) -> Finding | None:
    nearly_all = facts.rows >= IDENTIFIER_ROWS and facts.different * 10 >= facts.rows * IDENTIFIER_TENTHS
    if nearly_all and facts.kind != "decimal":
        return finding(
            "identifier",
            Weight.ACT,
            (facts.name,),
            advice=(drop(facts.name),),
        )
    many = facts.rows >= 10 * IDENTIFIER_ROWS and facts.different * 2 >= facts.rows
    long = not facts.is_number or min(number for number, _ in facts.measured()) >= _LONG_NUMBER
    named = _ID_NAMES.fullmatch(folded(facts.name)) is not None and facts.different > MAX_VALUES // 2
    if facts.kind != "decimal" and ((many and long) or named):
        return finding(
            "maybe-identifier",
            Weight.LOOK,
            (facts.name,),
            advice=(drop(facts.name),),
        )
    return None


def _personal(facts: ColumnFacts, _floor: int) -> Finding | None:
    if _PERSONAL.fullmatch(folded(facts.name)) is None or facts.different <= MANY_VALUES:
        return None
    return finding(
        "personal",
        Weight.ACT,
        (facts.name,),
        advice=(drop(facts.name),),
    )


def _free_text(facts: ColumnFacts, _floor: int) -> Finding | None:
    if facts.kind != "text":
        return None
    return finding(
        "free-text",
        Weight.ACT,
        (facts.name,),
        advice=(drop(facts.name),),
    )


def _date(facts: ColumnFacts, _floor: int) -> Finding | None:
    if facts.kind != "date":
        return None
    return finding(
        "date",
        Weight.ACT,
        (facts.name,),
        advice=(drop(facts.name),),
    )


def _missing_words(facts: ColumnFacts, _floor: int) -> Finding | None:
    found = [text for text in facts.values if is_missing_word(text)]
    if not found:
        return None
    texts = ", ".join(map(repr, found))
    return finding(
        "missing-code",
        Weight.ACT,
        (facts.name,),
        advice=tuple(missing_code(facts.name, text) for text in found),
        texts=texts,
    )


def _missing_numbers(facts: ColumnFacts, floor: int) -> Finding | None:
    codes = suspected_codes(facts.measured()) if facts.is_number else []
    if not codes:
        return None
    rows = {number: count for number, count in facts.measured() if number in codes}
    if min(rows.values()) < floor:  # the number itself may be one patient's
        return finding(
            "missing-number",
            Weight.LOOK,
            (facts.name,),
            key="missing-number-hidden",
            rows=told(min(rows.values()), floor),
        )
    texts = [decimal_text(code) for code in codes]
    return finding(
        "missing-number",
        Weight.LOOK,
        (facts.name,),
        advice=tuple(missing_code(facts.name, text) for text in texts),
        texts=", ".join(texts),
        rows=told(sum(rows.values()), floor),
    )


def _zeros(facts: ColumnFacts, floor: int) -> Finding | None:
    rows = zeros_that_cannot_be(facts.measured()) if facts.is_number else 0
    if not rows:
        return None
    return finding(
        "impossible-zero",
        Weight.ACT,
        (facts.name,),
        advice=(missing_code(facts.name, "0"),),
        rows=told(rows, floor),
    )


def _far(facts: ColumnFacts, floor: int) -> Finding | None:
    numbers = facts.measured()
    codes = suspected_codes(numbers)
    rows = far_numbers([pair for pair in numbers if pair[0] not in codes], floor) if facts.is_number else 0
    if not rows:
        return None
    return finding(
        "far-value",
        Weight.LOOK,
        (facts.name,),
        rows=told(rows, floor),
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
    # Only the rarer kind is told: the number of the other one would tell it.
    return finding(
        "mixed-types",
        Weight.ACT,
        (facts.name,),
        rows=told(min(words, numbers), floor),
    )


def _comma(facts: ColumnFacts, _floor: int) -> Finding | None:
    if not facts.comma:
        return None
    return finding(
        "decimal-comma",
        Weight.NOTE,
        (facts.name,),
    )


def _many_numbers(facts: ColumnFacts, _floor: int) -> Finding | None:
    if not facts.is_number or facts.different <= MANY_VALUES:
        return None
    return finding(
        "measurement",
        Weight.NOTE,
        (facts.name,),
        many=MANY_VALUES,
    )


def _many_categories(facts: ColumnFacts, _floor: int) -> Finding | None:
    if facts.is_number or facts.different <= _MANY_CATEGORIES:
        return None
    is_too_many = facts.different > MAX_VALUES
    if is_too_many:
        return finding(
            "many-values",
            Weight.ACT,
            (facts.name,),
            key="too-many-values",
            advice=(drop(facts.name),),
            n=facts.different,
            most=MAX_VALUES,
        )
    return finding("many-values", Weight.LOOK, (facts.name,), n=facts.different)


def _gaps(facts: ColumnFacts, _floor: int) -> Finding | None:
    if not facts.missing:
        return None
    half = 2 * facts.missing > facts.rows
    return finding(
        "gaps",
        Weight.LOOK if half else Weight.NOTE,
        (facts.name,),
        key="gaps-in-half" if half else None,
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
