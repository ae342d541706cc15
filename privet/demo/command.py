"""The command `privet demo`: words of the command line to options, and the result to a report."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from cloud_service.job_choices import CriterionName, KeyModeName, ModeName, ProfileName
from privet.demo.options import (
    KEY_BITS,
    DemoOptions,
    check_key_mode,
    check_mode,
    check_own_records,
    check_pruning,
    height_of,
    hospital_count,
    parse_cuts,
    parse_sigma,
)
from shared.errors import InputError
from shared.reports import Report
from shared.tree.growth_rules import Criterion, GrowthRules


class PruneName(StrEnum):
    """How the grown tree is cut back."""

    COLLAPSE = "collapse"
    PESSIMISTIC = "pessimistic"


app = typer.Typer(add_completion=False)

_DATA = "The records"
_JOB = "The job"
_RUN = "The run"


_HELP = (
    "Watch a cloud, a trusted authority and three hospitals grow one tree on this machine.\n\n"
    "Everything runs as separate processes that talk HTTP on loopback, and is gone when the demo ends. "
    "The same programs run on separate machines: see deploy/README.md.\n\n"
    "Exit codes: 0 every hospital's tree equals the tree of the pooled records (with --noise-sigma: all hospitals hold "
    "one tree); 1 it does not, or an internal error; "
    "2 wrong usage; 3 the data or an option was refused; 4 a part refused another; 5 a part could not be reached; "
    "6 the job failed; 130 interrupted; 143 ended by SIGTERM."
)


@app.command(help=_HELP)
def demo(
    data: Annotated[
        list[Path] | None,
        typer.Option(
            "--data",
            metavar="FILE",
            help="Text, ARFF, Excel or Parquet. Once: its rows are dealt round robin to the hospitals. Several times: "
            "one file a hospital. Left out: the Acute Inflammations records of the publication.",
            rich_help_panel=_DATA,
        ),
    ] = None,
    class_column: Annotated[
        str | None,
        typer.Option(
            "--class",
            metavar="COLUMN",
            help="Class column: its name, or its position from 1. Left out: the last.",
            rich_help_panel=_DATA,
        ),
    ] = None,
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether the files' first line names the columns; without names they go by position. Left out: "
            "found out, as an agent does, and told.",
            rich_help_panel=_DATA,
            show_default=False,
        ),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(
            "--drop",
            metavar="COLUMN",
            help="Leave out a column, such as an identifier (name or position; repeatable).",
            rich_help_panel=_DATA,
        ),
    ] = None,
    cut: Annotated[
        list[str] | None,
        typer.Option(
            "--cut",
            metavar="COLUMN=POINT,POINT",
            help="Cut a numeric column (name or position) at public points (repeatable); other columns are "
            "categories, or in mode gain-ratio numbers as they are.",
            rich_help_panel=_DATA,
        ),
    ] = None,
    hospitals: Annotated[
        int | None,
        typer.Option(
            "--hospitals",
            metavar="N",
            help="How many hospitals, 3 to 64; 3 by default.",
            rich_help_panel=_DATA,
        ),
    ] = None,
    mode: Annotated[
        ModeName,
        typer.Option(
            "--mode",
            help="ppsdt: sums of encrypted counts. id3, gain-ratio: three hospitals compute on secret shares; "
            "gain-ratio takes numbers as they are, by default the Breast Cancer Wisconsin records.",
            rich_help_panel=_JOB,
        ),
    ] = ModeName.PPSDT,
    criterion: Annotated[
        CriterionName | None,
        typer.Option(
            "--criterion",
            help="How a split is chosen in mode ppsdt; information-gain by default.",
            rich_help_panel=_JOB,
        ),
    ] = None,
    profile: Annotated[
        ProfileName,
        typer.Option(
            "--profile",
            help="hardened, or paper: the publication to the letter, for public test data only, so the demo "
            "declares its data public and switches the profile on at the cloud and at every hospital.",
            rich_help_panel=_JOB,
        ),
    ] = ProfileName.HARDENED,
    key_bits: Annotated[
        int, typer.Option("--key-bits", help="Paillier key: 2048, 3072 or 4096.", rich_help_panel=_JOB)
    ] = 3072,
    key_mode: Annotated[
        KeyModeName,
        typer.Option(
            "--key-mode",
            help="Of mode ppsdt. shared: every hospital can open a sum. threshold: each holds a share of the key and "
            "all open a sum together; making and using such a key takes several times as long.",
            rich_help_panel=_JOB,
        ),
    ] = KeyModeName.SHARED,
    max_depth: Annotated[
        str | None,
        typer.Option(
            "--max-depth",
            metavar="N|none",
            help="Questions on a path; 8 by default, in mode gain-ratio 4.",
            rich_help_panel=_JOB,
        ),
    ] = None,
    min_node: Annotated[
        int, typer.Option("--min-node", min=1, help="Fewer records make a leaf.", rich_help_panel=_JOB)
    ] = 10,
    min_child: Annotated[
        int,
        typer.Option("--min-child", min=1, help="Least records of a non-empty child.", rich_help_panel=_JOB),
    ] = 5,
    split_on_zero_gain: Annotated[
        bool,
        typer.Option(
            "--split-on-zero-gain", help="Go on where the best gain is exactly 0.", rich_help_panel=_JOB
        ),
    ] = False,
    prune: Annotated[
        PruneName | None,
        typer.Option(
            "--prune",
            help="Cut back the grown tree, by what is known already: subtrees that save no error, or (pessimistic, "
            "mode ppsdt only) also those that save none at worst, as C4.5 does.",
            rich_help_panel=_JOB,
        ),
    ] = None,
    noise_sigma: Annotated[
        str | None,
        typer.Option(
            "--noise-sigma",
            metavar="N",
            help="Differential privacy in mode ppsdt: noise of this standard deviation on every sum; the tree then "
            "differs from that of the pooled records, and the demo says by how much.",
            rich_help_panel=_JOB,
        ),
    ] = None,
    direct: Annotated[
        bool,
        typer.Option(
            "--direct",
            help="Secret modes: the three compute parties connect to one another, past the cloud.",
            rich_help_panel=_RUN,
        ),
    ] = False,
    keep: Annotated[
        Path | None,
        typer.Option(
            "--keep",
            metavar="DIR",
            help="Keep the federation's files in DIR, which must be new or empty.",
            rich_help_panel=_RUN,
        ),
    ] = None,
    stay: Annotated[
        bool,
        typer.Option(
            "--stay",
            help="Keep the federation up until Ctrl-C: look around in its pages, ask for predictions.",
            rich_help_panel=_RUN,
        ),
    ] = False,
) -> Report:
    """Set up a federation in a folder, run one job, compare, report."""
    from privet.demo.story import run_demo

    files = tuple(data or ())
    check_own_records(
        files,
        {
            "--class": class_column,
            "--header": header is True,
            "--no-header": header is False,
            "--drop": drop,
            "--cut": cut,
        },
    )
    return run_demo(
        DemoOptions(
            files=files,
            class_column=class_column,
            has_header=header,
            drop=tuple(drop or ()),
            cuts=parse_cuts(tuple(cut or ())),
            hospitals=hospital_count(hospitals, len(files)),
            rules=GrowthRules(
                criterion=_criterion(mode, profile, criterion, direct),
                min_node=min_node,
                min_child=min_child,
                max_depth=height_of(mode.value, max_depth, split_on_zero_gain=split_on_zero_gain),
                split_on_zero_gain=split_on_zero_gain,
                pruning=check_pruning(None if prune is None else prune.value, mode.value),
                # Only the hardened profile leaves out cells that follow from others; the publication asks for all.
                # With noise nothing follows from others.
                skip_known=mode is ModeName.PPSDT and profile is ProfileName.HARDENED and noise_sigma is None,
            ),
            mode=mode.value,
            profile=profile.value,
            key_bits=_checked_key_bits(key_bits),
            key_mode=check_key_mode(key_mode.value, mode.value, profile.value),
            keep=keep,
            stay=stay,
            direct=direct,
            noise_sigma=parse_sigma(noise_sigma, mode.value, profile.value),
        )
    )


def _criterion(
    mode: ModeName, profile: ProfileName, criterion: CriterionName | None, direct: bool
) -> Criterion:
    given: Criterion | None = None if criterion is None else criterion.value
    return check_mode(mode.value, profile=profile.value, criterion=given, direct=direct)


def _checked_key_bits(bits: int) -> int:
    if bits not in KEY_BITS:
        raise InputError(
            f"a Paillier key has 2048, 3072 or 4096 bits, got {bits}.",
            where="--key-bits",
            remedy="Choose one of these.",
        )
    return bits
