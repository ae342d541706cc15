"""What the form of a new job offers beyond the common rules: class weights, steps of numbers, noise, questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any, Final

from cloud_service.pages.study_form import Values, whole_number
from cloud_service.service.studies import StudyView
from cloud_service.store.jobs import StoredJob
from shared.texts import text
from shared.wire.secret import MAX_RECORDS

FIELDS: Final = ("asked", "weight", "grid", "noise_sigma", "noise_untrusted", "most_records")
"""`weight` stands once for each class, `grid` once for each number, in the schema's order; empty for nothing said."""
_ONCE: Final = 1


def weighed(view: StudyView) -> list[str]:
    """The classes, each of which can be given a weight."""
    return list(view.schema.class_.labels)


def stepped(view: StudyView) -> list[str]:
    """The numbers that mode gain-ratio compares as they are, each of which can be given a step."""
    return [attribute.name for attribute in view.schema.attributes if attribute.numeric is not None]


def noise_of(view: StudyView) -> str:
    """The standard deviation that the study asks at least, as a person types it; empty without noise."""
    noise = None if view.document is None else view.document.noise
    return "" if noise is None else f"{noise.sigma_squared**0.5:g}"


def keeps_a_shared_tree(stored: StoredJob) -> bool:
    """Whether it grew a tree that nobody learned, so that it can be asked for classes of records."""
    secret = stored.job.manifest.secret
    return secret is not None and secret.result == "shared" and secret.purpose == "train"


def growing(values: Values, view: StudyView, faults: dict[str, str]) -> Iterator[tuple[str, Any]]:
    """Members of the body about growing."""
    if weights := _weights(values, view, faults):
        yield "class_weights", weights
    yield from noise(values, faults)


def noise(values: Values, faults: dict[str, str]) -> Iterator[tuple[str, Any]]:
    """The member of the body about noise, where more is asked than the study asks itself."""
    sigma = values.value("noise_sigma").strip()
    if not sigma:
        return
    untrusted = whole_number(values.value("noise_untrusted"))
    if untrusted is None:
        faults["noise_untrusted"] = text("cloud.plan.fault.whole_number")
        return
    yield "noise", {"sigma": sigma, "untrusted": untrusted}


def secret(values: Values, view: StudyView, way: str, faults: dict[str, str]) -> Iterator[tuple[str, Any]]:
    """Members of the block of a job on shares."""
    steps = {
        name: said.strip()
        for name, said in zip_longest(stepped(view), values.values("grid"), fillvalue="")
        if name and said.strip()
    }
    if steps and way == "secret-gainratio":
        yield "grid", steps
    yield from _most_records(values, faults)


def asking(values: Values, shared: Sequence[StoredJob], faults: dict[str, str]) -> Iterator[tuple[str, Any]]:
    """Members of the body of a job that asks a tree which stayed shared, in the way that it was grown."""
    found = next((one for one in shared if one.job.manifest.job == values.value("asked")), None)
    if found is None:
        faults["asked" if shared else "what"] = text("cloud.start.fault.asked")
        return
    grown = found.job.manifest
    parties = [] if grown.secret is None else list(grown.secret.compute_parties)
    block = {"purpose": "predict", "model": grown.job, "compute_parties": parties}
    yield "mode", "gain-ratio"
    yield "max_depth", grown.max_depth
    yield "secret", {**block, **dict(_most_records(values, faults))}


def place_of(where: str) -> str:
    """The field that an error about one class, one number or the noise belongs to; empty for others."""
    return next(
        (field for beginning, field in _BEGINNINGS if where.startswith(beginning)),
        "",
    )


_BEGINNINGS: Final = (
    ("class weight", "weight"),
    ("grid", "grid"),
    ("noise", "noise_sigma"),
    ("class_weights", "weight"),
)


def _weights(values: Values, view: StudyView, faults: dict[str, str]) -> dict[str, int]:
    found = {}
    for label, said in zip_longest(weighed(view), values.values("weight"), fillvalue=""):
        if not said.strip():
            continue
        number = whole_number(said)
        if number is None:
            faults["weight"] = text("cloud.start.fault.weight")
            return {}
        if number != _ONCE:
            found[label] = number
    return found


def _most_records(values: Values, faults: dict[str, str]) -> Iterator[tuple[str, int]]:
    said = values.value("most_records").strip()
    if not said:
        return
    number = whole_number(said)
    if number is None or not 1 <= number <= MAX_RECORDS:
        faults["most_records"] = text("cloud.start.fault.most_records", most=MAX_RECORDS)
        return
    yield "max_records", number
