"""`privet data grid` and `cuts`: from a contract's ranges to a histogram's edges, and from its counts to cut points."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hospital_agent.commands.by_column import columns_of
from hospital_agent.commands.contracting import (
    ContractFile,
    Out,
    Policies,
    policies_of,
    read_contract,
    read_json,
    write_contract,
)
from shared.errors import InputError
from shared.reports import Report

if TYPE_CHECKING:
    from shared.wire.contract import DataContract


def make_grid(
    contract: ContractFile,
    out: Out,
    edges: Annotated[int, typer.Option(min=1, max=254, help="Most edges of an attribute.")] = 50,
    every_number: Annotated[
        bool,
        typer.Option(
            "--every-number",
            help="An edge at each number that can be, of attributes with no more than --edges.",
        ),
    ] = False,
    missing_policy: Policies = None,
) -> Report:
    """Give each measurement without cut points a fine public grid, for a job that counts a histogram over it or finds
    its thresholds on it.

    A draft without cut points refuses empty fields; --missing-policy says here what they are from now on.
    Exit codes: 0 written; 2 wrong usage; 3 the contract is refused, or has no such measurement.
    """
    from shared.contract.cutting import with_grid

    held = read_contract(contract)
    columns = columns_of((one.name for one in held.attributes), {})
    made = with_grid(held, edges, policies_of(missing_policy, columns), every=every_number)
    write_contract(out, made)
    lines = [
        _told(made, "edges"),
        *_refusing(held, made),
        "Next: a study with this contract, and a job with --thresholds; or with --histogram, if the study allows it.",
    ]
    return Report(_document(out, made), "\n".join(lines))


def make_cuts(
    contract: ContractFile,
    histogram: Annotated[
        Path,
        typer.Argument(metavar="HISTOGRAM", help="What `privet agent evaluation DIR JOB --json` printed."),
    ],
    out: Out,
    parts: Annotated[
        int, typer.Option(min=2, max=255, help="Intervals wanted, of equal numbers of records.")
    ] = 4,
    least: Annotated[int, typer.Option(min=1, help="Fewest records in an interval.")] = 10,
) -> Report:
    """Cut points at the quantiles of all hospitals' records, from the sums that a histogram job opened.

    The contract is the one that the job's study held. Every cut is one of its edges.
    Exit codes: 0 written; 2 wrong usage; 3 contract or histogram refused, or they do not belong together.
    """
    from shared.contract.cutting import with_cuts

    held = read_contract(contract)
    made = with_cuts(held, _counts(read_json(histogram), held, histogram), parts, least)
    write_contract(out, made)
    text = f"{_told(made, 'cut points')}\nNext: each hospital runs privet data check; then a study with this contract."
    return Report(_document(out, made), text)


def _counts(document: Any, contract: DataContract, path: Path) -> dict[str, list[int]]:
    """Records in each value of each attribute. Raises: InputError: no histogram, or one over other cuts."""
    try:
        found = {
            one["name"]: (one["cuts"], [sum(row) for row in one["counts"]]) for one in document["attributes"]
        }
    except (KeyError, TypeError):
        raise InputError(
            "this is no histogram",
            where=str(path),
            remedy="Keep what `privet agent evaluation DIR JOB --json` prints.",
        ) from None
    for attribute in contract.attributes:
        cuts, _ = found.get(attribute.name, (attribute.cuts, []))
        if attribute.cuts is not None and cuts != attribute.cuts:
            raise InputError(
                f"it counts {attribute.name!r} over other edges than the contract has",
                where=str(path),
                remedy="Give the contract that the job's study held.",
            )
    return {name: counts for name, (_, counts) in found.items()}


def _refusing(before: DataContract, after: DataContract) -> list[str]:
    """A remark on the new grids that an empty field does not fit: hospitals with gaps find out here, not in a job."""
    gridded = {one.name for one in before.attributes if one.kind == "number" and one.cuts is None}
    names = [one.name for one in after.attributes if one.name in gridded and one.missing_policy == "refuse"]
    if not names:
        return []
    remark = (
        f"N.B. Empty fields of {', '.join(names)} are refused, whatever missing_as said; where a hospital has such "
        "gaps: --missing-policy category."
    )
    return [remark]


def _told(contract: DataContract, what: str) -> str:
    numbers = [attribute for attribute in contract.attributes if attribute.cuts is not None]
    return "\n".join(
        f"{one.name}: {len(one.cuts or ())} {what}: {', '.join(one.cuts or ())}" for one in numbers
    )


def _document(out: Path, contract: DataContract) -> dict[str, Any]:
    cuts = {one.name: list(one.cuts) for one in contract.attributes if one.cuts is not None}
    return {"contract": str(out), "sha256": contract.sha256, "cuts": cuts}
