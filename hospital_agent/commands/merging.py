"""`privet data merge`: all hospitals' drafts, as files or as a sealed batch, to one data contract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from hospital_agent.commands.contracting import Out, read_contract, write_contract
from hospital_agent.commands.merger_keys import Key
from hospital_agent.commands.mixing import opened_batch
from shared.errors import InputError
from shared.reports import Report

if TYPE_CHECKING:
    from shared.contract.rarity import Held
    from shared.wire.contract import DataContract

_SEEN: Final = (
    "The batch tells how many hospitals list a value (--json shows it), not which. It does together with the mixer, or "
    "with all other hospitals' drafts: delete it once the contract is agreed."
)


def merge(
    out: Out,
    drafts: Annotated[
        list[Path] | None, typer.Argument(metavar="[DRAFT...]", help="One draft for each hospital.")
    ] = None,
    sealed: Annotated[
        Path | None,
        typer.Option(metavar="BATCH", help="In place of drafts: the batch of privet data mix."),
    ] = None,
    key: Key = None,
    at_least: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Leave out values that fewer than N hospitals list, without showing them.",
        ),
    ] = None,
    other: Annotated[
        str | None,
        typer.Option(
            metavar="VALUE", help="With --at-least: the attribute's value that takes those left out."
        ),
    ] = None,
) -> Report:
    """Several hospitals' drafts as one contract; nothing in it tells who gave what, and of a batch nobody knows.

    Exit codes: 0 written; 2 wrong usage; 3 a draft, batch or key refused, or drafts that contradict each other.
    """
    files = drafts or []
    _check_usage(files, sealed, key, at_least, other)
    contracts = _read(files, sealed, key)
    merged, held = _merged(files, contracts)
    left_out: Mapping[str, int] = {}
    contract = merged
    if at_least is not None:
        from shared.contract.rarity import without_rare

        common = without_rare(merged, held, at_least, other)
        contract, left_out = common.contract, common.left_out
    write_contract(out, contract)
    remarks = [
        *_not_several(files, contracts),
        *_not_shared(contract, held, len(contracts)),
        *_left_out(left_out, at_least, contract),
    ]
    document: dict[str, Any] = {
        "contract": str(out),
        "sha256": contract.sha256,
        "drafts": len(contracts),
        "remarks": remarks,
    }
    if sealed is not None or at_least is not None:
        document |= {"hospitals_by_value": _kept(held, contract), "left_out": dict(left_out)}
    told = [*remarks, *([_SEEN] if sealed is not None else []), _told(out, contract, len(contracts))]
    return Report(document, "\n".join(told))


def _check_usage(
    files: Sequence[Path], sealed: Path | None, key: Path | None, at_least: int | None, other: str | None
) -> None:
    if (sealed is None) == (not files):
        raise InputError(
            "a merge takes either drafts or one sealed batch",
            where="--sealed",
            remedy="Name all hospitals' drafts, or --sealed BATCH --key KEY.",
        )
    if (sealed is None) != (key is None):
        raise InputError(
            "--sealed and --key belong together",
            where="--key",
            remedy="Name the batch, and the private key that privet data merger-key wrote.",
        )
    if other is not None and at_least is None:
        raise InputError(
            "--other takes the values that --at-least leaves out",
            where="--other",
            remedy="Add --at-least N, or leave --other away.",
        )


def _read(files: Sequence[Path], sealed: Path | None, key: Path | None) -> list[DataContract]:
    if sealed is not None and key is not None:
        return opened_batch(sealed, key)
    return [read_contract(path) for path in files]


def _merged(files: Sequence[Path], contracts: Sequence[DataContract]) -> tuple[DataContract, Held]:
    from shared.contract.differing import DraftsDifferError
    from shared.contract.merging import merge as merge_drafts
    from shared.contract.rarity import held_by

    try:
        contract = merge_drafts(contracts)
    except DraftsDifferError as error:
        raise (error.named([str(path) for path in files]) if files else error.counted()) from None
    return contract, held_by(contracts, contract)


def _told(out: Path, contract: DataContract, drafts: int) -> str:
    from shared.contract.schema import schema_of_contract

    schema = schema_of_contract(contract)
    values = sum(len(attribute.values) for attribute in schema.attributes)
    merged = "1 draft" if drafts == 1 else f"{drafts} drafts"
    return (
        f"Merged {merged} as {out}: {len(schema.attributes)} attributes, {values} values, class "
        f"{schema.class_name} with {schema.class_count} labels.\n"
        "Each hospital runs: privet data check. The study takes it with: privet cloud study create --contract."
    )


def _not_several(files: Sequence[Path], drafts: Sequence[DataContract]) -> list[str]:
    """Remarks on a draft that stands alone, or that came twice: perhaps a hospital's is missing."""
    if len(files) == 1:
        return [f"N.B. {files[0]} is one hospital's draft alone: give those of all hospitals."]
    alike: dict[str, list[str]] = {}
    for path, contract in zip(files, drafts, strict=False):  # A batch has no files.
        alike.setdefault(contract.sha256, []).append(str(path))
    return [
        f"N.B. The same draft came more than once: {', '.join(names)}. See that each is another hospital's."
        for names in alike.values()
        if len(names) > 1
    ]


def _not_shared(contract: DataContract, held: Held, drafts: int) -> list[str]:
    """A remark on classes that some hospitals do not have: often it is one class with two names."""
    counts = held[contract.class_.name]
    rare = sorted(entry.value for entry in contract.class_.values if counts[entry.value] < drafts)
    remark = (
        f"N.B. class {contract.class_.name}: not every draft has {', '.join(rare)}. Where hospitals call one class "
        "by two names, draft again with --recode."
    )
    return [remark] if rare else []


def _left_out(left_out: Mapping[str, int], at_least: int | None, contract: DataContract) -> list[str]:
    """What became of rare values, by column and number alone."""
    takes = {
        attribute.name: entry.value
        for attribute in contract.attributes
        for entry in attribute.values
        if entry.other
    }
    return [
        f"N.B. {column}: {count} {'value' if count == 1 else 'values'} of fewer than {at_least} hospitals left out; "
        + (
            f"{takes[column]} takes them."
            if column in takes
            else "privet data check tells a hospital that has one; recode there, or merge with --other VALUE."
        )
        for column, count in left_out.items()
    ]


def _kept(held: Held, contract: DataContract) -> dict[str, dict[str, int]]:
    from shared.wire.contract import owners_of

    return {
        owner.name: {entry.value: held[owner.name].get(entry.value, 0) for entry in owner.values}
        for owner in owners_of(contract)
        if owner.values
    }
