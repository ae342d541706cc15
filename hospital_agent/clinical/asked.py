"""What a clinical system sends: JSON within limits, and the form of a CDS Hooks request.

Source: CDS Hooks 2.0, section "Calling a CDS Service"; hooks patient-view and order-select. Unknown members are passed
over, so that later versions of the specification may ask as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from fastapi import Depends, Request
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from hospital_agent.clinical.outcomes import ClinicalError
from shared.contract.fhir_resources import Json, listed, reference_to
from shared.errors import PeerError
from shared.wire.base import check_item_count, describe, json_depth
from shared.wire.exact_json import RepeatedNameError, read_exact


async def _raw(request: Request) -> bytes:
    return await request.body()


Body = Annotated[bytes, Depends(_raw)]
"""A body as it came; the gate of the local API bounds its length and its time."""
MAX_DEPTH: Final = 64
MAX_FEEDBACK: Final = 1_000
_PATIENT: Final = r"^[.]*[A-Za-z0-9-][A-Za-z0-9.-]*$"
"""FHIR's ids but those of dots alone, which an address takes for another place."""
PatientId = Annotated[str, StringConstraints(pattern=_PATIENT, max_length=64)]
_Text = Annotated[str, StringConstraints(min_length=1, max_length=2000)]


class _Asked(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, data: Any) -> Any:
        """A client may write what it has not as null."""
        if isinstance(data, dict):
            return {name: value for name, value in data.items() if value is not None}
        return data


class Context(_Asked):
    """Of both hooks. `draftOrders`, `selections`: of order-select."""

    userId: _Text  # noqa: N815 - the specification's names
    patientId: PatientId  # noqa: N815
    selections: list[_Text] | None = None
    draftOrders: dict[str, Any] | None = None  # noqa: N815

    def selected(self) -> list[Json]:
        """The draft orders that are selected."""
        wanted = set(self.selections or ())
        drafts = [one.get("resource") for one in listed((self.draftOrders or {}).get("entry"))]
        resources = [
            one for one in drafts if isinstance(one, Mapping) and isinstance(one.get("resourceType"), str)
        ]
        return [one for one in resources if reference_to(one) in wanted]


class FhirAuthorization(_Asked):
    """A token with which resources may be fetched."""

    access_token: Annotated[str, StringConstraints(pattern=r"^[!-~]{1,8192}$")] = Field(repr=False)
    token_type: Literal["Bearer"]


class HookRequest(_Asked):
    """`POST /cds-services/{id}`."""

    hook: _Text
    hookInstance: UUID  # noqa: N815
    fhirServer: _Text | None = None  # noqa: N815
    fhirAuthorization: FhirAuthorization | None = None  # noqa: N815
    context: Context
    prefetch: dict[str, Any] = Field(default={}, repr=False)

    @model_validator(mode="after")
    def _consistent(self) -> HookRequest:
        if self.fhirAuthorization is not None and self.fhirServer is None:
            raise ValueError("fhirServer: needed where fhirAuthorization is")
        if self.hook == "order-select" and (
            self.context.selections is None or self.context.draftOrders is None
        ):
            raise ValueError("context: order-select has selections and draftOrders")
        return self


class _Reason(_Asked):
    code: str = ""


class _Override(_Asked):
    reason: _Reason = _Reason()


class FeedbackEntry(_Asked):
    """What became of a card. What a user wrote is not read: it may name a patient."""

    card: UUID
    outcome: Literal["accepted", "overridden"]
    overrideReason: _Override = _Override()  # noqa: N815


class Feedback(_Asked):
    """`POST /cds-services/{id}/feedback`."""

    feedback: Annotated[list[FeedbackEntry], Field(min_length=1, max_length=MAX_FEEDBACK)]


_TEXT: Final = {"type": "string", "minLength": 1, "maxLength": 2000}
_UUID: Final = {"type": "string", "format": "uuid"}
QUESTION_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["hook", "hookInstance", "context"],
    "properties": {
        "hook": _TEXT,
        "hookInstance": _UUID,
        "fhirServer": _TEXT,
        "fhirAuthorization": {"type": "object", "required": ["access_token", "token_type"]},
        "context": {
            "type": "object",
            "required": ["userId", "patientId"],
            "properties": {
                "userId": _TEXT,
                "patientId": {"type": "string", "pattern": _PATIENT, "maxLength": 64},
            },
        },
        "prefetch": {"type": "object"},
    },
}
FEEDBACK_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["feedback"],
    "properties": {
        "feedback": {
            "type": "array",
            "minItems": 1,
            "maxItems": MAX_FEEDBACK,
            "items": {
                "type": "object",
                "required": ["card", "outcome"],
                "properties": {"card": _UUID, "outcome": {"enum": ["accepted", "overridden"]}},
            },
        }
    },
}


def described(schema: dict[str, Any]) -> dict[str, Any]:
    """For a route that reads its body itself: what the body is."""
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def parsed(raw: bytes) -> Any:
    """A body as JSON, numbers as decimals. Raises: ClinicalError: none, nested too deep, or of too many items."""
    try:
        check_item_count(raw, what="the body")
    except PeerError as error:
        raise ClinicalError(413, str(error)) from None
    if json_depth(raw) > MAX_DEPTH:
        raise ClinicalError(400, f"JSON nested deeper than {MAX_DEPTH}")
    try:
        return read_exact(raw)
    except RepeatedNameError as error:
        raise ClinicalError(400, f"The body: {error}.") from None
    except (ValueError, RecursionError):
        raise ClinicalError(400, "The body is no JSON in UTF-8.") from None


def as_request(document: Any) -> HookRequest:
    """Raises: ClinicalError: it has not the form of one; names the first wrong member."""
    try:
        return HookRequest.model_validate(document)
    except ValidationError as error:
        raise ClinicalError(400, f"Not a CDS Hooks request: {describe(error)}") from None


def as_feedback(document: Any) -> Feedback:
    """Raises: ClinicalError: it has not the form of one."""
    try:
        return Feedback.model_validate(document)
    except ValidationError as error:
        raise ClinicalError(400, f"Not CDS Hooks feedback: {describe(error)}") from None
