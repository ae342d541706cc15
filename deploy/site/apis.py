"""The reference of both APIs, from the descriptions that the programs give of themselves."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

_METHODS = ("get", "post", "put", "patch", "delete")


def cloud_reference() -> str:
    """The operations of the cloud, as Markdown."""
    from cloud_service.app import create_app
    from cloud_service.service.services import Services
    from cloud_service.settings import Settings

    # A description needs settings and nothing that runs.
    still = SimpleNamespace(settings=Settings(folder=Path("cloud")), relay=None, tickets=None)
    document = create_app(cast(Services, still)).openapi()
    return "\n".join(_reference(document))


def agent_reference() -> str:
    """The operations of a hospital's local API, as Markdown."""
    from hospital_agent.local_api.app import create_app
    from hospital_agent.local_api.library import Library

    document = create_app(cast(Library, SimpleNamespace()), dict, None).openapi()
    return "\n".join(_reference(document))


def _reference(document: Mapping[str, Any]) -> Iterator[str]:
    groups: dict[str, list[tuple[str, str, Mapping[str, Any]]]] = {}
    for path, methods in document["paths"].items():
        for method in (name for name in _METHODS if name in methods):
            groups.setdefault(_group(path), []).append((method, path, methods[method]))
    for group, operations in sorted(groups.items()):
        yield from (f"## {group}", "")
        for method, path, operation in operations:
            yield from _operation(method, path, operation, document)


def _group(path: str) -> str:
    parts = [part for part in path.split("/") if part not in ("", "v1")]
    return parts[0].replace("-", " ").capitalize()


def _operation(
    method: str, path: str, operation: Mapping[str, Any], document: Mapping[str, Any]
) -> Iterator[str]:
    yield from (f"### `{method.upper()} {path}`", "")
    yield from (_prose(operation.get("description") or operation.get("summary", "")), "")
    parameters = operation.get("parameters", ())
    if parameters:
        yield from ("| parameter | in | |", "|---|---|---|")
        for one in parameters:
            needed = "needed. " if one.get("required") else ""
            yield f"| `{one['name']}` | {one['in']} | {needed}{_cell(one.get('description', ''))} |"
        yield ""
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        yield from _body(kind, content.get("schema", {}), document)
    yield from ("| answer | |", "|---|---|")
    for status, answer in sorted(operation.get("responses", {}).items()):
        yield f"| {status} | {_cell(answer.get('description', ''))} |"
    yield ""


def _body(kind: str, schema: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[str]:
    shown = _resolved(schema, document)
    yield from (f"Body, `{kind}`:", "")
    example = shown.get("example", next(iter(shown.get("examples", ())), None))
    if example is not None:
        text = example if isinstance(example, str) else json.dumps(example, indent=2, ensure_ascii=False)
        yield from ("```json" if not isinstance(example, str) else "```text", text, "```", "")
    members = shown.get("properties", {})
    if members:
        yield from ("| member | type | |", "|---|---|---|")
        for name, one in members.items():
            needed = "needed. " if name in shown.get("required", ()) else ""
            about = _cell(one.get("description", ""))
            yield f"| `{name}` | {_cell(_type(one))} | {needed}{about} |"
        yield ""


def _resolved(schema: Mapping[str, Any], document: Mapping[str, Any]) -> Mapping[str, Any]:
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    found: Mapping[str, Any] = document.get("components", {}).get("schemas", {}).get(name, schema)
    return found


def _type(schema: Mapping[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_type(one) for one in schema["anyOf"]))
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2].rpartition(".")[2]
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("type", "any"))


def _prose(text: str) -> str:
    """Docstrings are Markdown but for what would be read as HTML."""
    return text.replace("<", "&lt;").strip()


def _cell(text: str) -> str:
    return " ".join(_prose(text).split()).replace("|", "\\|")
