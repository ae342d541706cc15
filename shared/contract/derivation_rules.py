"""From the fields of a record, each read as the contract reads it, to a derived text: the rule of each kind.

Numbers are exact fractions until the one rounding at the end. An empty field makes an empty text, unless a rule says
otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Final

from shared.contract.reading import BrokenRuleError, Rule
from shared.contract.spelling import as_spelled
from shared.tree.numbers import decimal_text
from shared.wire.contract import Spelling
from shared.wire.contract_derived import AnyOf, Combination, Days, Derivation, Product

CORRECT: Final = "Correct the fields, or have the contract say what becomes of them."
_MAX_DIGITS: Final = 64
"""Before the point, as of every number of a record."""


def rule_of(derivation: Derivation, spellings: Sequence[Spelling], where: str) -> Callable[[list[str]], str]:
    """From fields that are read to the derived text."""
    if isinstance(derivation, Combination):
        return _combining(derivation, spellings, where)
    if isinstance(derivation, AnyOf):
        return _any_of(derivation, spellings)
    if isinstance(derivation, Days):
        return _days
    return _product(derivation, where)


def _combining(one: Combination, spellings: Sequence[Spelling], where: str) -> Callable[[list[str]], str]:
    cases = [(in_one_form(case.when, spellings), case) for case in one.cases]

    def made(read: list[str]) -> str:
        for when, case in cases:
            if all(text is None or text == field for text, field in zip(when, read, strict=True)):
                return case.value
        if "" in read:
            return ""
        if one.otherwise is None:
            columns = ", ".join(map(repr, one.columns))
            raise broken(
                Rule.COMBINATION,
                f"a combination of {columns} that the contract does not list",
                where,
                CORRECT,
            )
        return one.otherwise

    return made


def _any_of(one: AnyOf, spellings: Sequence[Spelling]) -> Callable[[list[str]], str]:
    wanted = [{as_spelled(text, rule) for text in one.texts} for rule in spellings]

    def made(read: list[str]) -> str:
        if any(field != "" and field in texts for field, texts in zip(read, wanted, strict=True)):
            return one.value
        return "" if "" in read else one.otherwise

    return made


def _days(read: list[str]) -> str:
    if "" in read:
        return ""
    first, second = map(date.fromisoformat, read)
    return str((second - first).days)


def _product(one: Product, where: str) -> Callable[[list[str]], str]:
    times = Fraction(one.times)

    def made(read: list[str]) -> str:
        if "" in read:
            return ""
        product = times
        for text, power in zip(read, one.powers, strict=True):
            number = Fraction(Decimal(text))
            if number == 0 and power < 0:
                raise broken(Rule.DIVISION, "a division by 0", where, CORRECT)
            product *= number**power
        if abs(product) >= 10**_MAX_DIGITS:
            raise broken(Rule.RANGE, f"a number of more than {_MAX_DIGITS} digits", where)
        return _rounded(product, one.decimals, half_up=one.rounding == "half-up")

    return made


def _rounded(number: Fraction, decimals: int, *, half_up: bool) -> str:
    """The decimal of so many places that is nearest. Args: half_up: half way, the one further from 0; else the even."""
    whole, rest = divmod(abs(number) * 10**decimals, 1)
    up = rest > Fraction(1, 2) or (rest == Fraction(1, 2) and (half_up or whole % 2 == 1))
    scaled = (int(whole) + up) * (-1 if number < 0 else 1)
    digits = str(abs(scaled)).rjust(decimals + 1, "0")
    sign = "-" if scaled < 0 else ""
    return decimal_text(
        Decimal(f"{sign}{digits[: len(digits) - decimals]}.{digits[len(digits) - decimals :]}0")
    )


def in_one_form(texts: Sequence[str | None], spellings: Sequence[Spelling]) -> list[str | None]:
    """Texts of a derivation as they compare with fields that are read; None stays."""
    return [
        None if text is None else as_spelled(text, rule) for text, rule in zip(texts, spellings, strict=True)
    ]


def broken(rule: Rule, detail: str, where: str, remedy: str = CORRECT) -> BrokenRuleError:
    """A derived value that cannot be made; `detail` names columns and never a field."""
    return BrokenRuleError(rule, detail, where=where, remedy=remedy)
