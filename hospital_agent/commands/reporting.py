"""`report`: how good a tree is and where it came from, shaped after TRIPOD+AI. Nothing is sent anywhere."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hospital_agent.commands.arguments import Folder, ModelArgument
from hospital_agent.commands.predicting import open_model, open_shelf
from machine.files import write_new
from shared.errors import InputError
from shared.reports import Report

if TYPE_CHECKING:
    from hospital_agent.models.tallies import TallyResult
    from shared.protocol.disclosure import Entry

_PERCENT = 100


def report(
    folder: Folder,
    model: ModelArgument,
    evaluation: Annotated[
        list[str] | None,
        typer.Option(
            "--evaluation", metavar="JOB", help="A job that evaluated this tree; may be given several times."
        ),
    ] = None,
    fold: Annotated[
        list[str] | None,
        typer.Option(
            "--fold",
            metavar="JOB",
            help="A job that evaluated one fold's tree of a cross-validation; once for each fold.",
        ),
    ] = None,
    left_out: Annotated[
        list[Path] | None,
        typer.Option(
            "--left-out",
            metavar="FILE",
            help="What `evaluate --file TREE --json` printed at a hospital left out of that tree; once a hospital.",
        ),
    ] = None,
    site: Annotated[
        list[Path] | None,
        typer.Option(
            "--site",
            metavar="FILE",
            help="What a hospital's `evaluate --json` printed and it handed over; may be given several times.",
        ),
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write it as a page as well.")
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Exact counts, for this hospital's own eyes only.")
    ] = False,
    floor: Annotated[
        int | None, typer.Option("--floor", min=2, help="No count below it is told, unless --exact; 5.")
    ] = None,
    with_tree: Annotated[
        bool,
        typer.Option(
            "--with-tree", help="Show the tree to others too, though its study keeps it at the hospitals."
        ),
    ] = False,
    cost: Annotated[
        list[str] | None,
        typer.Option(
            "--cost",
            metavar="CLASS=MISS:FALSE_ALARM",
            help="What errors about a class cost: shows what calling it by the threshold that follows does, beside the "
            "tree's answers; once a class.",
        ),
    ] = None,
    level: Annotated[int, typer.Option("--level", min=50, max=99, help="Of intervals, in percent.")] = 95,
    clopper_pearson: Annotated[
        bool, typer.Option("--clopper-pearson", help="Exact intervals of shares, instead of Wilson's.")
    ] = False,
) -> Report:
    """How good a tree is: measures with intervals, curves, where it came from, and who learned what."""
    from hospital_agent.models.report_parts import fold_matrices, read_left_out, read_site
    from hospital_agent.models.reporting import Choices, Evidence, report_of
    from shared.evaluation.costs import Costs
    from shared.evaluation.floors import DEFAULT_FLOOR
    from shared.evaluation.measures import Confidence
    from shared.evaluation.report_content import report_document
    from shared.evaluation.report_page import report_page

    shelf = open_shelf(folder)
    found = open_model(folder, model)
    confidence = Confidence(level / _PERCENT, "clopper-pearson" if clopper_pearson else "wilson")
    costs = [Costs.parse(text) for text in cost or []]
    choices = Choices(None if exact else floor or DEFAULT_FLOOR, with_tree, confidence, costs)
    evidence = Evidence(
        evaluations=[_evaluation(folder, job) for job in evaluation or []],
        folds=fold_matrices(found, [_evaluation(folder, job) for job in fold or []], shelf),
        left_out=[read_left_out(path, found, shelf) for path in left_out or []],
        sites=[read_site(path, found) for path in site or []],
        fact=_ledger(folder, found.id),
    )
    made = report_of(found, evidence, choices, version("privet"))
    document = report_document(made)
    text = _text(document, choices.floor)
    if html is not None:
        write_new(html, report_page(document).encode())
        text += f"\nThe page is in {html}."
    return Report(document, text)


def _evaluation(folder: Path, job: str) -> TallyResult:
    from hospital_agent.keyring import Keyring
    from hospital_agent.models.tallies import cabinet_of

    ring = Keyring.open(folder)
    cabinet = cabinet_of(folder, ring.identity.public, ring.hospital_trust().root)
    return cabinet.get(cabinet.find(job))


def _ledger(folder: Path, job: str) -> tuple[Entry, ...] | None:
    """The fact ledger's entries of a job; None where the journal has forgotten it."""
    from hospital_agent.journal import Journal
    from hospital_agent.people.ledgers import ledgers_of
    from hospital_agent.settings import load_settings

    own = str(load_settings(folder).id)
    with Journal.open(folder) as journal:
        try:
            entry = journal.find(job)
        except InputError:
            return None
        _, fact = ledgers_of(journal, entry, own)
    return fact.entries


def _text(document: dict[str, Any], floor: int | None) -> str:
    """The measures of each judgement, how they are rounded, and where the rest is."""
    about = document["about"]
    lines = [
        f"Study {about['study']}: {about['question']}",
        f"Grown by {', '.join(about['hospitals'])}. {about['notice']}",
    ]
    for section in document["sections"]:
        if section["id"] in ("performance", "hospitals"):
            lines += section["facts"]
            for table in section["tables"]:
                if not table["caption"].startswith("Each class"):
                    lines += ["", table["caption"], *_columns([table["head"], *table["rows"]])]
    if floor is not None:
        told = f"Counts are rounded to multiples of {floor}, those below {floor} are left out, for others may read it; "
        lines += ["", f"{told}--exact shows them as they are, for this hospital's own eyes."]
    lines += ["", "The whole report, with what its authors have to add: --html FILE or --json."]
    return "\n".join(lines)


def _columns(rows: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
