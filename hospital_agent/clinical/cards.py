"""What a clinician is shown: one card, with the path, where its values came from, what is missing, and the limits.

Source: CDS Hooks 2.0, section "Card Attributes". A diagnosis model informs: indicator `info`, no suggestions, no system
actions. Details are GitHub Markdown without raw HTML, whatever labels hold.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from hospital_agent.clinical.services import Service
from hospital_agent.local_api.desk import Asked
from hospital_agent.models import Model
from hospital_agent.models.card import undescribed
from shared.contract.fhir import MappedRecord, Origin

MAX_SUMMARY: Final = 139
"""The specification: under 140 characters."""
INTENDED_USE: Final = (
    "Intended for health professionals as one more view on a patient whose data they know. It supports a decision and "
    "takes none."
)
UNDESCRIBED: Final = "This hospital has not described what the model is for: for research only."
_SPECIAL: Final = re.compile(
    r"[\\`*_{}\[\]()#|~@]|:(?=//)|(?<=www)\.|^[-+=]|(?<=^\d)\.|(?<=^\d\d)\.", re.IGNORECASE
)
"""What Markdown would make something of: marks, addresses, and what begins a list or a heading."""
_CONTROL: Final = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]+"
)
_MOST_MISSING: Final = 30


@dataclass(frozen=True, slots=True)
class Shown:
    """A question and its answer, to be shown."""

    service: Service
    answered: Asked
    record: MappedRecord

    @property
    def model(self) -> Model:
        """The version that answered."""
        return self.answered.answers.model

    @property
    def prediction(self) -> Mapping[str, Any]:
        """The one answer."""
        return self.answered.found[0].document

    @property
    def is_covered(self) -> bool:
        """Whether the patient has a full path through the tree."""
        return bool(self.prediction["covered"])


def card_of(asked: Shown, uuid: UUID, link: str) -> dict[str, Any]:
    """The card. Args: link: where people are shown the model."""
    service, model = asked.service, asked.model
    source: dict[str, Any] = {"label": plain(f"Privet, study {model.manifest.study}"), "url": link}
    if service.topic is not None:
        source["topic"] = service.topic.document
    card: dict[str, Any] = {
        "uuid": str(uuid),
        "summary": _summary(asked),
        "indicator": "info",
        "detail": _detail(asked),
        "source": source,
        "links": [{"label": "Model card and limits of this model", "url": link, "type": "absolute"}],
    }
    if service.override_reasons:
        card["overrideReasons"] = [reason.document for reason in service.override_reasons]
    return card


def _summary(asked: Shown) -> str:
    prediction = asked.prediction
    if not asked.is_covered:
        attribute = prediction["stopped_at"]
        why = "is missing" if prediction["stop_reason"] == "missing" else "has a value unknown to the model"
        return _short(f"{asked.service.title}: no answer for this patient, {attribute} {why}")
    share = "" if prediction["probability"] is None else f" ({_percent(prediction['probability'])})"
    return _short(
        f"{asked.service.title}: {asked.model.schema.class_name} {prediction['class']}{share}; decision support"
    )


def _short(text: str) -> str:
    text = plain(text)
    return text if len(text) <= MAX_SUMMARY else f"{text[: MAX_SUMMARY - 1].rstrip()}…"


def plain(text: str) -> str:
    """One line without characters that a screen would obey or not show: a gap stands for them."""
    return _CONTROL.sub(" ", text).strip()


def escaped(text: str) -> str:
    """A text as Markdown shows it letter by letter; no tag of it survives a careless viewer either."""
    safe = _SPECIAL.sub(lambda found: f"\\{found[0]}", plain(text))
    return safe.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _detail(asked: Shown) -> str:
    parts = [_answer(asked), _path(asked), _missing(asked), _version(asked), _limits(asked)]
    return "\n\n".join(part for part in parts if part)


def _answer(asked: Shown) -> str:
    prediction = asked.prediction
    if not asked.is_covered:
        text = "**No answer for this patient.**"
        if prediction["note"]:
            text += f" {escaped(prediction['note'])}"
        return f"{text} So far this is: {escaped(prediction['class'])}."
    label = f"**{escaped(asked.model.schema.class_name)}: {escaped(prediction['class'])}**"
    if prediction["probability"] is not None:
        label += f", {_percent(prediction['probability'])} of the training records with this path"
    if prediction["interval_95"] is not None:
        low, high = prediction["interval_95"]
        label += f" (95 % interval {_percent(low)} to {_percent(high)})"
    if prediction["counts"] is not None:
        counts = ", ".join(
            f"{escaped(name)} {_number(count)}" for name, count in prediction["counts"].items()
        )
        label += f". Training records there: {counts}"
    note = prediction["note"]
    return f"{label}." if note is None else f"{label}. {escaped(note)}"


def _path(asked: Shown) -> str:
    origins = {one.attribute: one for one in asked.record.origins}
    steps: Sequence[Mapping[str, str]] = asked.prediction["steps"]
    if not steps:
        return "**Why:** the tree asks nothing before it answers so."
    lines = [
        f"{number}. {escaped(step['attribute'])}: {escaped(step['value'])}{_from(origins.get(step['attribute']))}"
        for number, step in enumerate(steps, start=1)
    ]
    return "\n".join(["**Why (path in the tree):**", "", *lines])


def _from(origin: Origin | None) -> str:
    if origin is None or not (origin.resource or origin.note):
        return ""
    told = [origin.resource.split("/")[0], origin.date, origin.given, origin.note]
    return f" ({escaped(', '.join(part for part in told if part))})"


def _missing(asked: Shown) -> str:
    known = {one.attribute: one.note for one in asked.record.origins if one.value is None}
    unmapped = {
        one.name: "not mapped"
        for one in asked.model.schema.attributes
        if one.name not in {origin.attribute for origin in asked.record.origins}
    }
    missing = known | unmapped
    if not missing:
        return "**Missing inputs:** none."
    lines = [f"- {escaped(name)}: {escaped(note or 'no value')}" for name, note in missing.items()]
    more = len(lines) - _MOST_MISSING
    rest = [f"- and {more} more"] if more > 0 else []
    return "\n".join([f"**Missing inputs:** {len(lines)}", "", *lines[:_MOST_MISSING], *rest])


def _version(asked: Shown) -> str:
    model = asked.model
    saved = datetime.fromtimestamp(model.saved, UTC).date().isoformat()
    return (
        f"**Model:** study {escaped(model.manifest.study)}, version {model.id[:8]} of {saved}, "
        f"grown by {len(model.hospitals)} hospitals, SHA-256 {model.tree_sha256}"
    )


def _limits(asked: Shown) -> str:
    head = asked.answered.head
    own = head.get("intended_use")
    told = [
        head["notice"],
        head.get("caution"),
        UNDESCRIBED if own in (None, undescribed()) else own,
        INTENDED_USE,
    ]
    return f"**Limits:** {' '.join(escaped(text) for text in told if text)}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _number(count: float | Decimal) -> str:
    return f"{count:g}"
