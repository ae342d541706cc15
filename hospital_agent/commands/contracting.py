"""`privet data draft`: from one hospital's records to a data contract; contracts as files, for the other commands."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from hospital_agent.commands.by_column import (
    Columns,
    choice_of,
    columns_of,
    lists,
    names_of,
    one_each,
    pairs,
    several_each,
)
from hospital_agent.commands.deriving import Derive, read_derivations
from hospital_agent.commands.profiling import Floor, chosen_floor, telling
from hospital_agent.commands.sources import Agent, File, Set, chosen_settings, chosen_table
from machine.files import read_file, write_new
from shared.errors import InputError
from shared.reports import Report

if TYPE_CHECKING:
    from hospital_agent.records.draft_choices import Choices
    from hospital_agent.records.profile.finding import Advice, Finding
    from hospital_agent.records.profile.profile import Profile
    from hospital_agent.records.source import ColumnReference
    from shared.contract.code_lists import CodeList
    from shared.wire.contract import DataContract, MissingPolicy, Spelling

_POLICIES: Final[Mapping[str, MissingPolicy]] = {
    "category": "category",
    "refuse": "refuse",
    "fractional": "fractional",
}
_SPELLINGS: Final[Mapping[str, Spelling]] = {"exact": "exact", "number": "number", "folded": "folded"}
_REMEDY: Final = "Name a contract, as privet data draft or merge write it."

Out = Annotated[
    Path, typer.Option("--out", "-o", metavar="FILE", help="The file to write; it must not exist.")
]
ContractFile = Annotated[Path, typer.Argument(metavar="CONTRACT", help="A data contract, signed or not.")]


def _many(metavar: str, text: str) -> Any:
    return typer.Option(metavar=metavar, help=f"{text} (repeatable).")


Policies = Annotated[
    list[str] | None,
    _many("[COLUMN=]POLICY", "What an empty field is: category, refuse or fractional"),
]


def draft(
    out: Out,
    file: File = None,
    agent: Agent = None,
    setting: Set = None,
    class_column: Annotated[
        str | None, typer.Option("--class", metavar="COLUMN", help="The class, by name or position from 1.")
    ] = None,
    name: Annotated[str, typer.Option(help="Of the contract: 1 to 64 of a-z, 0-9 and -.")] = "contract",
    title: Annotated[str, typer.Option(help="What it is for, in one line.")] = "",
    names: Annotated[
        str | None,
        typer.Option(metavar="A,B,C", help="What the study calls all columns, in the file's order."),
    ] = None,
    drop: Annotated[list[str] | None, _many("COLUMN", "A column that must not be used")] = None,
    missing: Annotated[list[str] | None, _many("TEXT", "Stands for an empty field in every column")] = None,
    missing_in: Annotated[
        list[str] | None, _many("COLUMN=TEXT", "Stands for an empty field in one column")
    ] = None,
    missing_policy: Policies = None,
    missing_as: Annotated[
        list[str] | None,
        _many("COLUMN=NUMBER", "What an empty field of a measurement without cuts counts as"),
    ] = None,
    recode: Annotated[list[str] | None, _many("COLUMN:OLD=NEW", "Takes a text for another value")] = None,
    prefix: Annotated[
        list[str] | None, _many("COLUMN:PREFIX=VALUE", "Takes all codes that begin so for a value")
    ] = None,
    values: Annotated[
        list[str] | None, _many("COLUMN=A,B,C", "A list of values that is public, rare ones included")
    ] = None,
    code_list: Annotated[
        list[str] | None,
        _many("COLUMN=FILE", "A published list of codes: a CSV, or a ValueSet of FHIR in JSON"),
    ] = None,
    other: Annotated[list[str] | None, _many("COLUMN=VALUE", "The value of all texts not listed")] = None,
    spelling: Annotated[
        list[str] | None, _many("COLUMN=RULE", "Which texts are the same: exact, number or folded")
    ] = None,
    cuts: Annotated[list[str] | None, _many("COLUMN=A,B,C", "Public cut points of a measurement")] = None,
    within: Annotated[
        list[str] | None,
        typer.Option(
            "--range",
            metavar="COLUMN=LOW,HIGH",
            help="The numbers of a measurement that can be (repeatable).",
        ),
    ] = None,
    category: Annotated[list[str] | None, _many("COLUMN", "Its numbers are names, not measured")] = None,
    number: Annotated[
        list[str] | None, _many("COLUMN", "Its numbers are measured, however few they are")
    ] = None,
    unit: Annotated[list[str] | None, _many("COLUMN=UNIT", "The unit, in UCUM")] = None,
    convert: Annotated[
        list[str] | None, _many("COLUMN:UNIT=FACTOR", "Numbers in that unit times FACTOR are in --unit")
    ] = None,
    describe: Annotated[list[str] | None, _many("COLUMN=TEXT", "What the column is, in one line")] = None,
    measured: Annotated[
        bool, typer.Option("--measured", help="Measurements stay as they are, for mode gain-ratio.")
    ] = False,
    apply: Annotated[
        bool, typer.Option("--apply", help="Do what privet data inspect advises with weight act.")
    ] = False,
    derive: Derive = None,
    floor: Floor = None,
) -> Report:
    """A data contract from this hospital's records: no value of fewer rows than the floor is in it.

    A database and a Parquet file are asked where they lie, unless columns are derived.
    Exit codes: 0 written; 2 wrong usage; 3 records or options refused; 5 the database cannot be reached.
    """
    from hospital_agent.records.contract_draft import draft_contract
    from hospital_agent.records.derived_draft import described, with_derived
    from hospital_agent.records.draft_choices import Choices
    from hospital_agent.records.profile.in_engine import columns_there, is_asked_there, profile_there
    from hospital_agent.records.profile.profile import Asked, profile_of

    settings = chosen_settings(file, agent, setting)
    target = class_column if class_column is not None else settings.class_column
    agreed = read_derivations(derive)
    there = agreed is None and is_asked_there(settings)
    table = columns_there(settings) if there else chosen_table(settings)
    own = [column.name for column in table.columns]
    called = dict(settings.rename) | names_of(names, own)
    derived = [] if agreed is None else [one.name for one in agreed.derived]
    columns = columns_of([*own, *derived], called)

    def found(references: Sequence[ColumnReference] | None, option: str) -> tuple[str, ...]:
        named = [columns.get(str(one), one) for one in references or ()]
        return tuple(str(one) if one in derived else table.find(one, option).name for one in named)

    left_out = (*found(settings.drop, "drop"), *found(drop, "--drop"))
    target = None if target is None else found([target], "--class")[0]
    choices = Choices(
        name=name,
        title=title,
        drop=left_out,
        names=called,
        missing=(*settings.missing_codes, *(missing or ())),
        missing_in=several_each(missing_in, columns, "--missing-in"),
        recode=pairs(recode, columns, "--recode"),
        prefixes=pairs(prefix, columns, "--prefix"),
        values=lists(values, columns, "--values"),
        code_lists=_code_lists(code_list, values, columns),
        cuts=lists(cuts, columns, "--cuts"),
        ranges=lists(within, columns, "--range"),
        spelling={
            column: choice_of(rule, _SPELLINGS, "--spelling")
            for column, rule in one_each(spelling, columns, "--spelling").items()
        },
        other=one_each(other, columns, "--other"),
        missing_as=one_each(missing_as, columns, "--missing-as"),
        policies=policies_of(missing_policy, columns),
        units=one_each(unit, columns, "--unit"),
        conversions=pairs(convert, columns, "--convert"),
        descriptions=one_each(describe, columns, "--describe"),
        categories=found(category, "--category"),
        numbers=found(number, "--number"),
        measured=measured,
    )
    if agreed is not None:
        table = with_derived(table, agreed, settings, choices)
    asked = Asked(chosen_floor(floor, agent), target, left_out)
    with telling(settings) as tell:
        profile = (
            profile_there(settings, asked, tell)
            if there
            else profile_of(table, asked.floor, target, left_out, tell=tell)
        )
    wanted = advised(profile, choices) if apply else choices
    if not profile.is_whole_but(wanted.drop):  # a column of more texts than an engine gives
        profile = profile_of(chosen_table(settings), asked.floor, target, left_out)
        wanted = advised(profile, choices) if apply else choices
    choices = wanted
    made = draft_contract(profile, choices)
    if agreed is not None:
        made = replace(made, contract=described(made.contract, agreed, called))
    write_contract(out, made.contract)
    lines = [f"Drafted {out}: {len(made.contract.attributes)} attributes, class {made.contract.class_.name}."]
    lines += [f"N.B. {remark}" for remark in made.remarks]
    left = [
        finding for finding in profile.findings if finding.weight != "note" and not _is_done(finding, choices)
    ]
    lines += [finding.text for finding in left]
    lines.append("Read it before you pass it on. Then: privet data merge, or privet data check.")
    document = {
        "contract": str(out),
        "sha256": made.contract.sha256,
        "remarks": list(made.remarks),
        "findings": [finding.to_json() for finding in profile.findings],
    }
    return Report(document, "\n".join(lines))


def read_contract(path: Path) -> DataContract:
    """The contract of a file, signed or not, or inside an exported tree. Raises: InputError: it is none."""
    from shared.contract.files import contract_of

    document = read_json(path)
    if isinstance(document, dict) and "nodes" in document:
        document = document.get("contract")
    if document is None:
        raise InputError("this tree's study has no data contract", where=str(path), remedy=_REMEDY)
    return contract_of(document, str(path))


def read_json(path: Path) -> Any:
    """A file of JSON. Raises: InputError: it is none, or too long."""
    from shared.wire.contract import MAX_CONTRACT_BYTES

    raw = read_file(path, max_bytes=MAX_CONTRACT_BYTES, remedy=_REMEDY)
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        raise InputError("not JSON", where=str(path), remedy=_REMEDY) from None


def advised(profile: Profile, choices: Choices) -> Choices:
    """The choices with what the findings of weight `act` advise; what the steward has said stays."""
    columns = columns_of((facts.name for facts in profile.facts), {})
    options: list[Advice] = [
        advice for finding in profile.findings if finding.weight == "act" for advice in finding.advice
    ]

    def given(option: str) -> list[str]:
        return [advice.value for advice in options if advice.option == option]

    spelled = {
        column: choice_of(rule, _SPELLINGS, "--spelling")
        for column, rule in one_each(given("--spelling"), columns, "--spelling").items()
    }
    codes = several_each(given("--missing-in"), columns, "--missing-in")
    return replace(
        choices,
        drop=tuple(dict.fromkeys([*choices.drop, *given("--drop")])),
        missing=tuple(dict.fromkeys([*choices.missing, *given("--missing")])),
        missing_in={
            column: [*choices.missing_in.get(column, ()), *codes.get(column, ())]
            for column in {*choices.missing_in, *codes}
        },
        spelling={**spelled, **choices.spelling},
    )


def _is_done(finding: Finding, choices: Choices) -> bool:
    """Whether the steward has chosen all that a finding advises."""
    done = {
        *(("--drop", column) for column in choices.drop),
        *(("--missing", text) for text in choices.missing),
        *(("--missing-in", f"{column}={text}") for column in finding.columns for text in choices.missing),
        *(("--missing-in", f"{c}={text}") for c, texts in choices.missing_in.items() for text in texts),
        *(("--spelling", f"{column}={rule}") for column, rule in choices.spelling.items()),
    }
    return bool(finding.advice) and all((advice.option, advice.value) in done for advice in finding.advice)


def _code_lists(
    texts: Sequence[str] | None, values: Sequence[str] | None, columns: Columns
) -> dict[str, CodeList]:
    """What `--code-list` says. Raises: InputError: no such file, or no list, or --values for the same column."""
    from shared.contract.code_lists import MAX_BYTES, read_code_list

    named = one_each(texts, columns, "--code-list")
    both = sorted({*named} & {*lists(values, columns, "--values")})
    if both:
        raise InputError(
            "--values and --code-list both list its values", where=both[0], remedy="Leave out one."
        )
    remedy = "Name a CSV with the columns code and display, or a ValueSet of FHIR in JSON."
    return {
        column: read_code_list(
            read_file(Path(file), max_bytes=MAX_BYTES, remedy=remedy), f"--code-list {file}"
        )
        for column, file in named.items()
    }


def policies_of(texts: Sequence[str] | None, columns: Columns) -> dict[str, MissingPolicy]:
    """What `--missing-policy` says: column to policy, under "" that of all others. Raises: InputError: no policy."""
    found: dict[str, MissingPolicy] = {}
    for text in texts or ():
        if text in _POLICIES:
            found[""] = _POLICIES[text]
        else:
            for column, policy in one_each([text], columns, "--missing-policy").items():
                found[column] = choice_of(policy, _POLICIES, "--missing-policy")
    return found


def write_contract(path: Path, contract: DataContract) -> None:
    """Keep a contract as people read it. Raises: InputError: the file is there, or cannot be written."""
    write_new(path, (contract.model_dump_json(by_alias=True, indent=1) + "\n").encode())
