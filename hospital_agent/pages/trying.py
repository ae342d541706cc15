"""Try a patient: a form made from the schema, and the answer that the local API would give.

What was typed is in the post and in the page that answers it, and nowhere else: not in an address, not in a log, not
in the browser's store.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from fastapi import FastAPI, Request
from starlette.responses import RedirectResponse, Response

from hospital_agent.journal import studies
from hospital_agent.local_api.desk import StaysSharedError
from hospital_agent.models import Answers, Record
from hospital_agent.pages.guarding import Fields
from hospital_agent.pages.house import House, page
from hospital_agent.pages.models import asked_by_job, view_in
from hospital_agent.pages.problems import PageProblem
from shared.errors import InputError
from shared.tree.numbers import decimal_text, parse_number
from shared.tree.schema import Attribute
from shared.web.tree_reached import reached_places
from shared.web.tree_view import TreeView, path_places
from shared.wire.contract import ContractAttribute, DataContract

CALLER: Final = "page"
"""Who asked, in the log of predictions."""
_CODE: Final = re.compile(r"[0-9]{1,6}")
MANY_VALUES: Final = 30
"""From here on a value is searched for, not picked from a list."""


@dataclass(frozen=True, slots=True)
class Option:
    """A value to pick. `code`: its place in the schema. `meaning`: in the contract's words."""

    code: int
    value: str
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class Field:
    """One attribute as a field of the form. `kind`: pick, search or number. `low`, `high`: as the study declares.

    `is_asked`: the tree asks about it. `given`: what was typed, to be shown again.
    """

    name: str
    label: str
    kind: str
    is_asked: bool
    options: tuple[Option, ...] = ()
    unit: str = ""
    low: str = ""
    high: str = ""
    description: str = ""
    given: str = field(default="", repr=False)


def add(pages: FastAPI, house: House) -> None:
    """`/house/models/{model}/try`."""

    @pages.get("/house/models/{model}/try")
    def form(request: Request, model: str) -> Response:
        """An empty form."""
        return _page(request, house, _askable(house, model), {}, None, "")

    @pages.post("/house/models/{model}/try")
    def answer(request: Request, model: str, fields: Fields) -> Response:
        """The form again, with the answer above it; of a tree that stays shared, the page that waits for its job."""
        answers = _askable(house, model)
        record = _record(answers, fields)
        try:
            document = house.desk.ask(answers.model.id, [record], caller=CALLER).document()
        except StaysSharedError as shared:
            try:
                question = house.desk.ask_shared(shared, caller=CALLER, wait=0)
            except InputError as error:
                return _page(request, house, answers, fields, None, str(error))
            return RedirectResponse(f"/house/asked/{question.id}", 303)
        except InputError as error:
            return _page(request, house, answers, fields, None, str(error))
        return _page(request, house, answers, fields, document, "")


def _askable(house: House, model: str) -> Answers:
    """Raises: PageProblem: the tree is not here, and no job can ask it, so nobody can be tried."""
    answers = house.library.answers(model)
    if answers.model.tree is None and not asked_by_job(house, answers.model):
        raise PageProblem(409, "no_tree")
    return answers


def _page(
    request: Request,
    house: House,
    answers: Answers,
    given: Mapping[str, str],
    document: Mapping[str, Any] | None,
    fault: str,
) -> Response:
    view, why = view_in(house, answers.model)
    fields = _fields(house, answers, view, given)
    found = None if document is None else document["predictions"][0]
    return page(
        request,
        "try.html",
        active="models",
        status_code=422 if fault else 200,
        model=answers.model,
        by_job=answers.model.tree is None,
        class_name=answers.schema.class_name,
        view=view,
        why=why,
        asked=[each for each in fields if each.is_asked],
        unasked=[each for each in fields if not each.is_asked],
        answer=found,
        notice=None if document is None else document["notice"],
        fault=fault,
        lit=()
        if found is None or view is None
        else _lit(view, answers.as_study(_record(answers, given)), found),
        unknown=[each.label for each in fields if each.is_asked and not each.given.strip()],
        outside=[each for each in fields if _is_outside(each)],
    )


def _lit(view: TreeView, record: Record, answer: Mapping[str, Any]) -> tuple[int, ...]:
    """The way that was walked; every branch of it where an empty field goes down them in parts."""
    if "parted_at" in answer:
        return reached_places(view.subject, record)
    return path_places(view.subject, [(step["attribute"], step["value"]) for step in answer["steps"]])


def _record(answers: Answers, fields: Mapping[str, str]) -> dict[str, str]:
    """What was filled in, by attribute; what is not known is left out."""
    record = {}
    for number, attribute in enumerate(answers.schema.attributes):
        given = fields.get(f"a{number}", "").strip()
        if not given:
            continue
        is_code = _kind(attribute) == "pick" and _CODE.fullmatch(given) and int(given) < len(attribute.values)
        record[attribute.name] = attribute.values[int(given)] if is_code else given
    return record


def _fields(house: House, answers: Answers, view: TreeView | None, given: Mapping[str, str]) -> list[Field]:
    with house.journal() as journal:
        contract = studies.contract_of(journal, answers.model.manifest.study)
    units = house.settings().data.units
    asked = range(len(answers.schema.attributes)) if view is None else view.subject.asked
    return [
        _field(number, attribute, number in asked, _in_contract(contract, attribute), units, given)
        for number, attribute in enumerate(answers.schema.attributes)
    ]


def _in_contract(contract: DataContract | None, attribute: Attribute) -> ContractAttribute | None:
    if contract is None:
        return None
    return next((one for one in contract.attributes if one.name == attribute.name), None)


def _field(
    number: int,
    attribute: Attribute,
    is_asked: bool,
    declared: ContractAttribute | None,
    units: Mapping[str, str],
    given: Mapping[str, str],
) -> Field:
    unit = units.get(attribute.name) or ("" if declared is None else declared.unit)
    low, high = _range(attribute, declared)
    is_converted = declared is not None and unit != declared.unit
    return Field(
        name=f"a{number}",
        label=attribute.name,
        kind=_kind(attribute),
        is_asked=is_asked,
        options=_options(attribute, declared),
        unit=unit,
        low="" if is_converted else low,
        high="" if is_converted else high,
        description="" if declared is None else declared.description,
        given=given.get(f"a{number}", ""),
    )


def _kind(attribute: Attribute) -> str:
    if attribute.is_numeric:
        return "number"
    return "search" if len(attribute.values) > MANY_VALUES else "pick"


def _options(attribute: Attribute, declared: ContractAttribute | None) -> tuple[Option, ...]:
    """Every listed value but that of an empty field, for which there is "not known"."""
    if attribute.is_numeric:
        return ()
    meanings = {} if declared is None else {one.value: one.meaning for one in declared.values}
    return tuple(
        Option(code, value, meanings.get(value, ""))
        for code, value in enumerate(attribute.values)
        if code != attribute.missing_code
    )


def _range(attribute: Attribute, declared: ContractAttribute | None) -> tuple[str, str]:
    if attribute.fixed_point is not None:
        return decimal_text(attribute.fixed_point.minimum), decimal_text(attribute.fixed_point.maximum)
    if declared is None:
        return "", ""
    return declared.minimum or "", declared.maximum or ""


def _is_outside(shown: Field) -> bool:
    """Whether a number lies outside of what the study declares: the tree answers all the same."""
    if shown.kind != "number" or not shown.given.strip() or not (shown.low or shown.high):
        return False
    try:
        number = parse_number(shown.label, shown.given.strip())
        bounds = [parse_number(shown.label, text) if text else number for text in (shown.low, shown.high)]
    except InputError:
        return False
    return not bounds[0] <= number <= bounds[1]
