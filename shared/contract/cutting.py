"""Cut points into a data contract: first a fine public grid to count over, then the quantiles of what was counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from shared.contract.schema import schema_of_contract
from shared.errors import InputError
from shared.tree.cut_points import cut_points, every_number, grid
from shared.tree.numbers import decimal_text
from shared.wire.contract import ContractAttribute, DataContract, MissingPolicy

Counts = Mapping[str, Sequence[int]]
"""Records in each value of an attribute, by its name: intervals in order, then perhaps the missing ones."""


def with_grid(
    contract: DataContract,
    most: int = 50,
    policies: Mapping[str, MissingPolicy] | None = None,
    *,
    every: bool = False,
) -> DataContract:
    """The contract with a grid of edges in place of each number's exact values, for a job that counts a histogram, or
    one that finds thresholds on it.

    Args: policies: attribute to what its empty fields are, under "" that of all others; what is not said stays. every:
        an edge at each number that an attribute can be, where those are not more than `most`.
    Raises: InputError: no number without cuts, a range without room for an edge, or a policy for what gets no grid.
    """
    measured = [one.name for one in contract.attributes if one.kind == "number" and one.cuts is None]
    if not measured:
        raise InputError(
            "every number has cut points already",
            where="contract",
            remedy="Take the cuts of one out, with a range.",
        )
    said = policies or {}
    strange = sorted(set(said) - {"", *measured})
    if strange:
        raise InputError(
            "it is no number without cuts, so its empty fields stay what the contract says",
            where=f"attribute {strange[0]!r}",
            remedy=f"Say it of {', '.join(measured)}; change others where the contract is drafted.",
        )
    changed = _changed(contract, {name: _grid_of(_named(contract, name), most, every) for name in measured})
    attributes = [
        one.model_copy(update={"missing_policy": said.get(one.name, said.get("", one.missing_policy))})
        if one.name in measured
        else one
        for one in changed.attributes
    ]
    with_policies = changed.model_copy(update={"attributes": attributes})
    schema_of_contract(with_policies)
    return with_policies


def with_cuts(contract: DataContract, counts: Counts, parts: int, least: int) -> DataContract:
    """The contract with cuts at the quantiles of a histogram over its present cuts.

    Args: parts: intervals wanted. least: fewest records in an interval.
    Raises: InputError: counts of another contract, or an attribute all of whose records are alike.
    """
    cuts = {}
    for attribute in contract.attributes:
        if attribute.kind == "number" and attribute.cuts is not None and attribute.name in counts:
            cuts[attribute.name] = _quantiles(attribute, counts[attribute.name], parts, least)
    if not cuts:
        raise InputError(
            "the histogram counts no number of this contract",
            where="histogram",
            remedy="Give the result of the job whose study holds this contract.",
        )
    return _changed(contract, cuts)


def _quantiles(attribute: ContractAttribute, counts: Sequence[int], parts: int, least: int) -> list[str]:
    edges = [Decimal(cut) for cut in attribute.cuts or ()]
    known = counts[:-1] if attribute.missing_policy != "refuse" else counts
    found = cut_points(edges, known, parts, least)
    if not found:
        raise InputError(
            f"no cut parts its records into intervals of {least} or more",
            where=f"attribute {attribute.name!r}",
            remedy="Use fewer parts, a smaller least, or leave the attribute out.",
        )
    return [decimal_text(cut) for cut in found]


def _grid_of(attribute: ContractAttribute, most: int, every: bool) -> list[str]:
    low, high = Decimal(attribute.minimum or "0"), Decimal(attribute.maximum or "0")
    whole = every_number(low, high, attribute.decimals or 0, most) if every else None
    edges = grid(low, high, most) if whole is None else whole
    if not edges:
        raise InputError(
            "its range has no room for an edge",
            where=f"attribute {attribute.name!r}",
            remedy="Widen minimum and maximum, or leave the attribute out.",
        )
    return [decimal_text(edge) for edge in edges]


def _named(contract: DataContract, name: str) -> ContractAttribute:
    return next(attribute for attribute in contract.attributes if attribute.name == name)


def _changed(contract: DataContract, cuts: Mapping[str, list[str]]) -> DataContract:
    attributes = [
        one.model_copy(update={"cuts": cuts[one.name], "missing_as": None}) if one.name in cuts else one
        for one in contract.attributes
    ]
    changed = contract.model_copy(update={"attributes": attributes})
    schema_of_contract(changed)
    return changed
