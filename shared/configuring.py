"""What a settings model says of itself: its settings for people, its faults all at once, and where values come from.

Pure: who reads files and the environment hands in what was read. A setting is named by its path in the TOML file
(`data.class`), and in the environment by a prefix and that path with two underscores (`PRIVET_AGENT_DATA__CLASS`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel, SecretStr, ValidationError
from pydantic.fields import FieldInfo

from shared.errors import InputError
from shared.reports import Report

HIDDEN: Final = "***"
"""Shown in place of a secret."""
_KINDS: Final = {"integer": "whole number", "number": "number", "boolean": "true or false", "string": "text"}


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of a model. `kind`: what may stand there; `default`: as written in TOML, empty for none."""

    path: str
    kind: str
    default: str
    meaning: str
    is_secret: bool

    @property
    def file_name(self) -> str:
        """Of a file that holds this setting alone, in a folder of secrets."""
        return self.path.replace(".", "__")

    def variable(self, prefix: str) -> str:
        """Its name in the environment."""
        return prefix + self.file_name.upper()


@dataclass(frozen=True, slots=True)
class Effective:
    """A setting with the value in force, hidden if it is a secret, and where that value came from."""

    path: str
    value: Any
    source: str


def settings_of(model: type[BaseModel], without: Collection[str] = ()) -> list[Setting]:
    """All settings of a model, those of its sections after it. `without`: fields that are no settings."""
    document = model.model_json_schema(by_alias=True)
    return [one for one in _walk(model, document, document, "") if one.path not in without]


def _walk(
    model: type[BaseModel], schema: Mapping[str, Any], document: Mapping[str, Any], place: str
) -> Iterable[Setting]:
    sections = []
    for name, field in model.model_fields.items():
        shown = field.alias or name
        own = schema["properties"][shown]
        section = section_of(field)
        if section is None:
            kind = _kind(own, document)
            default = _written(own.get("default"))
            yield Setting(place + shown, kind, default, _meaning(own), is_secret(field))
        else:
            sections.append((shown, section))
    for shown, section in sections:
        yield from _walk(section, document["$defs"][section.__name__], document, f"{place}{shown}.")


def section_of(field: FieldInfo) -> type[BaseModel] | None:
    """The model of a field that is a section of its own, also where it may be left out."""
    wanted = field.annotation
    for candidate in (wanted, *getattr(wanted, "__args__", ())):
        if isinstance(candidate, type) and issubclass(candidate, BaseModel):
            return candidate
    return None


def is_secret(field: FieldInfo) -> bool:
    """Whether its value is never shown."""
    return not field.repr or _mentions_secret(field.annotation)


def _mentions_secret(annotation: Any) -> bool:
    return annotation is SecretStr or any(map(_mentions_secret, getattr(annotation, "__args__", ())))


def _meaning(schema: Mapping[str, Any]) -> str:
    return " ".join(str(schema.get("description", "")).split())


def _kind(schema: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return _kind(document["$defs"][schema["$ref"].rpartition("/")[2]], document)
    if "anyOf" in schema:
        kinds = [_kind(one, document) for one in schema["anyOf"] if one.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if "enum" in schema or "const" in schema:
        return ", ".join(_written(value) for value in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return f"list: {_kind(schema['items'], document)}" if "items" in schema else "list"
    if schema.get("type") == "object":
        values = schema.get("additionalProperties")
        return f"table: name = {_kind(values, document)}" if isinstance(values, dict) else "table"
    return _KINDS.get(schema.get("type", ""), "text") + _bounds(schema)


def _bounds(schema: Mapping[str, Any]) -> str:
    words = {
        "minimum": "from {}",
        "exclusiveMinimum": "above {}",
        "maximum": "to {}",
        "exclusiveMaximum": "below {}",
        "minLength": "at least {} characters",
    }
    said = [text.format(schema[name]) for name, text in words.items() if schema.get(name) not in (None, 1)]
    form = {"path": ["a path"], "uri": ["a URL"]}.get(schema.get("format", ""), [])
    return ", ".join(["", *form, *said])


def _written(value: Any) -> str:
    if value is None or value in ([], {}):
        return ""
    return (
        str(value).lower()
        if isinstance(value, bool)
        else f'"{value}"'
        if isinstance(value, str)
        else str(value)
    )


def table_of(settings: Sequence[Setting], prefix: str) -> str:
    """The settings as a table in Markdown, one line each."""
    lines = [
        "| setting | in the environment | what may stand there | default | meaning |",
        "|---|---|---|---|---|",
    ]
    for one in settings:
        default = f"`{one.default}`" if one.default else "none"
        kind = f"{one.kind} (secret)" if one.is_secret else one.kind
        cells = (f"`{one.path}`", f"`{one.variable(prefix)}`", kind, default, one.meaning)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def effective(settings: BaseModel, sources: Sequence[tuple[str, Collection[str]]]) -> list[Effective]:
    """Each setting with its value in force.

    Args: sources: names of sources with the paths that they set, the winning source first.
    """
    return [
        Effective(path, value, next((name for name, paths in sources if path in paths), "default"))
        for path, value in _values(settings, "")
    ]


def _values(settings: BaseModel, place: str) -> Iterable[tuple[str, Any]]:
    for name, field in type(settings).model_fields.items():
        path, value = place + (field.alias or name), getattr(settings, name)
        if isinstance(value, BaseModel):
            yield from _values(value, f"{path}.")
        elif section_of(field) is None:
            yield path, HIDDEN if value and is_secret(field) else _plain(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def report_of(found: Sequence[Effective]) -> Report:
    """Settings in force, for people and for machines."""
    width = max((len(one.path) for one in found), default=0)
    lines = [f"{one.path:{width}}  {_told(one.value)}  ({one.source})" for one in found]
    document = {one.path: {"value": one.value, "source": one.source} for one in found}
    return Report({"settings": document}, "\n".join(lines))


def _told(value: Any) -> str:
    return "not set" if value in (None, "", [], {}) else str(value)


def paths_in(document: Mapping[str, Any], settings: Sequence[Setting], place: str = "") -> set[str]:
    """The settings that a TOML document sets."""
    known, found = {one.path for one in settings}, set()
    for name, value in document.items():
        path = place + name
        if path not in known and isinstance(value, Mapping):
            found |= paths_in(value, settings, f"{path}.")
        else:
            found.add(path)
    return found


def put(document: dict[str, Any], path: str, value: Any) -> None:
    """Set a value at a setting's path, making sections on the way."""
    *sections, name = path.split(".")
    for section in sections:
        document = document.setdefault(section, {})
    document[name] = value


def variables_set(environment: Iterable[str], settings: Sequence[Setting], prefix: str) -> set[str]:
    """The settings that variables of the environment set."""
    present = {name.upper() for name in environment}
    return {one.path for one in settings if one.variable(prefix) in present}


def check_variables(
    environment: Iterable[str],
    settings: Sequence[Setting],
    prefix: str,
    *,
    others: Collection[str],
    number: str,
) -> None:
    """A slip in the name of a variable must not leave a setting at its default unnoticed.

    Args: others: names behind the prefix that are no settings.
    Raises: InputError: a variable with the prefix names no setting.
    """
    known = {prefix + name for name in others}
    for one in settings:
        parts = one.variable(prefix).split("__")
        known |= {"__".join(parts[: length + 1]) for length in range(len(parts))}
    unknown = sorted(
        name for name in environment if name.upper().startswith(prefix) and name.upper() not in known
    )
    if unknown:
        raise InputError(
            f"no such setting: {', '.join(unknown)}",
            where="environment",
            remedy="Correct the name, or unset the variable.",
            number=number,
        )


def faults_of(error: ValidationError) -> str:
    """Every fault of a validation, by setting and rule, without the values that came."""
    found = []
    for fault in error.errors(include_url=False, include_context=False, include_input=False):
        setting = ".".join(str(part) for part in fault["loc"])
        message = fault["msg"].removeprefix("Value error, ")
        found.append(f"setting {setting}: {message}" if setting else message)
    return "; ".join(found)
