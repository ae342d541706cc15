"""Finished trees: the list, a tree as a picture with its rules, how good it is, and its forms for other programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from fastapi import FastAPI, Request
from starlette.responses import Response

from hospital_agent.journal import studies
from hospital_agent.models import Model, description, summary
from hospital_agent.models.card import card_markdown
from hospital_agent.models.subjects import subject_of
from hospital_agent.pages.house import House, page
from hospital_agent.pages.model_facts import facts_of, report_html
from hospital_agent.pages.problems import PageProblem
from shared.errors import InputError
from shared.export import FormatName
from shared.web.tree_view import TreeView

if TYPE_CHECKING:
    from shared.export.subject import Subject

FORMS: Final[dict[str, tuple[str, str]]] = {
    "json": ("json", "application/json"),
    "pmml": ("pmml", "application/xml"),
    "onnx": ("onnx", "application/octet-stream"),
    "sklearn": ("sklearn.json", "application/json"),
    "rules": ("rules.txt", "text/plain; charset=utf-8"),
    "dot": ("dot", "text/vnd.graphviz; charset=utf-8"),
    "svg": ("svg", "image/svg+xml"),
    "python": ("py", "text/x-python; charset=utf-8"),
}
"""Form to a file's ending and media type; always sent as a file to keep, never shown."""


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


def _all(house: House) -> tuple[list[dict[str, Any]], list[Unreadable]]:
    found, broken = [], []
    for job in reversed(house.library.shelf.ids()):
        try:
            found.append(summary(house.library.answers(job).model))
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
        "importance": described.get("importance"),
        **facts_of(house.desk, model),
        "forms": [] if view is None else list(FORMS),
    }


def _file(house: House, model: Model, form: str) -> Response:
    if form == "signed":
        return _download(
            house.library.shelf.path_of(model.id).read_bytes(), f"{model.id}.json", "application/json"
        )
    if form == "card":
        card = card_markdown(house.desk.card(model.id)).encode()
        return _download(card, f"card-{model.id}.md", "text/markdown; charset=utf-8")
    if form == "report":
        with house.journal() as journal:
            content = report_html(house.desk, journal, model, house.own, house.version)
        return _download(content, f"report-{model.id}.html", "text/html; charset=utf-8")
    if form not in FORMS:
        raise PageProblem(404, "not_found")
    from shared.export.formats import render

    name: FormatName = form  # type: ignore[assignment]
    ending, media_type = FORMS[form]
    return _download(render(subject_in(house, model), name), f"{model.id}.{ending}", media_type)


def _download(content: bytes, name: str, media_type: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=media_type, headers=headers)
