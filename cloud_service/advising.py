"""`privet cloud advise`: what each mode would cost and show, and which one fits, before there is a study."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cloud_service.study_files import FigureName, read_contract, read_schema
from shared.errors import InputError
from shared.reports import Report

if TYPE_CHECKING:
    from shared.advice.advising import Advice, Offer


class KeyBits(StrEnum):
    """Lengths that a federation's key has."""

    SMALL = "2048"
    USUAL = "3072"
    LARGE = "4096"


def add_to(app: typer.Typer) -> None:
    """Give the command to `privet cloud`."""
    app.command()(advise)


def advise(
    schema: Annotated[
        Path | None, typer.Option(help="The study's schema as JSON, alone or as `schema` of a study.")
    ] = None,
    contract: Annotated[
        Path | None, typer.Option(help="Or a data contract, or a draft of `privet data draft`.")
    ] = None,
    hospitals: Annotated[int, typer.Option(min=1, help="How many would take part.")] = 3,
    records: Annotated[
        int, typer.Option(min=1, help="Records of all of them together; a rough number will do.")
    ] = 10_000,
    max_depth: Annotated[int, typer.Option(min=0, help="Most questions on a path; 0 for any number.")] = 8,
    min_node: Annotated[int, typer.Option(min=1, help="Records from which on a node is split.")] = 10,
    key_bits: Annotated[KeyBits, typer.Option(help="Of the federation's Paillier key.")] = KeyBits.USUAL,
    threshold: Annotated[
        int | None, typer.Option(min=2, help="Hospitals that open a sum together, of a key in shares.")
    ] = None,
    publish_quality: Annotated[
        list[FigureName] | None,
        typer.Option(help="Rounded figures that hospitals would send the cloud (repeatable)."),
    ] = None,
    hide_sums: Annotated[
        bool, typer.Option("--hide-sums", help="Hospitals should not see summed counts.")
    ] = False,
    hide_tree: Annotated[
        bool, typer.Option("--hide-tree", help="Not every hospital should learn the tree.")
    ] = False,
    distrust: Annotated[bool, typer.Option("--distrust", help="Rely on no three compute parties.")] = False,
    round_trip_ms: Annotated[
        float, typer.Option(min=0, help="Of a message from a hospital to the cloud and back.")
    ] = 30.0,
    megabits: Annotated[float, typer.Option(min=0.01, help="A second, of the slowest line.")] = 50.0,
) -> Report:
    """Compare the modes for a schema: bytes, rounds, time, who learns what, and which one fits."""
    from shared.advice.advising import advise as advise_on
    from shared.advice.case import Line, case_of
    from shared.advice.fitting import Wishes

    case = case_of(
        _schema(schema, contract),
        hospitals=hospitals,
        records=records,
        max_depth=max_depth or None,
        min_node=min_node,
        key_bits=int(key_bits.value),
        threshold=threshold,
        line=Line(round_trip_ms, megabits),
        figures=[name.value for name in publish_quality or ()],
    )
    advice = advise_on(case, Wishes(not hide_sums, not distrust, not hide_tree))
    return Report(advice.to_json(), "\n".join(_lines(advice)))


def _schema(schema: Path | None, contract: Path | None) -> Any:
    from pydantic import ValidationError

    from shared.wire.base import describe
    from shared.wire.manifest import SchemaSpec

    if (schema is None) == (contract is None):
        raise InputError(
            "expected either a schema or a data contract",
            where="--schema",
            remedy="Give one of --schema FILE and --contract FILE (privet data draft writes the latter).",
        )
    document = read_contract(contract)["schema"] if schema is None else read_schema(schema)
    try:
        return SchemaSpec.model_validate(document)
    except ValidationError as error:
        raise InputError(
            describe(error), where=str(schema or contract), remedy="See deploy/README.md for the form."
        ) from None


def _lines(advice: Advice) -> Iterator[str]:
    from shared.advice.words import number_text

    case = advice.case
    yield (
        f"{case.hospitals} hospitals, {number_text(case.records)} records, {len(case.questions)} attributes, "
        f"{case.classes} classes."
    )
    yield (
        f"Advised: mode {advice.best}."
        if advice.best is not None
        else "No mode fits all of your wishes; below stands what speaks against each."
    )
    for offer in advice.offers:
        yield ""
        yield from _offer_lines(offer)


def _offer_lines(offer: Offer) -> Iterator[str]:
    from shared.advice.words import duration_text, number_text, size_text

    yield f"Mode {offer.mode}: {_RANKS[offer.fit.rank]}"
    marks = (
        (offer.fit.forbids, "-"),
        (offer.fit.against, "-"),
        (offer.fit.speaks_for, "+"),
        (offer.fit.mind, "!"),
    )
    yield from (f"  {mark} {sentence}" for sentences, mark in marks for sentence in sentences)
    costs = offer.costs
    if costs is None:
        return
    powers = (
        f", {number_text(costs.exponentiations)} modular powers a hospital" if costs.exponentiations else ""
    )
    yield (
        f"  At most: {size_text(costs.sent_bytes)} sent in all, {number_text(costs.rounds)} rounds{powers}, about "
        f"{duration_text(costs.seconds)}."
    )
    for who, what in offer.learned.items():
        yield f"  {who}: {'; '.join(what)}"


_RANKS = {"fits": "fits", "unwished": "possible, against a wish", "impossible": "not possible"}
