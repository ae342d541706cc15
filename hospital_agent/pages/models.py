"""Finished trees: the list, a tree as a picture with its rules, how good it is, and its forms for other programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request
from starlette.responses import Response

from hospital_agent.journal import studies
from hospital_agent.models import Model, description, summary
from hospital_agent.models.card import card_markdown
from hospital_agent.models.subjects import subject_of
from hospital_agent.pages.house import House, page
from hospital_agent.pages.model_facts import facts_of, report_html
from hospital_agent.pages.problems import PageProblem
from machine.browsers import file_of
from shared.errors import InputError
from shared.export.files import FILES, form_named
from shared.web.tree_view import TreeView

if TYPE_CHECKING:
    from shared.export.subject import Subject


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A model whose file does not verify."""

    id: str
    reason: str


def add(pages: FastAPI, house: House) -> None:
    """`/house/models` and what is below."""

    @pages.get("/house/models")
    def listed(request: Request) -> Response:
        """The models of this hospital, the newest first."""
        found, broken = _all(house)
        return page(request, "models.html", active="models", models=found, broken=broken)

    @pages.get("/house/models/{model}")
    def one(request: Request, model: str) -> Response:
        """One tree."""
        found = house.library.answers(model).model
        return page(request, "model.html", active="models", **_about(house, found))

    @pages.get("/house/models/{model}/files/{form}")
    def file(model: str, form: str) -> Response:
        """The tree in a form of other programs."""
        return _file(house, house.library.answers(model).model, form)


def subject_in(house: House, model: Model) -> Subject:
    """A model as it may be shown. Raises: InputError: its tree is not here, or no picture can hold it."""
    with house.journal() as journal:
        contract = studies.contract_of(journal, model.manifest.study)
    return subject_of(model, house.version, contract)


def view_in(house: House, model: Model) -> tuple[TreeView | None, str]:
    """The picture of a model; or none, and why."""
    if model.tree is None:
        return None, model.told
    try:
        return TreeView(subject_in(house, model)), ""
    except InputError as error:
        return None, str(error)


def asked_by_job(house: House, model: Model) -> bool:
    """Whether the tree stays shared, and a job can be had to ask it."""
    return model.tree is None and model.stays_shared and house.desk.secret is not None


def _all(house: House) -> tuple[list[dict[str, Any]], list[Unreadable]]:
    found, broken = [], []
    for job in reversed(house.library.shelf.ids()):
        try:
            model = house.library.answers(job).model
            found.append(summary(model) | {"by_job": asked_by_job(house, model)})
        except InputError as error:
            broken.append(Unreadable(job, str(error)))
    return found, broken


def _about(house: House, model: Model) -> dict[str, Any]:
    view, why = view_in(house, model)
    described = description(model)
    return {
        "model": described,
        "folder": house.folder,
        "view": view,
        "why": why,
        "by_job": asked_by_job(house, model),
        "importance": described.get("importance"),
        **facts_of(house.desk, model),
        "forms": [] if view is None else list(FILES),
    }


def _file(house: House, model: Model, form: str) -> Response:
    if form == "signed":
        return file_of(
            house.library.shelf.path_of(model.id).read_bytes(), f"{model.id}.json", "application/json"
        )
    if form == "card":
        card = card_markdown(house.desk.card(model.id)).encode()
        return file_of(card, f"card-{model.id}.md", "text/markdown; charset=utf-8")
    if form == "report":
        with house.journal() as journal:
            content = report_html(house.desk, journal, model, house.own, house.version)
        return file_of(content, f"report-{model.id}.html", "text/html; charset=utf-8")
    chosen = form_named(form)
    if chosen is None:
        raise PageProblem(404, "not_found")
    from shared.export.formats import render

    ending, media_type = FILES[chosen]
    return file_of(render(subject_in(house, model), chosen), f"{model.id}.{ending}", media_type)
