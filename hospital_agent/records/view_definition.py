"""A SQL-on-FHIR view definition: which rows a FHIR resource becomes, one field a column.

Source: HL7 "SQL on FHIR" 2.0, page "ViewDefinition", elements `resource`, `constant`, `where`, `select` with `column`,
`select`, `forEach`, `forEachOrNull`, `unionAll`; functions `getResourceKey` and `getReferenceKey`. FHIRPath itself is
evaluated by fhirpathpy with the R4 model. Deviations: a column of collections and `repeat` are refused, since a record
has one value in a field. Needs the extra `fhir`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from hospital_agent.records.fhirpath import PathEngine
from shared.errors import InputError

Scalar = str | int | bool | Decimal | None
_Path = Callable[[Any], list[Any]]

_KNOWN: Final = {"column", "select", "forEach", "forEachOrNull", "unionAll"}
_REFUSED: Final = ("repeat",)
_EACH: Final = "forEach"


@dataclass(frozen=True, slots=True)
class ViewColumn:
    """A column of the view. `kind`: the FHIR type that the view states, empty where it states none."""

    name: str
    kind: str
    path: _Path = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Select:
    """One `select`: its own columns and those of its parts, for each element that `each` finds."""

    each: _Path | None
    or_null: bool
    columns: tuple[ViewColumn, ...]
    selects: tuple[_Select, ...]
    unions: tuple[_Select, ...]

    def all_columns(self) -> list[ViewColumn]:
        """In the order of the view; those of a union once."""
        nested = [column for each in self.selects for column in each.all_columns()]
        united = self.unions[0].all_columns() if self.unions else []
        return [*self.columns, *nested, *united]

    def rows(self, element: Any) -> Iterator[dict[str, Scalar]]:
        """The rows of one element."""
        found = [element] if self.each is None else self.each(element)
        if not found and self.or_null:
            yield {column.name: None for column in self.all_columns()}
        for one in found:
            yield from self._rows_of(one)

    def _rows_of(self, element: Any) -> Iterator[dict[str, Scalar]]:
        own = {column.name: _single(column, element) for column in self.columns}
        parts: list[list[dict[str, Scalar]]] = [[own]]
        parts += [list(each.rows(element)) for each in self.selects]
        if self.unions:
            parts.append([row for each in self.unions for row in each.rows(element)])
        for combination in itertools.product(*parts):
            yield {name: value for part in combination for name, value in part.items()}


@dataclass(frozen=True, slots=True)
class ViewDefinition:
    """Which resources are taken, and the rows each of them gives."""

    resource: str
    columns: tuple[ViewColumn, ...]
    _where: tuple[_Path, ...] = field(repr=False)
    _select: _Select = field(repr=False)

    @classmethod
    def parse(cls, document: Any, where: str) -> ViewDefinition:
        """From the JSON of a ViewDefinition.

        Raises: InputError: an element that is missing, unknown, refused, or a path that is no FHIRPath.
        """
        if not isinstance(document, Mapping) or not document.get("resource") or not document.get("select"):
            raise _fault("a view needs a resource and a select", where)
        paths = _Paths.of(document, where)
        select = _Select(None, False, (), tuple(paths.select(each) for each in document["select"]), ())
        conditions = tuple(paths.path(each.get("path"), "where") for each in document.get("where", ()))
        columns = tuple(select.all_columns())
        names = [column.name for column in columns]
        repeated = next((name for name in names if names.count(name) > 1), None)
        if repeated is not None:
            raise _fault(f"two columns are both named {repeated!r}", where)
        return cls(str(document["resource"]), columns, conditions, select)

    def rows(self, resource: Mapping[str, Any]) -> Iterator[dict[str, Scalar]]:
        """The rows of one resource; none where it is of another type or left out by `where`.

        Raises: InputError: a column with more than one value, or one that is no single value.
        """
        if resource.get("resourceType") == self.resource and all(
            each(resource) == [True] for each in self._where
        ):
            yield from self._select.rows(resource)


@dataclass(frozen=True, slots=True)
class _Paths:
    """Compiles the paths of one view, with its constants."""

    where: str
    constants: dict[str, Any]
    engine: PathEngine

    @classmethod
    def of(cls, document: Mapping[str, Any], where: str) -> _Paths:
        constants = {}
        for constant in document.get("constant", ()):
            values = [value for name, value in constant.items() if name.startswith("value")]
            if len(values) != 1 or "name" not in constant:
                raise _fault("a constant needs a name and one value", where)
            constants[constant["name"]] = values[0]
        return cls(where, constants, PathEngine.load(where))

    def path(self, text: object, element: str) -> _Path:
        """A compiled path. Args: element: of the view, for messages."""
        if not isinstance(text, str):
            raise _fault(f"{element} needs a path", self.where)
        functions = {
            "getResourceKey": {"fn": _resource_key, "arity": {0: []}},
            "getReferenceKey": {"fn": _reference_key, "arity": {0: [], 1: ["TypeSpecifier"]}},
        }
        compiled = self.engine.compile(text, functions, raw=element == _EACH)
        if compiled is None:
            raise _fault(f"{element} has a path that is no FHIRPath: {text}", self.where)

        def evaluate(resource: Any) -> list[Any]:
            try:
                return compiled(resource, self.constants)
            except Exception:  # the engine's messages quote the resource
                raise _fault(f"the path cannot be evaluated: {text}", self.where) from None

        return evaluate

    def select(self, document: Any) -> _Select:
        """One element of `select` or `unionAll`."""
        refused = next((name for name in _REFUSED if name in document), None)
        if refused is not None or not _KNOWN & set(document):
            raise _fault(f"a select has {refused or 'none of ' + ', '.join(sorted(_KNOWN))}", self.where)
        each = document.get("forEach", document.get("forEachOrNull"))
        unions = tuple(self.select(part) for part in document.get("unionAll", ()))
        if len({tuple(column.name for column in union.all_columns()) for union in unions}) > 1:
            raise _fault("the parts of a unionAll have different columns", self.where)
        return _Select(
            None if each is None else self.path(each, _EACH),
            "forEachOrNull" in document,
            tuple(self.column(column) for column in document.get("column", ())),
            tuple(self.select(part) for part in document.get("select", ())),
            unions,
        )

    def column(self, document: Any) -> ViewColumn:
        """One element of `column`."""
        name = document.get("name")
        if not isinstance(name, str) or not name:
            raise _fault("a column needs a name", self.where)
        if document.get("collection"):
            raise _fault(
                f"column {name!r} is a collection, and a record has one value in a field", self.where
            )
        return ViewColumn(
            name, str(document.get("type", "")), self.path(document.get("path"), f"column {name!r}")
        )


def _single(column: ViewColumn, element: Any) -> Scalar:
    found = column.path(element)
    if not found:
        return None
    value = found[0]
    if len(found) > 1 or (isinstance(value, Mapping | Sequence) and not isinstance(value, str)):
        what = "more than one value" if len(found) > 1 else "no single value but a structure"
        raise InputError(
            f"the path gives {what}.",
            where=f"column {column.name!r}",
            remedy="Make the path name one element, such as by first(), or use forEach for a row each.",
        )
    return value if isinstance(value, str | int | bool | Decimal) else str(value)


def _resource_key(inputs: Sequence[Any]) -> list[str]:
    return [resource["id"] for resource in inputs if isinstance(resource, Mapping) and "id" in resource]


def _reference_key(inputs: Sequence[Any], kind: Any = None) -> list[str]:
    """The id in `Patient/123`, where the reference is of the kind asked for."""
    keys = []
    for reference in inputs:
        parts = str(reference.get("reference", "")).split("/_history/")[0].rsplit("/", 2)
        if len(parts) >= 2 and (kind is None or parts[-2] == kind.name):
            keys.append(parts[-1])
    return keys


def _fault(what: str, where: str) -> InputError:
    return InputError(f"{what}.", where=where, remedy="Correct the view definition.")
