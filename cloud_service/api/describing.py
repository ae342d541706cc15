"""The API's own description (OpenAPI), made true where the framework would describe what this cloud does not do.

Problems are answered as problem documents only, whatever was wrong; bodies that are parsed from their bytes are
described by their wire models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from fastapi import FastAPI

from cloud_service.api.problems import MEDIA_TYPE, responses

_LOCAL: Final = "#/$defs/"
_SHARED: Final = "#/components/schemas/wire."
_UNUSED: Final = ("HTTPValidationError", "ValidationError")
_JSON_FAULT, _RULE_FAULT = 400, 422


def install(app: FastAPI) -> None:
    """Let the application describe itself so."""
    original: Callable[[], dict[str, Any]] = app.openapi
    found: dict[str, Any] = {}

    def described() -> dict[str, Any]:
        if not found:
            found.update(_mended(original()))
        return found

    app.openapi = described  # type: ignore[method-assign]  # the framework's documented way


def _mended(document: dict[str, Any]) -> dict[str, Any]:
    schemas: dict[str, Any] = document["components"]["schemas"]
    for name in _UNUSED:
        schemas.pop(name, None)
    for operation in (one for path in document["paths"].values() for one in path.values()):
        answers: dict[str, Any] = operation["responses"]
        added = {str(status): answer for status, answer in _added(operation, answers).items()}
        operation["responses"] = {**answers, **added}
        for answer in operation["responses"].values():
            _only_problems(answer)
    return dict(_hoisted(document, schemas))


def _added(operation: Mapping[str, Any], answers: Mapping[str, Any]) -> dict[int | str, dict[str, Any]]:
    """Problems that come of the form of a request: what the framework itself finds wrong with it."""
    found = [_JSON_FAULT] if "requestBody" in operation else []
    if str(_RULE_FAULT) in answers:
        found.append(_RULE_FAULT)
    plain = responses(*found)
    return {
        status: {key: answer[key] for key in ("description", "content")} for status, answer in plain.items()
    }


def _only_problems(answer: dict[str, Any]) -> None:
    content = answer.get("content", {})
    if MEDIA_TYPE in content:
        answer["content"] = {MEDIA_TYPE: content[MEDIA_TYPE]}


def _hoisted(part: Any, schemas: dict[str, Any]) -> Any:
    """The same with definitions that a model brings along among the document's own, where references find them."""
    if isinstance(part, list):
        return [_hoisted(one, schemas) for one in part]
    if not isinstance(part, dict):
        return part
    rest = dict(part)
    for name, schema in (rest.pop("$defs", None) or {}).items():
        schemas["wire." + name] = _hoisted(schema, schemas)
    reference = rest.get("$ref")
    if isinstance(reference, str) and reference.startswith(_LOCAL):
        rest["$ref"] = _SHARED + reference.removeprefix(_LOCAL)
    # A copy of the keys: what is hoisted on the way is added to one of the parts that is walked through.
    return {name: schemas if one is schemas else _hoisted(one, schemas) for name, one in list(rest.items())}
