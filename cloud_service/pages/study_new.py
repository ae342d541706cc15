"""A new study, step by step. What was said is kept as a draft after every step, so that nothing is lost on the way."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import Depends, Response

from cloud_service.pages.faults import page_router
from cloud_service.pages.frame import Form, Page, form_may, page_may
from cloud_service.pages.study_advice import advice_of, attributes_of
from cloud_service.pages.study_form import GENERAL, STEPS, Reading, Values, placed, read, said_in, step_of
from cloud_service.service.drafts import Draft
from cloud_service.service.permissions import Permission
from cloud_service.service.refusals import ConflictError, UnknownThingError
from shared.errors import InputError, PeerError
from shared.protocol.plain_words import words_of
from shared.texts import text
from shared.wire.study import StudyDocument

router = page_router()
_FIRST: Final = STEPS[0]
_UNFIT: Final = 422
Writer = Annotated[Page, Depends(page_may(Permission.STUDIES_WRITE))]
WriterForm = Annotated[Form, Depends(form_may(Permission.STUDIES_WRITE))]


@router.get("/studies/new")
def new(page: Writer) -> Response:
    """The first step of a new one, and the drafts that wait to be gone on with."""
    return _show(page, _FIRST, None, drafts=page.services.drafts.mine(page.caller.name))


@router.post("/studies/new")
def begin(form: WriterForm) -> Response:
    """Keep the first step as a draft, and go on."""
    draft = form.services.drafts.begin(form.caller.name, said_in(_FIRST, form.fields))
    return _go_on(form, _FIRST, draft)


@router.get("/studies/new/{draft_id}/{step}")
def show(page: Writer, draft_id: str, step: str) -> Response:
    """A step with what was said before."""
    draft = _draft(page, draft_id, step)
    if draft.study is not None:
        return page.go(f"/studies/{draft.study}")
    return _show(page, step, draft, shown_faults=step == STEPS[-1])


@router.post("/studies/new/{draft_id}/compare")
def compare(form: WriterForm, draft_id: str) -> Response:
    """The modes side by side for other wishes, without leaving the step."""
    draft = form.services.drafts.save(form.caller.name, draft_id, said_in("mode", form.fields))
    values = _values(form, draft)
    return form.part("plan_compare.html", advice=advice_of(form, values, read(values)))


@router.post("/studies/new/{draft_id}/create")
def create(form: WriterForm, draft_id: str) -> Response:
    """Create the study and ask its hospitals; a second click finds what the first has made."""
    draft = form.services.drafts.get(form.caller.name, draft_id)
    if draft.study is not None:
        return form.go(f"/studies/{draft.study}")
    values = _values(form, draft)
    reading = read(values)
    if reading.body is None:
        return _show(form, STEPS[-1], draft, shown_faults=True, status=_UNFIT)
    try:
        made = form.services.studies.create(reading.body.view(), reading.body.rules(), actor=form.caller.name)
    except (InputError, PeerError, ConflictError) as error:
        faults = dict([placed(error, values)])
        if isinstance(error, ConflictError):
            faults = {"id": str(error)}
        return _show(form, STEPS[-1], draft, faults=faults, shown_faults=True, status=_UNFIT)
    form.services.drafts.became(form.caller.name, draft.id, made.id)
    return form.go(f"/studies/{made.id}", done="study_created")


@router.post("/studies/new/{draft_id}/delete")
def delete(form: WriterForm, draft_id: str) -> Response:
    """Throw a draft away."""
    form.services.drafts.drop(form.caller.name, draft_id)
    return form.go("/studies/new", done="draft_dropped")


@router.post("/studies/new/{draft_id}/{step}")
def save(form: WriterForm, draft_id: str, step: str) -> Response:
    """Keep a step, and go on where nothing in it is wrong."""
    _draft(form, draft_id, step)
    draft = form.services.drafts.save(form.caller.name, draft_id, said_in(step, form.fields))
    if draft.study is not None:
        return form.go(f"/studies/{draft.study}")
    return _go_on(form, step, draft)


def _go_on(form: Form, step: str, draft: Draft) -> Response:
    wanted = form.value("go", default="next")
    place = STEPS.index(step)
    if wanted == "back":
        return form.go(f"/studies/new/{draft.id}/{STEPS[max(0, place - 1)]}")
    faults, _ = _faults(form, draft)
    own = {name: fault for name, fault in faults.items() if step_of(name) == step}
    if own or wanted == "stay":
        return _show(form, step, draft, faults=own, shown_faults=True, status=_UNFIT if own else 200)
    return form.go(f"/studies/new/{draft.id}/{STEPS[min(place + 1, len(STEPS) - 1)]}")


def _draft(page: Page, draft_id: str, step: str) -> Draft:
    if step not in STEPS:
        raise UnknownThingError("a new study has no such step")
    return page.services.drafts.get(page.caller.name, draft_id)


def _values(page: Page, draft: Draft | None) -> Values:
    hospitals = [
        line.id for line in page.services.membership.current().federation.members if line.role == "agent"
    ]
    said = {} if draft is None else draft.fields
    return Values(said, {"members": sorted(hospitals)})


def _faults(page: Page, draft: Draft) -> tuple[dict[str, str], StudyDocument | None]:
    """What is wrong with the draft as it is, and the document that it would make where nothing is."""
    values = _values(page, draft)
    reading = read(values)
    if reading.body is None:
        return dict(reading.faults), None
    services = page.services
    try:
        document = services.studies.preview(
            reading.body.view(), reading.body.rules(), services.studies.clock()
        )
    except (InputError, PeerError) as error:
        return dict([placed(error, values)]), None
    if services.studies.has(document.id):
        return {"id": _taken(document.id)}, document
    return {}, document


def _taken(study: str) -> str:
    return text("cloud.plan.fault.taken", id=study)


def _show(
    page: Page,
    step: str,
    draft: Draft | None,
    *,
    faults: dict[str, str] | None = None,
    shown_faults: bool = False,
    status: int = 200,
    **more: Any,
) -> Response:
    values = _values(page, draft)
    document = None
    if shown_faults and faults is None and draft is not None:
        faults, document = _faults(page, draft)
    reading = read(values)
    return page.show(
        f"plan_{step}.html",
        active="studies",
        status=status,
        step=step,
        steps=STEPS,
        draft=draft,
        values=values,
        faults=faults or {},
        general=(faults or {}).get(GENERAL, ""),
        fault_steps={name: step_of(name) for name in faults or {}},
        hospitals=values.defaults["members"],
        words=[] if document is None else words_of(document),
        **{**_of_step(page, step, values, reading), **more},
    )


def _of_step(page: Page, step: str, values: Values, reading: Reading) -> dict[str, Any]:
    """What only one step shows."""
    if step == "records":
        described = reading.described
        has_contract = described is not None and described.contract is not None
        return {"attributes": attributes_of(described), "has_contract": has_contract}
    if step == "hospitals":
        known = {view.id: view for view in page.services.hospitals.all()}
        return {"known": known}
    if step in ("mode", "rules"):
        return {"advice": advice_of(page, values, reading)}
    return {}
