"""`privet cloud study`: create a study from a file or options, see who has approved it, close it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cloud_service.job_choices import CriterionName, KeyModeName
from cloud_service.places import Folder
from cloud_service.study_files import FigureName, read_contract, read_json, read_mapping, read_schema
from shared.errors import InputError
from shared.reports import Report

if TYPE_CHECKING:
    from cloud_service.api.study_models import StudyFull, StudyIn
    from cloud_service.service.services import Services
    from cloud_service.service.studies import StudyView

studies = typer.Typer(
    help="Questions with their schema and rules, which hospitals approve.",
    no_args_is_help=True,
    add_completion=False,
)
StudyId = Annotated[str, typer.Argument(help="The study's id.", metavar="STUDY")]


class DisclosureName(StrEnum):
    """The most that predictions may show."""

    CLASS = "class"
    PROBABILITY = "probability"
    COUNTS = "counts"


class ProfileName(StrEnum):
    """How jobs may compute."""

    HARDENED = "hardened"
    PAPER = "paper"
    ID3 = "secret-id3"
    GAIN_RATIO = "secret-gainratio"


class TallyName(StrEnum):
    """What jobs may count besides growing trees."""

    EVALUATION = "evaluation"
    HISTOGRAM = "histogram"


class StartName(StrEnum):
    """When jobs may begin."""

    ASKED = "asked"
    APPROVED = "approved"


def _limit(help_text: str) -> Any:
    return typer.Option(min=1, help=help_text)


@studies.command("create")
def create_study(
    folder: Folder,
    study: Annotated[str | None, typer.Option("--id", help="Its name: 1 to 64 of a-z, 0-9 and -.")] = None,
    question: Annotated[str | None, typer.Option(help="What the study asks, in one line.")] = None,
    schema: Annotated[
        Path | None, typer.Option(help="JSON with attributes and class, as in deploy/README.md.")
    ] = None,
    contract: Annotated[
        Path | None,
        typer.Option(help="A data contract (privet data merge), from which the schema is derived."),
    ] = None,
    fhir: Annotated[
        Path | None,
        typer.Option(
            help="A FHIR mapping (privet agent fhir draft), by which clinical systems ask its trees."
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            help="JSON of the whole study, as POST /v1/studies takes it; options win over its members."
        ),
    ] = None,
    purpose: Annotated[str | None, typer.Option(help="What for, in one line.")] = None,
    legal_basis: Annotated[str | None, typer.Option(help="On what grounds, in one line.")] = None,
    hospital: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="A member (repeatable); without it, all.")
    ] = None,
    profile: Annotated[
        list[ProfileName] | None,
        typer.Option(help="How jobs may compute (repeatable); hardened, or of test data any, by default."),
    ] = None,
    criterion: Annotated[
        list[CriterionName] | None,
        typer.Option(
            help="What jobs may choose splits by (repeatable); information-gain and gain-ratio by default."
        ),
    ] = None,
    key_mode: Annotated[
        KeyModeName | None, typer.Option(help="threshold: refuse keys that each hospital has in full.")
    ] = None,
    min_hospitals: Annotated[int | None, typer.Option(min=3, help="Fewest in a job; 3.")] = None,
    min_node: Annotated[int | None, _limit("Jobs' min_node is at least so; 10.")] = None,
    min_child: Annotated[int | None, _limit("Jobs' min_child is at least so; 5.")] = None,
    max_depth: Annotated[
        int | None, typer.Option(min=0, help="Jobs' depth at most; 12. 0 allows any.")
    ] = None,
    max_shrinks: Annotated[
        int | None,
        typer.Option(min=0, help="How often the first round may begin anew without a silent hospital; 1."),
    ] = None,
    max_jobs: Annotated[int | None, _limit("Most jobs under the study; 20.")] = None,
    start: Annotated[
        StartName | None, typer.Option(help="approved: no job before all whom it invites have approved.")
    ] = None,
    compute: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="A compute party of secret jobs; give three, in order."),
    ] = None,
    result_party: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Who may learn trees of mode gain-ratio (repeatable)."),
    ] = None,
    tally: Annotated[
        list[TallyName] | None,
        typer.Option(
            help="Jobs may also count only (repeatable): evaluation, how good a tree is; histogram, for cut points."
        ),
    ] = None,
    ask_questions: Annotated[
        str | None,
        typer.Option(
            metavar="DAY/ALL",
            help="Most questions that each hospital may put to a shared tree by itself, within 24 hours and "
            "altogether, such as 20/500; not at all without. Needs --ask-records.",
        ),
    ] = None,
    ask_records: Annotated[
        str | None,
        typer.Option(metavar="DAY/ALL", help="Most records in these questions, likewise, such as 100/2000."),
    ] = None,
    publish_quality: Annotated[
        list[FigureName] | None,
        typer.Option(
            help="Hospitals send the cloud rounded figures of finished jobs (repeatable): evaluation, how good a tree "
            "is; importance, how much each attribute told. None by default."
        ),
    ] = None,
    quality_floor: Annotated[
        int | None,
        typer.Option(
            min=2, help="In these figures no number of records below it is told, others in steps of it; 5."
        ),
    ] = None,
    noise_sigma: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="Each job adds noise of at least this deviation.")
    ] = None,
    noise_delta: Annotated[str | None, typer.Option(metavar="NUMBER", help="Its delta; 0.000001.")] = None,
    expires: Annotated[
        str | None, typer.Option(metavar="YYYY-MM-DD", help="The last day of its jobs; a year from now.")
    ] = None,
    publish_tree: Annotated[
        bool, typer.Option("--publish-tree", help="The cloud may show the tree.")
    ] = False,
    disclosure: Annotated[
        DisclosureName | None, typer.Option(help="The most that predictions may show; counts.")
    ] = None,
    synthetic: Annotated[bool, typer.Option("--synthetic", help="Test data of no patient.")] = False,
) -> Report:
    """Keep a study and show its document to the hospitals that it invites. A study is never changed."""
    noise = {"sigma": noise_sigma, "delta": noise_delta}
    said: dict[str, Any] = {
        "id": study,
        "question": question,
        "schema": None if schema is None else read_schema(schema),
        **read_contract(contract),
        **read_mapping(fhir),
        "purpose": purpose,
        "legal_basis": legal_basis,
        "members": hospital or None,
        "profiles": [name.value for name in profile or ()] or None,
        "criteria": [name.value for name in criterion or ()] or None,
        "key_mode": key_mode,
        "min_hospitals": min_hospitals,
        "min_node": min_node,
        "min_child": min_child,
        "max_depth": max_depth,
        "max_shrinks": max_shrinks,
        "max_jobs": max_jobs,
        "start": start,
        "compute_parties": compute or None,
        "result_parties": result_party or None,
        "tallies": [name.value for name in tally or ()] or None,
        **_asking(ask_questions, ask_records),
        **_quality([name.value for name in publish_quality or ()], quality_floor),
        "noise": {name: value for name, value in noise.items() if value is not None} or None,
        "expires": None if expires is None else _last_second(expires),
        "publish_tree": publish_tree or None,
        "disclosure": disclosure,
        "synthetic": synthetic or None,
    }
    body = _body(file, {name: value for name, value in said.items() if value is not None})
    with _services(folder) as services:
        kept = services.studies.create(body.view(), body.rules())
        shown = _full(services, kept)
    text = "\n\n".join([f"Study {kept.id}, document {shown.document_sha256}, is kept.", *shown.in_words])
    following = (
        f"Next: hospitals approve it (privet agent studies); privet cloud study show {folder} {kept.id}"
    )
    return Report(_document(shown), f"{text}\n\n{following}")


@studies.command("list")
def list_studies(folder: Folder) -> Report:
    """Every study."""
    with _services(folder) as services:
        found = services.studies.all()
    lines = [f"{view.id}{_state(view)}: {view.question}" for view in found]
    return Report(
        {"studies": [{"id": view.id, "question": view.question, "closed": view.closed} for view in found]},
        "\n".join(lines) or "No studies yet.",
    )


@studies.command("show")
def show_study(folder: Folder, study: StudyId) -> Report:
    """A study's rules in words, and what each hospital has answered, since when and why."""
    with _services(folder) as services:
        view = services.studies.get(study)
        shown = _full(services, view)
    lines = [f"Study {view.id}{_state(view)}, document {shown.document_sha256 or 'none'}", *shown.in_words]
    return Report(_document(shown), "\n\n".join([*lines, "\n".join(_answers(shown))]))


@studies.command("close")
def close_study(folder: Folder, study: StudyId) -> Report:
    """Take no more jobs under a study, for good. Jobs that run go on."""
    with _services(folder) as services:
        shown = _full(services, services.studies.close(study))
    return Report(_document(shown), f"Study {study} is closed: it takes no more jobs.")


@contextmanager
def _services(folder: Path) -> Iterator[Services]:
    """The use cases over the folder's database, with nothing running in the background."""
    from cloud_service.app import prepare
    from cloud_service.service.refusals import ConflictError, UnknownThingError
    from cloud_service.settings import load_settings

    services = prepare(load_settings(folder))
    try:
        yield services
    except (ConflictError, UnknownThingError) as error:
        raise InputError(str(error), remedy=f"See: privet cloud study list {folder}") from None
    finally:
        services.database.dispose()


def _full(services: Services, view: StudyView) -> StudyFull:
    from cloud_service.api.study_models import full_study_of

    standings = [] if view.document is None else services.governance.standings(view.document)
    return full_study_of(view, standings)


def _document(shown: StudyFull) -> dict[str, Any]:
    return {"study": shown.id, **shown.model_dump(mode="json", by_alias=True)}


def _answers(shown: StudyFull) -> list[str]:
    """One line a hospital."""
    lines = []
    for one in shown.answers:
        since = "" if one.since is None else f" since {_day(one.since)}"
        why = "" if one.code is None else f" ({one.code}{f': {one.reason}' if one.reason else ''})"
        lines.append(f"{one.hospital}: {one.answer}{since}{why}")
    return lines or ["No hospital is asked: the study is of before documents."]


def _state(view: StudyView) -> str:
    return "" if view.closed is None else f" (closed on {_day(view.closed)})"


def _day(time: int) -> str:
    from shared.protocol.expiry import day_of

    return day_of(time)


def _body(file: Path | None, said: dict[str, Any]) -> StudyIn:
    from pydantic import ValidationError

    from cloud_service.api.study_models import StudyIn
    from shared.wire.base import describe

    written = {} if file is None else read_json(file, "Name the file with the study.")
    if not isinstance(written, dict):
        raise InputError(
            "expected an object", where=str(file), remedy="Give the study as POST /v1/studies takes it."
        )
    missing = [name for name in ("id", "question", "schema") if name not in {**written, **said}]
    if missing:
        raise InputError(
            f"a study needs its {missing[0]}",
            where=f"--{missing[0]}",
            remedy="Give it, or a --file that has it.",
        )
    try:
        return StudyIn.model_validate_json(json.dumps({**written, **said}))
    except ValidationError as error:
        where = "study" if file is None else str(file)
        raise InputError(describe(error), where=where, remedy="See deploy/README.md for the form.") from None


def _asking(questions: str | None, records: str | None) -> dict[str, Any]:
    """The rules by which hospitals ask shared trees by themselves; nothing without both options."""
    if questions is None and records is None:
        return {}
    if questions is None or records is None:
        raise InputError(
            "questions are bounded by number and by the records in them",
            where="--ask-records" if records is None else "--ask-questions",
            remedy="Give both: --ask-questions 20/500 --ask-records 100/2000.",
        )
    asked, about = _pair("--ask-questions", questions), _pair("--ask-records", records)
    rules = {"questions_per_day": asked[0], "questions": asked[1]}
    return {"asking": {**rules, "records_per_day": about[0], "records": about[1]}, "shared_result": True}


def _quality(figures: list[str], floor: int | None) -> dict[str, Any]:
    """What is published of finished jobs; nothing without the option."""
    if not figures and floor is not None:
        raise InputError(
            "a floor is of figures that are published",
            where="--quality-floor",
            remedy="Name them: --publish-quality evaluation, --publish-quality importance, or both.",
        )
    return {"quality": {"figures": figures, **({} if floor is None else {"floor": floor})}} if figures else {}


def _pair(option: str, said: str) -> tuple[int, int]:
    """A number for a day and one for all."""
    day, _, whole = said.partition("/")
    if not (day.isascii() and day.isdigit() and whole.isascii() and whole.isdigit()):
        raise InputError(
            "expected two whole numbers",
            where=option,
            remedy="Write them as 20/500: within 24 hours, and altogether.",
        )
    return int(day), int(whole)


def _last_second(day: str) -> int:
    """The end of a day, UTC, in Unix seconds."""
    try:
        moment = datetime.strptime(day, "%Y-%m-%d").replace(hour=23, minute=59, second=59, tzinfo=UTC)
    except ValueError:
        raise InputError("expected a day", where="--expires", remedy="Write it as 2027-11-30.") from None
    return int(moment.timestamp())
