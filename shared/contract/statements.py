"""A draft as single statements, and many drafts' statements, mixed, as drafts that merge to the same contract.

Merging looks at the drafts' union and at what they agree on, never at which draft says what together with what else.
So statements whose sender is unknown are dealt out anew: one that came c times goes to the first c of the drafts that
may hold it. What merging refuses in the true drafts it refuses in these.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from pydantic import ValidationError

from shared.contract.merging import value_order
from shared.errors import ErrorCode, PeerError
from shared.wire.base import WireModel
from shared.wire.contract import (
    ContractAttribute,
    ContractClass,
    ContractValue,
    DataContract,
    ExcludedColumn,
    owners_of,
)
from shared.wire.contract_sealed import (
    Bounded,
    Converted,
    Form,
    Frame,
    LeftOut,
    Noted,
    Spelled,
    Statement,
    Valued,
)

CLASS: Final = ""
"""How statements name the class column."""
_CLASS_FORM: Final = "class"
"""The name in its form; the true one is the frame's."""
_PRESENT: Final = "0"
Item = TypeVar("Item", bound=WireModel)


def statements_of(draft: DataContract) -> list[Statement]:
    """All that a draft says, each thing once."""
    names = [attribute.name for attribute in draft.attributes]
    found: list[Statement] = [
        Frame(
            name=draft.name,
            title=draft.title,
            attributes=names,
            target=draft.class_.name,
            inputs=draft.inputs,
            derived=draft.derived,
        )
    ]
    for owner in owners_of(draft):
        found += _of_column(owner)
    found += [LeftOut(excluded=excluded) for excluded in draft.excluded]
    seen = {statement.canonical(): statement for statement in found}
    return list(seen.values())


def has_own_order(values: Sequence[ContractValue]) -> bool:
    """Whether the list says more than its values do, such as low, medium, high: then places are told, too."""
    return list(values) != sorted(values, key=value_order)


def _of_column(owner: ContractAttribute | ContractClass) -> Iterator[Statement]:
    column = owner.name if isinstance(owner, ContractAttribute) else CLASS
    yield Form(column=column, attribute=_form(owner))
    placed = has_own_order(owner.values)
    for place, entry in enumerate(owner.values):
        bare = entry.model_copy(update={"texts": [], "prefixes": []})
        yield Valued(column=column, value=bare, place=place if placed else None)
        for text in entry.texts:
            yield Spelled(kind="text", column=column, value=entry.value, text=text)
        for prefix in entry.prefixes:
            yield Spelled(kind="prefix", column=column, value=entry.value, text=prefix)
    for name in owner.columns:
        yield Noted(kind="name", column=column, text=name)
    if isinstance(owner, ContractAttribute):
        yield from _of_attribute(owner)


def _of_attribute(attribute: ContractAttribute) -> Iterator[Statement]:
    for code in attribute.missing_codes:
        yield Noted(kind="missing", column=attribute.name, text=code)
    for conversion in attribute.conversions:
        yield Converted(column=attribute.name, conversion=conversion)
    if attribute.minimum is not None:
        yield Bounded(kind="minimum", column=attribute.name, number=attribute.minimum)
    if attribute.maximum is not None:
        yield Bounded(kind="maximum", column=attribute.name, number=attribute.maximum)


def _form(owner: ContractAttribute | ContractClass) -> ContractAttribute:
    if isinstance(owner, ContractClass):
        return ContractAttribute(
            name=_CLASS_FORM,
            description=owner.description,
            kind="category",
            spelling=owner.spelling,
            code_list=owner.code_list,
        )
    bare: dict[str, object] = {"columns": [], "conversions": [], "values": [], "missing_codes": []}
    ends = {
        end: None if getattr(owner, end) is None else _PRESENT for end in ("minimum", "maximum")
    }  # That there is one is part of the form, since a measurement without cuts must have both.
    return owner.model_copy(update=bare | ends)


def drafts_of(statements: Sequence[Statement], hospitals: int) -> list[DataContract]:
    """Drafts, one for each hospital but of none, that merge as the hospitals' own do.

    Raises: PeerError: `malformed`: statements are missing, or are there more often than hospitals can say them.
    """
    frames = sorted(_only(Frame, statements), key=_canonical)
    if len(frames) != hospitals:
        raise _unfit(f"{hospitals} hospitals' drafts were to be there, and {len(frames)} are")
    columns = _by_column(statements)
    known = {CLASS, *(name for frame in frames for name in frame.attributes)}
    if not set(columns) <= known:
        raise _unfit("something is said of a column that no draft has")
    excluded = _dealt_to(range(hospitals), _only(LeftOut, statements))
    dealt: list[dict[str, ContractAttribute]] = [{} for _ in frames]
    try:
        for column in sorted(known):
            holders = [n for n, frame in enumerate(frames) if column in (CLASS, *frame.attributes)]
            made = _deal_column(columns.get(column, ()), len(holders), hospitals)
            for holder, attribute in zip(holders, made, strict=True):
                dealt[holder][column] = attribute
        return [
            _draft(frame, dealt[number], [one.excluded for one in excluded[number]])
            for number, frame in enumerate(frames)
        ]
    except ValidationError:
        raise _unfit("its statements do not make drafts") from None


def _draft(
    frame: Frame, columns: Mapping[str, ContractAttribute], excluded: list[ExcludedColumn]
) -> DataContract:
    target = columns[CLASS]
    return DataContract(
        name=frame.name,
        title=frame.title,
        attributes=[columns[name] for name in frame.attributes],
        class_=ContractClass(
            name=frame.target,
            columns=target.columns,
            description=target.description,
            values=target.values,
            spelling=target.spelling,
            code_list=target.code_list,
        ),
        excluded=excluded,
        inputs=frame.inputs,
        derived=frame.derived,
    )


def _deal_column(said: Sequence[Statement], holders: int, hospitals: int) -> list[ContractAttribute]:
    """The column as each of the drafts that have it says it. Args: said: all statements of the column."""
    forms = [one.attribute for one in sorted(_only(Form, said), key=_canonical)]
    if len(forms) != holders:
        raise _unfit("a column is not described as often as drafts have it")
    everywhere = range(holders)
    listing = [n for n in everywhere if forms[n].kind == "category"]
    measuring = [n for n in everywhere if forms[n].kind == "number"]
    noted = _dealt_to(everywhere, _only(Noted, said))
    values = _deal_values(said, listing, hospitals)
    conversions = _dealt_to(measuring, _only(Converted, said))
    ends = {
        end: _deal_ends([one for one in _only(Bounded, said) if one.kind == end], end, forms)
        for end in ("minimum", "maximum")
    }
    return [
        ContractAttribute.model_validate(
            forms[n].model_dump()
            | {
                "columns": [one.text for one in noted[n] if one.kind == "name"],
                "missing_codes": [one.text for one in noted[n] if one.kind == "missing"],
                "conversions": [one.conversion for one in conversions.get(n, ())],
                "values": values.get(n, []),
            }
            | {end: found.get(n) for end, found in ends.items()}
        )
        for n in everywhere
    ]


def _deal_values(
    said: Sequence[Statement], holders: Sequence[int], hospitals: int
) -> dict[int, list[ContractValue]]:
    """The column's values in each draft that lists some, in the order that all have or else sorted."""
    valued: dict[str, list[Valued]] = defaultdict(list)
    for one in sorted(_only(Valued, said), key=_canonical):
        valued[one.value.value].append(one)
    spelled: dict[str, list[Spelled]] = defaultdict(list)
    for text in _only(Spelled, said):
        spelled[text.value].append(text)
    if not set(spelled) <= set(valued):
        raise _unfit("a text is said to mean a value that no draft has")
    lists: dict[int, list[ContractValue]] = {n: [] for n in holders}
    for value, entries in valued.items():
        if len(entries) > len(holders):
            raise _unfit("a value is there more often than drafts can list it")
        # The emptiest first, so that no list grows longer than the hospitals' own were at most.
        own = sorted(holders, key=lambda n: (len(lists[n]), n))[: len(entries)]
        texts = _dealt_to(own, spelled[value])
        for n, entry in zip(own, entries, strict=True):
            lists[n].append(
                entry.value.model_copy(
                    update={
                        "texts": [one.text for one in texts[n] if one.kind == "text"],
                        "prefixes": [one.text for one in texts[n] if one.kind == "prefix"],
                    }
                )
            )
    places = _common_places(valued, hospitals)
    for entries_of_one in lists.values():
        entries_of_one.sort(key=lambda entry: (places.get(entry.value, 0), value_order(entry)))
    return lists


def _common_places(valued: Mapping[str, Sequence[Valued]], hospitals: int) -> dict[str, int]:
    """Value to place, where every hospital lists every value at one place; else nothing."""
    places: dict[str, int] = {}
    for value, entries in valued.items():
        told = {one.place for one in entries}
        place = told.pop()
        if told or place is None or len(entries) < hospitals:
            return {}
        places[value] = place
    return places


def _deal_ends(said: Sequence[Bounded], end: str, forms: Sequence[ContractAttribute]) -> dict[int, str]:
    """One end of the range for each form that has it."""
    holders = [n for n, form in enumerate(forms) if getattr(form, end) is not None]
    if len(holders) != len(said):
        raise _unfit("ends of a range are missing or too many")
    return dict(zip(holders, sorted(one.number for one in said), strict=True))


def _dealt_to(holders: Sequence[int], said: Sequence[Item]) -> dict[int, list[Item]]:
    """Each statement to as many of the holders as it came times, the first ones first."""
    dealt: dict[int, list[Item]] = {n: [] for n in holders}
    times = Counter(one.canonical() for one in said)
    which = {one.canonical(): one for one in said}
    for raw in sorted(times):
        if times[raw] > len(holders):
            raise _unfit("a statement is there more often than drafts can make it")
        for n in holders[: times[raw]]:
            dealt[n].append(which[raw])
    return dealt


def _by_column(statements: Iterable[Statement]) -> dict[str, list[Statement]]:
    columns: dict[str, list[Statement]] = defaultdict(list)
    for one in statements:
        if isinstance(one, (Form, Valued, Spelled, Noted, Bounded, Converted)):
            columns[one.column].append(one)
    return columns


def _only(kind: type[Item], statements: Iterable[Statement]) -> list[Item]:
    return [one for one in statements if isinstance(one, kind)]


def _canonical(statement: WireModel) -> bytes:
    return statement.canonical()


def _unfit(reason: str) -> PeerError:
    return PeerError(ErrorCode.MALFORMED, f"the batch is not whole: {reason}")
