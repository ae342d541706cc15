"""What a person does with one model: let it answer under a new name, say what it is for, remove it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from fastapi import FastAPI, Request
from starlette.responses import Response

from hospital_agent.models import Model
from hospital_agent.models.names import STUDY_PREFIX, check_name
from hospital_agent.pages.confirming import Confirmation, Step, values_of
from hospital_agent.pages.guarding import Fields
from hospital_agent.pages.house import House, state_of
from hospital_agent.pages.names import link_to, naming, place_of
from hospital_agent.pages.problems import PageProblem
from hospital_agent.people.naming import WORDS_CHARACTERS
from shared.texts import text

ACTS: Final = ("pin", "describe", "remove")


def add(pages: FastAPI, house: House) -> None:
    """`/house/models/{model}/` and each of `ACTS`."""
    confirmation = Confirmation.of(pages, house)
    for act in ACTS:
        _add(pages, house, confirmation, act)


def _add(pages: FastAPI, house: House, confirmation: Confirmation, act: str) -> None:
    @pages.get(f"/house/models/{{model}}/{act}")
    def confirm(request: Request, model: str) -> Response:
        """What it means."""
        return confirmation.show(request, _step(house, model, act))

    @pages.post(f"/house/models/{{model}}/{act}")
    def do(request: Request, model: str, fields: Fields) -> Response:
        """Do it."""
        look = partial(_step, house, model, act)
        return confirmation.take(
            request, look, fields, lambda person: _done(house, person, model, act, fields)
        )


def _step(house: House, wanted: str, act: str) -> Step:
    """Raises: PageProblem: it cannot be done with this model. InputError: there is none, or it does not verify."""
    job = house.library.shelf.find(wanted)
    standing = None if house.desk.names is None else house.desk.names.read()
    names = [] if house.desk.names is None else house.desk.names.pointing_to(job)
    if act == "remove":
        if names:
            raise PageProblem(409, "answers_under_name")
        return _with(house, act, job, f"privet agent models remove {house.folder} {job[:8]}", job)
    model = house.library.answers(job).model
    if model.tree is None:
        raise PageProblem(409, "no_tree")
    words = "" if standing is None else standing.uses.get(job, "")
    if act == "describe":
        command = f'privet agent models describe {house.folder} {job[:8]} --intended-use "…"'
        return _with(house, act, job, command, words, words=words, most=WORDS_CHARACTERS)
    own = f"{STUDY_PREFIX}{model.manifest.study}"
    taken = standing is not None and own in standing.names
    command = f"privet agent models pin {house.folder} {own} {job[:8]}"
    return _with(house, act, job, command, names, name="" if taken else own, facts=_facts(model))


def _with(house: House, act: str, job: str, command: str, seen: object, **values: object) -> Step:
    back = f"/house/models/{job}"
    shown = {"facts": [(text("house.names.model"), job)]} | values
    act = "pin_new" if act == "pin" else act
    return Step(act, back, command, state_of({"seen": seen}), "models", values_of(**shown))


def _facts(model: Model) -> list[tuple[str, str]]:
    return [(text("house.names.model"), model.id), (text("house.models.study"), model.manifest.study)]


def _done(house: House, person: str, wanted: str, act: str, fields: Mapping[str, str]) -> str:
    """Where to go then. Raises: PageProblem: the name is taken. InputError: as `Naming` says."""
    at, job = naming(house, person), house.library.shelf.find(wanted)
    if act == "remove":
        at.remove(job)
        return "/house/models"
    if act == "describe":
        at.describe(job, fields.get("words", ""))
        return f"/house/models/{job}"
    name = check_name(fields.get("name", "").strip())
    if house.desk.names is not None and name in house.desk.names.read().names:
        raise PageProblem(409, "name_taken", link_to(name))
    return place_of(at.pin(name, job).name)
