"""`models remove`, `pin`, `canary`, `promote`, `rollback`, `history`, `names`, `describe`, `card`, `drift`.

Also `predictions log`.

Which version answers under a name is changed here, by a person of this hospital; a running agent notices at once.
"""

from __future__ import annotations

import time
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hospital_agent.commands.arguments import Folder, ModelArgument, ModelPrefix
from hospital_agent.commands.predicting import models, open_shelf, person
from shared.reports import Report

if TYPE_CHECKING:
    from hospital_agent.local_api import Desk
    from hospital_agent.models.names import Change, Name
    from hospital_agent.people.naming import Naming

_SHOWN: int = 20
_MOST_SHOWN: int = 100_000
NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="A name such as study:ID, or one that this hospital chooses.")
]
predictions = typer.Typer(help="What was asked of the models here.", no_args_is_help=True)


@models.command()
def remove(folder: Folder, model: ModelPrefix) -> Report:
    """Delete a model from this hospital; one that answers under a name stays until the name does not need it."""
    naming = naming_in(folder)
    job = naming.shelf.find(model)
    naming.remove(job)
    return Report({"model": job, "removed": True}, f"Model {job} is removed.")


@models.command()
def pin(folder: Folder, name: NameArgument, model: ModelArgument) -> Report:
    """Let one model answer under a name, until you change it; a trial under that name ends."""
    return _told(folder, naming_in(folder).pin(name, model), "pinned")


@models.command()
def canary(
    folder: Folder,
    name: NameArgument,
    model: ModelArgument,
    share: Annotated[str, typer.Option(help="Of requests that the candidate answers: 0.1 or 10%.")] = "0.1",
) -> Report:
    """Put a candidate on trial: it answers a share of the requests, and both are compared on all of them."""
    return _told(folder, naming_in(folder).try_out(name, model, share), "canary")


@models.command()
def promote(folder: Folder, name: NameArgument) -> Report:
    """Let the candidate answer everything from now on; `rollback` takes it back."""
    return _told(folder, naming_in(folder).promote(name), "promoted")


@models.command()
def rollback(folder: Folder, name: NameArgument) -> Report:
    """End the trial if one runs; else let the model answer again that did before this one."""
    changed = naming_in(folder).roll_back(name)
    return _told(folder, changed, changed.now.act)


@models.command()
def history(folder: Folder, name: NameArgument) -> Report:
    """Who pinned, tried, promoted and rolled back what under a name, oldest first."""
    from hospital_agent.models.names import Names

    changes = Names(folder, time.time).find(name).changes
    lines = [f"{_moment(c.time)}  {c.act:<11}  {_pointing(c)}  by {c.by}" for c in changes]
    return Report({"name": name, "changes": [asdict(change) for change in changes]}, "\n".join(lines))


@models.command("names")
def list_names(folder: Folder) -> Report:
    """The names, which model each points to, and how trials go."""
    named = _desk(folder).named()
    lines = [line for entry in named for line in _name_lines(entry)]
    return Report(
        {"names": named},
        "\n".join(lines) or "No model is pinned yet. Next: privet agent models pin DIR NAME MODEL",
    )


@models.command()
def unpin(folder: Folder, name: NameArgument) -> Report:
    """Remove a name. `study:ID` then means the newest model of that study again."""
    model = naming_in(folder).unpin(name)
    return Report({"name": name, "removed": True}, f"Name {name} is removed; model {model} stays.")


@models.command()
def describe(
    folder: Folder,
    model: ModelArgument,
    intended_use: Annotated[
        str,
        typer.Option(
            "--intended-use", help="One or two sentences that stand beside every answer; empty removes."
        ),
    ],
) -> Report:
    """Say in this hospital's words what a model is for, and what not."""
    held, text = naming_in(folder).describe(model, intended_use)
    return Report(
        {"model": held, "intended_use": text}, f"Model {held}: {text or 'no words of this hospital'}"
    )


@models.command()
def card(
    folder: Folder,
    model: ModelArgument,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write Markdown here; the file must not exist.")
    ] = None,
) -> Report:
    """A model's card: intended use, origin, rules, evaluations and limits."""
    from hospital_agent.models.card import card_markdown
    from machine.files import write_new

    found = _desk(folder).card(model)
    page = card_markdown(found)
    if out is not None:
        write_new(out, page.encode())
    return Report(found, page.rstrip("\n") if out is None else f"The card is written to {out}.")


@models.command()
def drift(
    folder: Folder,
    model: ModelArgument,
    restart: Annotated[bool, typer.Option("--restart", help="Count anew from now on.")] = False,
    since: Annotated[
        str | None,
        typer.Option(metavar="YYYY-MM-DD", help="From the week of this day on; half a year is kept."),
    ] = None,
) -> Report:
    """What a model was asked against what it was trained on: counters by attribute, in steps of 20 records."""
    from hospital_agent.models.windows import day_from

    begin = None if since is None else day_from(since)
    desk = _desk(folder)
    if restart:
        from hospital_agent.models.names import Names

        held = desk.find(model).model.id
        # Later than what stands, though it began within this second: else nothing would begin anew.
        moment = max(int(time.time()), desk.drift(held)["since"] + 1)
        Names(folder, time.time).count_since(held, moment)
        _record(folder, "drift_restarted", model=held)
    found = desk.drift(model, begin)
    gauges, fewest = [found["classes"], *found["attributes"]], found["thresholds"]["fewest_records"]
    state = found["state"] + (f" ({fewest} are needed)" if found["state"] == "too few records" else "")
    width = max(len(gauge["name"]) for gauge in gauges)
    lines = [
        f"Model {found['model'][:8]}: {_records(found['records'])} since {_moment(found['since'])}: {state}"
    ]
    for gauge in gauges:
        index = (
            ""
            if gauge["psi"] is None
            else f"  index {gauge['psi']:.3f} (by chance {gauge['psi_by_chance']:.3f})"
        )
        lines.append(f"  {gauge['name']:<{width}}  {gauge['state']}{index}")
    lines += _over_time(found["over_time"])
    return Report(found, "\n".join(lines))


def _over_time(periods: list[dict[str, Any]]) -> list[str]:
    """A line for each week; nothing before a second one has begun."""
    if len(periods) < 2:
        return []
    return [
        "Week by week:",
        *(
            f"  since {_moment(one['since'])}: {_records(one['records'])}: {one['state']}"
            + (
                ""
                if one["furthest"] is None
                else f"  furthest {one['furthest']['name']} {one['furthest']['psi']:.3f}"
            )
            for one in periods
        ),
    ]


@predictions.command("log")
def show_log(
    folder: Folder,
    last: Annotated[int, typer.Option(min=1, max=_MOST_SHOWN, help="How many requests.")] = _SHOWN,
) -> Report:
    """Who asked which model when, and about how many records; never what."""
    from hospital_agent.models.predictions_log import read_log
    from hospital_agent.settings import load_settings

    load_settings(folder)
    entries = read_log(folder, last)
    lines = [
        f"{_moment(e['time'])}  {e['model'][:8]}  {e['role']:<9}  {e['records']:>6} records  {e['caller']}"
        for e in entries
    ]
    return Report({"predictions": entries}, "\n".join(lines) or "Nothing was asked here yet.")


def naming_in(folder: Path) -> Naming:
    """Whoever runs the command, at the names of the models in a folder."""
    from hospital_agent.people.naming import Naming

    return Naming(folder, open_shelf(folder), person())


def _told(folder: Path, known: Name, act: str) -> Report:
    can_go_back = known.before is not None or known.now.candidate is not None
    undo = "rollback" if can_go_back else "unpin"
    text = f"{known.name}: {_pointing(known.now)}. Undo: privet agent models {undo} {folder} {known.name}"
    return Report(known.document() | {"act": act}, text)


def _pointing(change: Change) -> str:
    if change.candidate is None:
        return f"model {change.model[:8]} answers"
    return f"model {change.model[:8]} answers, candidate {change.candidate[:8]} a share of {change.share}"


def _name_lines(entry: dict[str, Any]) -> list[str]:
    trial, candidate = entry["trial"], entry["candidate"]
    lines = [
        f"{entry['name']}  model {entry['model'][:8]}  since {_moment(entry['since'])}  by {entry['by']}"
    ]
    if candidate is not None:
        lines.append(f"  candidate {candidate['model'][:8]} answers a share of {candidate['share']}")
    if trial is not None and trial["records"]:
        lines.append(
            f"  of {_records(trial['records'])} both were asked about, they differ in {trial['differ']}"
        )
    return lines


def _desk(folder: Path) -> Desk:
    from hospital_agent.commands.serving_desk import desk_in
    from hospital_agent.settings import load_settings

    return desk_in(folder, open_shelf(folder), load_settings(folder).local)


def _record(folder: Path, kind: str, **details: object) -> None:
    from hospital_agent.journal import Journal

    with Journal.open(folder) as journal, journal.transaction():
        journal.record(kind, **details)


def _records(number: int) -> str:
    return "1 record" if number == 1 else f"{number} records"


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
