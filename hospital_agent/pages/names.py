"""Names that programs ask models by: what each points to, how a trial goes, who changed what; and changing it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Final, Literal

from fastapi import FastAPI, Request
from starlette.responses import Response

from hospital_agent.models import Model
from hospital_agent.models.names import Change, Name
from hospital_agent.pages.confirming import Confirmation, Step, values_of
from hospital_agent.pages.guarding import Fields
from hospital_agent.pages.house import House, page, state_of
from hospital_agent.pages.problems import Link, PageProblem
from hospital_agent.people.naming import Naming, predicts_the_same
from shared.errors import InputError
from shared.texts import text

Act = Literal["pin", "canary", "promote", "rollback", "unpin"]
DEFAULT_SHARE: Final = "10%"
_SHOWN_CHANGES: Final = 50


@dataclass(frozen=True, slots=True)
class Choice:
    """A model that may be picked."""

    id: str
    label: str


def add(pages: FastAPI, house: House) -> None:
    """`/house/names` and what is below."""
    confirmation = Confirmation.of(pages, house)

    @pages.get("/house/names")
    def listed(request: Request) -> Response:
        """All names."""
        return page(request, "names.html", active="models", names=house.desk.named(), percent=percent)

    @pages.get("/house/names/{name}")
    def one(request: Request, name: str) -> Response:
        """One name, its trial and its history."""
        known = _known(house, name)
        told = next(one for one in house.desk.named() if one["name"] == name)
        return page(
            request,
            "name.html",
            active="models",
            name=name,
            told=told,
            acts=list(_acts(known)),
            changes=known.changes[: -_SHOWN_CHANGES - 1 : -1],
            here=set(house.library.shelf.ids()),
            percent=percent,
        )

    @pages.get("/house/names/{name}/{act}")
    def confirm(request: Request, name: str, act: Act) -> Response:
        """What the act means."""
        return confirmation.show(request, _step(house, name, act))

    @pages.post("/house/names/{name}/{act}")
    def change(request: Request, name: str, act: Act, fields: Fields) -> Response:
        """Do it."""
        look = partial(_step, house, name, act)
        return confirmation.take(
            request, look, fields, lambda person: _change(house, person, name, act, fields)
        )


def naming(house: House, person: str) -> Naming:
    """A steward at the names of this hospital's models."""
    return Naming(house.folder, house.library.shelf, person, house.clock)


def percent(share: str) -> str:
    """A share of requests for people. Args: share: as `check_share` gives it."""
    shown = Fraction(share) * 100
    return f"{shown.numerator if shown.denominator == 1 else round(float(shown), 2)} %"


def place_of(name: str) -> str:
    """The address of a name's page. Names are of a-z, 0-9, - and :, which an address holds as they are."""
    return f"/house/names/{name}"


def link_to(name: str) -> Link:
    """The way to a name's page, from a page that says what went wrong."""
    return Link(place_of(name), text("house.names.of", name=name))


def _known(house: House, name: str) -> Name:
    names = house.desk.names
    known = None if names is None else names.read().names.get(name)
    if known is None:
        raise PageProblem(404, "no_name")
    return known


def _acts(known: Name) -> Iterator[Act]:
    if known.now.candidate is not None:
        yield from ("promote", "rollback")
    else:
        yield "canary"
        if known.before is not None:
            yield "rollback"
    yield from ("pin", "unpin")


def _step(house: House, name: str, act: Act) -> Step:
    """Raises: PageProblem: no such name, or the act is not possible now."""
    known = _known(house, name)
    if act not in _acts(known):
        raise PageProblem(409, "act_over", link_to(name))
    models = list(_choices(house, known.now)) if act in ("pin", "canary") else []
    if act in ("pin", "canary") and not models:
        raise PageProblem(409, "no_other_model")
    return Step(
        act="end_trial" if act == "rollback" and known.now.candidate else act,
        back=place_of(name),
        command=f"privet agent models {act} {house.folder} {name}" + (" MODEL" if models else ""),
        seen=state_of({"now": known.now}),
        active="models",
        values=values_of(
            facts=list(_facts(known, act)), choices=models, share=DEFAULT_SHARE if act == "canary" else ""
        ),
    )


def _facts(known: Name, act: Act) -> Iterator[tuple[str, str]]:
    now = known.now
    yield text("house.names.name"), known.name
    yield text("house.names.answers"), now.model
    if now.candidate is not None:
        yield text("house.names.on_trial"), now.candidate
    if act == "rollback" and now.candidate is None and known.before is not None:
        yield text("house.names.before"), known.before.model


def _choices(house: House, now: Change) -> Iterator[Choice]:
    """Models whose tree is here and that predict the same, the newest first, but the one that answers."""
    present = _held(house, now.model)
    for job in reversed(house.library.shelf.ids()):
        model = _held(house, job)
        if model is None or model.tree is None or job == now.model:
            continue
        if present is None or predicts_the_same(present, model):
            yield Choice(
                job,
                text("house.names.choice", id=job[:8], study=model.manifest.study, n=model.tree.node_count),
            )


def _held(house: House, job: str) -> Model | None:
    try:
        return house.library.answers(job).model
    except InputError:  # the list of models says which file is damaged
        return None


def _change(house: House, person: str, name: str, act: Act, fields: Mapping[str, str]) -> str:
    """Raises: InputError: as `Naming` says."""
    at, wanted = naming(house, person), fields.get("model", "")
    match act:
        case "pin":
            at.pin(name, wanted)
        case "canary":
            at.try_out(name, wanted, fields.get("share", "").strip())
        case "promote":
            at.promote(name)
        case "rollback":
            at.roll_back(name)
        case "unpin":
            at.unpin(name)
            return "/house/names"
    return place_of(name)
