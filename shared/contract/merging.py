"""Several hospitals' drafts to one contract, in which nobody can see who gave what.

Values, texts and columns are the union of the drafts'; attributes and values stand in the order that all drafts have,
else sorted. So the result does not depend on the drafts' order. Where drafts contradict one another,
a person has to decide: that is an error which names the column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Final, TypeVar

from pydantic import ValidationError

from shared.contract.differing import DraftsDifferError
from shared.contract.merging_derived import merged_derivations
from shared.contract.schema import schema_of_contract
from shared.contract.spelling import as_spelled, number_or_none
from shared.errors import InputError
from shared.tree.numbers import decimal_text
from shared.wire.base import describe
from shared.wire.contract import (
    CodeListSource,
    ContractAttribute,
    ContractClass,
    ContractValue,
    DataContract,
    ExcludedColumn,
    MissingPolicy,
    Spelling,
    UnitConversion,
)
from shared.wire.manifest import MAX_CLASSES, MAX_VALUES

One = TypeVar("One", str, int, Decimal)
_HINTS: Final = {
    "kind": " (privet data draft has --number, --category and --cuts)",
    "missing_policy": " (privet data draft has --missing-policy)",
}
_CLASS: Final = "class"
_LEAVE_OUT: Final = "Have that hospital add the column, or leave it out of the other drafts."


def merge(drafts: Sequence[DataContract]) -> DataContract:
    """The contract of all drafts; attributes in their common order, which also decides between tied ones.

    Raises: InputError: no draft, two that contradict each other, or more values than a column may have.
    """
    if not drafts:
        raise InputError("no drafts to merge", where="drafts", remedy="Name one draft for each hospital.")
    try:
        contract = DataContract(
            attributes=[_attribute(name, _named(drafts, name)) for name in _order(drafts)],
            name=_agreed((draft.name for draft in drafts), "name", "contract"),
            title=_agreed((draft.title for draft in drafts), "title", "contract", ""),
            class_=_class([draft.class_ for draft in drafts]),
            excluded=_excluded(drafts),
            **merged_derivations(drafts),
        )
    except ValidationError as error:
        raise InputError(
            describe(error),
            where="what the drafts say together",
            remedy="Agree on this column, and draft again.",
        ) from None
    schema_of_contract(contract)
    return contract


def _order(drafts: Sequence[DataContract]) -> Sequence[str]:
    """One order where the drafts have one; it then tells nothing of a single hospital."""
    orders = {tuple(attribute.name for attribute in draft.attributes) for draft in drafts}
    return sorted({name for order in orders for name in order}) if len(orders) > 1 else orders.pop()


def _named(drafts: Sequence[DataContract], name: str) -> list[ContractAttribute]:
    found = [next((one for one in draft.attributes if one.name == name), None) for draft in drafts]
    held = [one for one in found if one is not None]
    if len(held) < len(drafts):
        raise DraftsDifferError(
            "one of the drafts does not have it",
            ["lacking" if one is None else "there" for one in found],
            where=f"attribute {name!r}",
            remedy=_LEAVE_OUT,
        )
    return held


def _attribute(name: str, drafts: Sequence[ContractAttribute]) -> ContractAttribute:
    where = f"attribute {name!r}"

    def agreed(member: str) -> str:
        return _agreed((getattr(draft, member) for draft in drafts), member, where, "")

    spelling = _spelling(drafts, where)
    cuts = {tuple(draft.cuts) for draft in drafts if draft.cuts is not None}
    if len(cuts) > 1:
        raise _differ("cuts", where, [",".join(draft.cuts or ()) for draft in drafts])
    treat_as = {draft.treat_as for draft in drafts}
    if len(treat_as) > 1:
        raise _differ("treat_as", where, [draft.treat_as or "" for draft in drafts])
    return ContractAttribute(
        name=name,
        columns=sorted({column for draft in drafts for column in draft.columns}),
        description=agreed("description"),
        unit=agreed("unit"),
        conversions=_conversions(drafts, where),
        kind="category" if agreed("kind") == "category" else "number",
        values=_values([draft.values for draft in drafts], spelling, where),
        spelling=spelling,
        cuts=[*cuts.pop()] if cuts else None,
        minimum=_bound(min, (draft.minimum for draft in drafts)),
        maximum=_bound(max, (draft.maximum for draft in drafts)),
        decimals=max((d.decimals for d in drafts if d.decimals is not None), default=None),
        missing_as=agreed("missing_as") or None,
        missing_codes=sorted({code for draft in drafts for code in draft.missing_codes}),
        missing_policy=_policy(drafts, where),
        treat_as=treat_as.pop(),
        code_list=_code_list(drafts, where),
    )


def _class(drafts: Sequence[ContractClass]) -> ContractClass:
    where = _CLASS
    spelling = _spelling(drafts, where)
    return ContractClass(
        name=_agreed((draft.name for draft in drafts), "name", where),
        columns=sorted({column for draft in drafts for column in draft.columns}),
        description=_agreed((draft.description for draft in drafts), "description", where, ""),
        values=_values([draft.values for draft in drafts], spelling, where),
        spelling=spelling,
        code_list=_code_list(drafts, where),
    )


def _code_list(
    drafts: Sequence[ContractAttribute] | Sequence[ContractClass], where: str
) -> CodeListSource | None:
    """The list that all drafts have. Raises: DraftsDifferError: some have another, or none."""
    sources = [draft.code_list for draft in drafts]
    if any(source != sources[0] for source in sources):
        raise DraftsDifferError(
            "the drafts take its values from different code lists",
            [_list_name(source) for source in sources],
            where=where,
            remedy="Draft again at all hospitals with --code-list and the same file.",
        )
    return sources[0] if sources else None


def _list_name(source: CodeListSource | None) -> str:
    if source is None:
        return "none"
    return f"{source.url or 'a list'} {source.version} (file {source.file_sha256[:16]})".replace("  ", " ")


def _values(drafts: Sequence[Sequence[ContractValue]], spelling: Spelling, where: str) -> list[ContractValue]:
    """The union, in the order that all drafts have, such as low, high, or else sorted.

    A text that one draft lists as a value and another as a spelling of one is the latter.
    """
    meant: dict[str, str] = {}
    for entry in (entry for values in drafts for entry in values):
        for text in entry.texts:
            form = as_spelled(text, spelling)
            if meant.setdefault(form, entry.value) != entry.value:
                raise InputError(
                    f"the drafts read the text {text!r} as different values",
                    where=where,
                    remedy="Agree on one of them.",
                )
    found: dict[str, list[ContractValue]] = {}
    for entry in (entry for values in drafts for entry in values):
        value = meant.get(as_spelled(entry.value, spelling), entry.value)
        found.setdefault(as_spelled(value, spelling), []).append(entry)
    joined = [_joined(entries, spelling, where) for entries in found.values()]
    most = MAX_CLASSES if where == _CLASS else MAX_VALUES
    if len(joined) > most:
        raise InputError(
            f"the drafts list more than {most} values together",
            where=where,
            remedy="Recode values, or let one take all others (privet data draft has --recode, --prefix and --other).",
        )
    if len({tuple(entry.value for entry in values) for values in drafts}) == 1:
        return joined
    return sorted(joined, key=value_order)


def value_order(entry: ContractValue) -> tuple[bool, bool, Decimal, str]:
    """Where a value stands in a list that has no order of its own: what takes all others stands last."""
    return (entry.other, *order_of(entry.value))


def order_of(value: str) -> tuple[bool, Decimal, str]:
    """Numbers first, by size, then texts."""
    number = number_or_none(value)
    return (number is None, number or Decimal(0), value)


def _joined(entries: Sequence[ContractValue], spelling: Spelling, where: str) -> ContractValue:
    value = min({entry.value for entry in entries if not _only_elsewhere(entry, entries, spelling)})
    texts = {text for entry in entries for text in (entry.value, *entry.texts)} - {value}
    return ContractValue(
        value=value,
        meaning=_agreed((entry.meaning for entry in entries), f"meaning of {value!r}", where, ""),
        texts=sorted(texts),
        prefixes=sorted({prefix for entry in entries for prefix in entry.prefixes}),
        other=any(entry.other for entry in entries),
    )


def _only_elsewhere(entry: ContractValue, entries: Sequence[ContractValue], spelling: Spelling) -> bool:
    """Whether another draft lists this value as a spelling of its own one."""
    form = as_spelled(entry.value, spelling)
    others = [other for other in entries if other.value != entry.value]
    return any(as_spelled(text, spelling) == form for other in others for text in other.texts)


def _spelling(drafts: Sequence[ContractAttribute] | Sequence[ContractClass], where: str) -> Spelling:
    wider: set[Spelling] = {draft.spelling for draft in drafts if draft.spelling != "exact"}
    if len(wider) > 1:
        raise _differ("spelling", where, [draft.spelling for draft in drafts])
    return wider.pop() if wider else "exact"


def _policy(drafts: Sequence[ContractAttribute], where: str) -> MissingPolicy:
    """A hospital without empty fields drafts `refuse`; one that has some decides what they are."""
    wider: set[MissingPolicy] = {d.missing_policy for d in drafts if d.missing_policy != "refuse"}
    if len(wider) > 1:
        raise _differ("missing_policy", where, [draft.missing_policy for draft in drafts])
    return wider.pop() if wider else "refuse"


def _bound(choose: Callable[..., Decimal], bounds: Iterable[str | None]) -> str | None:
    found = [Decimal(bound) for bound in bounds if bound is not None]
    return decimal_text(choose(found)) if found else None


def _conversions(drafts: Sequence[ContractAttribute], where: str) -> list[UnitConversion]:
    found = {one.unit: one for draft in drafts for one in draft.conversions}
    if any(found[one.unit] != one for draft in drafts for one in draft.conversions):
        factors = [
            [f"{one.unit} times {one.factor} plus {one.offset}" for one in d.conversions] for d in drafts
        ]
        raise _differ("conversions", where, [", ".join(one) for one in factors])
    return [found[unit] for unit in sorted(found)]


def _excluded(drafts: Sequence[DataContract]) -> list[ExcludedColumn]:
    reasons: dict[str, str] = {}
    for entry in (entry for draft in drafts for entry in draft.excluded):
        reasons[entry.column] = max(reasons.get(entry.column, ""), entry.reason)
    return [ExcludedColumn(column=column, reason=reasons[column]) for column in sorted(reasons)]


def _agreed(said: Iterable[str | None], member: str, where: str, silent: str | None = None) -> str:
    """What the drafts say of a member; one that says nothing (`silent`) agrees with every other."""
    texts = [text or "" for text in said]
    found = set(texts) - {silent}
    if len(found) > 1:
        raise _differ(member, where, texts)
    return found.pop() if found else ""


def _differ(member: str, where: str, said: Sequence[str]) -> DraftsDifferError:
    return DraftsDifferError(
        f"the drafts differ in {member}",
        said,
        where=where,
        remedy=f"Agree on one, and correct the drafts that say otherwise{_HINTS.get(member, '')}.",
    )
