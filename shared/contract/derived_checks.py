"""Whether a contract's derivations make sense: what they read and make is described, and of the right kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from shared.contract.deriving import source_of
from shared.contract.spelling import as_spelled
from shared.errors import InputError
from shared.wire.contract import ContractAttribute, ContractClass, ContractInput, DataContract, owners_of
from shared.wire.contract_derived import AnyOf, Combination, Days, Derivation, Product

_READS: Final = {"combination": "category", "any": "category", "days": "date", "product": "number"}
_LISTED: Final = "List it among the values of that column, or write it as it is listed."


def check_derivations(contract: DataContract) -> None:
    """Raises: InputError: naming the derived attribute and what is at fault."""
    made: set[str] = set()
    for derivation in contract.derived:
        where = f"contract, derived {derivation.name!r}"
        if derivation.name in made:
            raise InputError("it is derived twice", where=where, remedy="Keep one of the two.")
        made.add(derivation.name)
    for derivation in contract.derived:
        where = f"contract, derived {derivation.name!r}"
        _check_sources(contract, derivation, made, where)
        owner = next((one for one in owners_of(contract) if one.name == derivation.name), None)
        if owner is None:
            raise InputError(
                "no attribute and no class has that name",
                where=where,
                remedy="Describe it among the attributes, or take it out of derived.",
            )
        _check_made(derivation, owner, where)
    used = {name for derivation in contract.derived for name in derivation.columns}
    unused = [one.name for one in contract.inputs if one.name not in used]
    if unused:
        raise InputError(
            "nothing is derived from it",
            where=f"contract, input {unused[0]!r}",
            remedy="Take it out of inputs, or correct the name in derived.",
        )


def _check_sources(contract: DataContract, derivation: Derivation, made: set[str], where: str) -> None:
    if len(set(derivation.columns)) != len(derivation.columns):
        raise InputError("it reads a column twice", where=where, remedy="Name each column once.")
    sources = []
    for name in derivation.columns:
        source = source_of(contract, name, where)
        if name in made:
            raise InputError(
                f"it reads {name!r}, which is derived itself",
                where=where,
                remedy="Name the columns that that one is made of.",
            )
        wanted = _READS[derivation.kind]
        if source.kind != wanted:
            raise InputError(
                f"it reads {name!r}, which is a {source.kind}; kind {derivation.kind!r} reads a {wanted}",
                where=where,
                remedy="Describe the column as what it is, or choose another kind.",
            )
        sources.append(source)
    _check_texts(derivation, sources, where)


def _check_texts(
    derivation: Derivation, sources: list[ContractInput | ContractAttribute], where: str
) -> None:
    """Whether each text that is looked for can come: where columns list values, as one of these."""
    looked: list[tuple[str | None, list[ContractInput | ContractAttribute]]] = []
    if isinstance(derivation, Combination):
        looked = [
            (text, [source])
            for case in derivation.cases
            for text, source in zip(case.when, sources, strict=True)
        ]
    elif isinstance(derivation, AnyOf):
        looked = [(text, sources) for text in derivation.texts]
    for text, columns in looked:
        if text and all(one.values and text not in {entry.value for entry in one.values} for one in columns):
            names = ", ".join(repr(one.name) for one in columns)
            raise InputError(
                f"it looks for {text!r}, which is no value of {names}", where=where, remedy=_LISTED
            )


def _check_made(derivation: Derivation, owner: ContractAttribute | ContractClass, where: str) -> None:
    is_number = isinstance(owner, ContractAttribute) and owner.kind == "number"
    if is_number != (derivation.kind in ("days", "product")):
        made = "category" if is_number else "number"
        raise InputError(
            f"kind {derivation.kind!r} makes a {made}, and it is described as the other",
            where=where,
            remedy="Describe it as what it is, or choose another kind.",
        )
    if isinstance(derivation, Days | Product):
        return
    listed = {as_spelled(entry.value, owner.spelling) for entry in owner.values}
    for value in values_of(derivation):
        if as_spelled(value, owner.spelling) not in listed:
            raise InputError(f"it makes {value!r}, which is not listed", where=where, remedy=_LISTED)
    if isinstance(derivation, Combination):
        _check_cases(derivation, where)


def values_of(derivation: Derivation) -> Iterator[str]:
    """The values that it can make, each once, in its order; none of a number's."""
    if isinstance(derivation, Combination):
        rest = () if derivation.otherwise is None else (derivation.otherwise,)
        yield from dict.fromkeys([*(case.value for case in derivation.cases), *rest])
    elif isinstance(derivation, AnyOf):
        yield from dict.fromkeys([derivation.value, derivation.otherwise])


def texts_of(derivation: Derivation) -> Iterator[str]:
    """All texts of it that people read."""
    yield from (derivation.name, *derivation.columns, *values_of(derivation))
    if isinstance(derivation, AnyOf):
        yield from derivation.texts
    if isinstance(derivation, Combination):
        yield from (text for case in derivation.cases for text in case.when if text is not None)


def _check_cases(derivation: Combination, where: str) -> None:
    seen: set[tuple[str | None, ...]] = set()
    for case in derivation.cases:
        if tuple(case.when) in seen:
            raise InputError("it lists a combination twice", where=where, remedy="Keep one of the two.")
        seen.add(tuple(case.when))
