"""A page that shows the API from its own OpenAPI document, without a script or another host."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Mapping
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse

router = APIRouter(include_in_schema=False)
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "summary{cursor:pointer;padding:.3rem 0}code,pre{font-family:ui-monospace,monospace}"
    "pre{background:#f4f4f4;color:#111;padding:.8rem;overflow:auto}b{display:inline-block;min-width:4rem}"
)


@router.get("/docs")
def docs(request: Request) -> HTMLResponse:
    """The documentation page."""
    document = request.app.openapi()
    info = document["info"]
    parts = [
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{_text(info["title"])}</title>',
        f"<style>{_STYLE}</style><h1>{_text(info['title'])} {_text(info['version'])}</h1>",
        f"<p>{_text(info['description'])}</p>",
        '<p>For programs: <a href="/openapi.json">openapi.json</a></p>',
        *_operations(document),
        "</html>",
    ]
    return HTMLResponse("".join(parts))


def _text(value: object) -> str:
    return html.escape(str(value))


def _operations(document: Mapping[str, Any]) -> Iterator[str]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"<details><summary><b>{method.upper()}</b> <code>{_text(path)}</code> "
            yield f"{_text(operation.get('summary', ''))}</summary><p>{_text(operation.get('description', ''))}</p>"
            yield from _parameters(operation)
            yield from _body(operation, document)
            yield from _answers(operation)
            yield "</details>"


def _parameters(operation: Mapping[str, Any]) -> Iterator[str]:
    for parameter in operation.get("parameters", ()):
        needed = " (needed)" if parameter.get("required") else ""
        about = parameter.get("description", "")
        yield f"<p><code>{_text(parameter['name'])}</code> in {parameter['in']}{needed}: {_text(about)}</p>"


def _body(operation: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[str]:
    for content in operation.get("requestBody", {}).get("content", {}).values():
        schema = content.get("schema", {})
        name = schema.get("$ref", "").rpartition("/")[2]
        shown = document["components"]["schemas"].get(name, schema)
        yield f"<p>Body:</p><pre>{_text(json.dumps(shown.get('example', shown), indent=2))}</pre>"


def _answers(operation: Mapping[str, Any]) -> Iterator[str]:
    answers = operation.get("responses", {})
    lines = (f"{status}: {_text(answer.get('description', ''))}" for status, answer in answers.items())
    yield f"<p>Answers: {'; '.join(lines)}</p>"
