"""What a data contract makes of several columns, in the words that a data steward reads before approving the study."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from shared.texts import text
from shared.wire.contract import DataContract
from shared.wire.contract_derived import AnyOf, Combination, Days, Derivation, Product

Tell = Callable[[Sequence[str]], str]
"""A list in words, cut short where it is long."""


def derived_words(contract: DataContract, tell: Tell) -> Iterator[str]:
    """A sentence for each derived attribute, and one on what becomes of records that have it as a column."""
    for derivation in contract.derived:
        yield _told(derivation, tell)
    if contract.derived:
        yield text("contract.derived.own_column")


def _told(derivation: Derivation, tell: Tell) -> str:
    name, columns = derivation.name, tell(derivation.columns)
    if isinstance(derivation, Combination):
        cases = tell([_case(case.when, case.value) for case in derivation.cases])
        rest = derivation.otherwise
        end = text("contract.derived.refused") if rest is None else text("contract.derived.rest", value=rest)
        return text("contract.derived.combination", name=name, columns=columns, cases=cases, rest=end)
    if isinstance(derivation, AnyOf):
        return text(
            "contract.derived.any",
            name=name,
            columns=columns,
            texts=tell(derivation.texts),
            value=derivation.value,
            otherwise=derivation.otherwise,
        )
    if isinstance(derivation, Days):
        first, second = derivation.columns
        return text("contract.derived.days", name=name, first=first, second=second)
    return _product(derivation, tell)


def _case(when: Sequence[str | None], value: str) -> str:
    anything = text("contract.derived.anything")
    fields = " + ".join(anything if field is None else field for field in when)
    return text("contract.derived.case", fields=fields, value=value)


def _product(derivation: Product, tell: Tell) -> str:
    factors = [
        column if power == 1 else f"{column}^{power}"
        for column, power in zip(derivation.columns, derivation.powers, strict=True)
    ]
    times = [] if derivation.times == "1" else [derivation.times]
    return text(
        "contract.derived.product",
        name=derivation.name,
        factors=" x ".join([*times, *factors]),
        n=derivation.decimals,
        half=text(f"contract.derived.{derivation.rounding.replace('-', '_')}"),
    )
