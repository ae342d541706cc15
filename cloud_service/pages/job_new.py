"""A new job under a study: who has approved, what is still missing, what it costs and shows, and the start.

The form is checked first and started then; it carries a key, so that a second click starts no second job.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import Depends, Response

from cloud_service.pages import job_options, job_several
from cloud_service.pages.faults import page_router
from cloud_service.pages.finished_frame import grows_a_known_tree
from cloud_service.pages.frame import Form, Page, form_may, page_may
from cloud_service.pages.job_form import (
    FIELDS,
    HELD_OUT,
    PRUNINGS,
    criteria_of,
    defaults_of,
    placed,
    read,
    seed_of,
    ways_of,
)
from cloud_service.pages.study_advice import key_of, learned_of, whole
from cloud_service.pages.study_form import GENERAL, Values
from cloud_service.pages.wording import Word, answer_word
from cloud_service.service.permissions import Permission
from cloud_service.service.planning import SECRET_MODES, JobPlan
from cloud_service.service.rates import RateLimitedError
from cloud_service.service.refusals import ConflictError, UnknownThingError
from cloud_service.service.studies import StudyView
from cloud_service.service.terms import is_over, states_that_start
from cloud_service.store.jobs import StoredJob
from shared.advice.advising import costs_of
from shared.advice.case import case_of
from shared.advice.words import duration_text, number_text, size_text
from shared.errors import InputError, PeerError
from shared.protocol.disclosure import forecast
from shared.protocol.growing_words import growing_words
from shared.protocol.key_mode_words import key_mode_words
from shared.protocol.noise_words import noise_words
from shared.protocol.quality import published_kind
from shared.protocol.states import CloudState
from shared.protocol.tallies import tally_sentences
from shared.rng import random_bytes
from shared.texts import text
from shared.wire.manifest import Manifest
from shared.wire.tally import TallyKind

router = page_router()
_UNFIT: Final = 422
_LEAST: Final = JobPlan().min_hospitals
_KEY_BYTES: Final = 16
_GROWN: Final = 50
_FOLDED: Final = (
    "pruning",
    "thresholds",
    "min_gain",
    "hold_out",
    "weight",
    "grid",
    "noise_sigma",
    "without_one",
)
"""Fields that stand folded away until one of them says something."""
Starter = Annotated[Page, Depends(page_may(Permission.JOBS_WRITE))]
StarterForm = Annotated[Form, Depends(form_may(Permission.JOBS_WRITE))]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A hospital of the study. `may`: whether a job may invite it; `why`: if not."""

    id: str
    state: Word
    may: bool
    why: str


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a job will cost at most, in words."""

    time: str
    sent: str
    rounds: str
    powers: str


@router.get("/studies/{study_id}/jobs/new")
def new(page: Starter, study_id: str, evaluate: str | None = None) -> Response:
    """The form, as strict as the study asks. Args: evaluate: the job whose tree a link asks to judge."""
    view = page.services.studies.get(study_id)
    judged = {} if evaluate is None else {"what": ["evaluation"], "model": [evaluate]}
    return _show(page, view, judged if "evaluation" in _tallies(view) else {})


@router.post("/studies/{study_id}/jobs/new")
def plan(form: StarterForm, study_id: str) -> Response:
    """Look at a plan before it is started, change it, or start it."""
    view, wanted = form.services.studies.get(study_id), form.value("go", default="check")
    said = {name: form.values(name) for name in FIELDS if name in form.fields}
    said.setdefault("invited", [])
    if wanted == "change":
        return _show(form, view, said)
    values = _values(_candidates(form, view), view, said)
    reading = read(values, view, _shared(form, view) if values.value("what") == "ask" else ())
    if reading.body is None:
        return _show(form, view, said, dict(reading.faults))
    try:
        plans = job_several.plans_of(form, view, values, reading.body.plan(), seed_of(values))
        if wanted != "start":
            return _check(form, view, values, [form.services.jobs.preview(view, one) for one in plans])
        begun = job_several.start_all(form, view, plans, form.value("key"))
    except (InputError, PeerError, ConflictError, UnknownThingError, RateLimitedError) as error:
        return _show(form, view, said, dict([placed(error)]))
    if begun.jobs > 1:
        return form.go(f"/jobs?study={study_id}", done="jobs_created")
    return form.go(f"/jobs/{begun.first}", done="job_created")


def _show(
    page: Page, view: StudyView, said: dict[str, list[str]], faults: dict[str, str] | None = None
) -> Response:
    found, wrong, done = _candidates(page, view), faults or {}, _done(page, view)
    values = _values(found, view, said)
    return page.show(
        "job_new.html",
        active="studies",
        status=_UNFIT if wrong else 200,
        view=view,
        values=values,
        faults=wrong,
        opened=any(name in wrong or any(map(str.strip, said.get(name, ()))) for name in _FOLDED),
        general=wrong.get(GENERAL, ""),
        candidates=found,
        obstacles=_obstacles(page, view, found),
        ways=ways_of(view),
        criteria=criteria_of(view),
        tallies=_tallies(view),
        grown=[one.job.manifest.job for one in done if grows_a_known_tree(one)],
        prunings=tuple(PRUNINGS),
        shares=(*HELD_OUT, *job_several.FOLDS),
        weighed=job_options.weighed(view),
        stepped=job_options.stepped(view) if "secret-gainratio" in ways_of(view) else [],
        noise=job_options.noise_of(view),
        shared=[one.job.manifest.job for one in done if job_options.keeps_a_shared_tree(one)],
        fixed_parties=() if view.document is None else tuple(view.document.compute_parties or ()),
    )


def _check(form: Form, view: StudyView, values: Values, manifests: Sequence[Manifest]) -> Response:
    manifest = manifests[0]
    key_bits, _ = key_of(form.services)
    federation = form.services.membership.current().federation
    holders = 0 if federation.threshold is None else len(federation.threshold.holders)
    noise = noise_words(manifest)
    sentences = [
        *tally_sentences(manifest),
        *growing_words(manifest),
        *([] if noise is None else noise.sentences),
        *key_mode_words(manifest, key_bits, holders),
    ]
    return form.show(
        "job_check.html",
        active="studies",
        view=view,
        manifest=manifest,
        jobs=len(manifests),
        rosters=[one.invited for one in manifests] if values.has("without_one") else [],
        hidden=[(name, value) for name in FIELDS for value in values.values(name)],
        estimate=_estimate(form, manifest, values),
        learned=learned_of(forecast(manifest, published_kind(view.document, manifest)).entries),
        sentences=sentences,
        hours=whole(values.value("invite_hours")),
    )


def _values(candidates: Sequence[Candidate], view: StudyView, said: dict[str, list[str]]) -> Values:
    invited = [one.id for one in candidates if one.may]
    return Values(said, defaults_of(view, invited, random_bytes(_KEY_BYTES).hex()))


def _tallies(view: StudyView) -> list[TallyKind]:
    return [] if view.document is None else list(view.document.tallies or ())


def _candidates(page: Page, view: StudyView) -> list[Candidate]:
    registered = {one.id: one for one in page.services.hospitals.all()}
    if view.document is None:
        return [Candidate(one, answer_word("pending"), True, "") for one in registered]
    needed = states_that_start(view.document)
    found = []
    for one in page.services.governance.standings(view.document):
        why = ""
        if one.state not in needed:
            why = text(f"cloud.start.why.{one.state}")
        elif one.hospital not in registered or not registered[one.hospital].is_member:
            why = text("cloud.start.why.unregistered")
        found.append(Candidate(one.hospital, answer_word(one.state), not why, why))
    return found


def _obstacles(page: Page, view: StudyView, candidates: Sequence[Candidate]) -> list[str]:
    """Why no job can be started yet, and what would help."""
    told = []
    document, now = view.document, page.services.studies.clock()
    if view.closed is not None:
        told.append(text("cloud.start.closed"))
    elif document is not None and is_over(document, now):
        told.append(text("cloud.start.expired"))
    least = _LEAST if document is None else document.min_hospitals
    able = sum(one.may for one in candidates)
    if able < least:
        missing = ", ".join(one.id for one in candidates if not one.may) or text("common.none")
        told.append(text("cloud.start.too_few", able=able, least=least, missing=missing))
    return told


def _done(page: Page, view: StudyView) -> list[StoredJob]:
    """The study's last finished jobs, as far as who looks may see them."""
    return page.services.jobs.page(
        study=view.id, state=CloudState.DONE, before=None, limit=_GROWN, hospital=page.caller.hospital
    )


def _shared(page: Page, view: StudyView) -> list[StoredJob]:
    """Jobs of the study whose trees stayed shared and can be asked."""
    return [stored for stored in _done(page, view) if job_options.keeps_a_shared_tree(stored)]


def _estimate(page: Page, manifest: Manifest, values: Values) -> Estimate | None:
    bits, _ = key_of(page.services)
    try:
        case = case_of(
            manifest.schema_,
            hospitals=len(manifest.invited),
            records=max(1, whole(values.value("records"))),
            max_depth=manifest.max_depth,
            min_node=manifest.min_node,
            key_bits=bits,
            threshold=manifest.threshold,
            thresholds=manifest.thresholds is not None,
        )
    except InputError:
        return None
    costs = costs_of(SECRET_MODES.get(manifest.profile, "ppsdt"), case)
    return Estimate(
        duration_text(costs.seconds),
        size_text(costs.sent_bytes),
        number_text(costs.rounds),
        number_text(costs.exponentiations) if costs.exponentiations else "",
    )
