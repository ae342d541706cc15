"""Two judges of FHIR R4 (4.0.1), run by the interpreter that has them; both were generated from the published build.

Standard input: resources, one JSON document a line. Standard output: one JSON list a line, of what either judge does
not accept in it. Both know elements, types and what must be there; fhir.resources also the forms of ids and dates and,
by `_strange_codes`, the codes of required value sets; fhirclient also that a text is a text.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from fhir.resources import get_fhir_model_class
from fhirclient.models.fhirabstractbase import FHIRValidationError  # type: ignore[import-not-found]
from fhirclient.models.fhirelementfactory import FHIRElementFactory  # type: ignore[import-not-found]

VERSION = "4.0.1"


def faults(resource: dict[str, Any]) -> list[str]:
    """What is wrong with one resource."""
    kind = str(resource.get("resourceType"))
    found: list[str] = []
    try:
        FHIRElementFactory.instantiate(kind, resource).as_json()
    except FHIRValidationError as error:
        found.append(f"fhirclient: {error}")
    try:
        model: Any = get_fhir_model_class(kind)
        found += [f"fhir.resources: {fault}" for fault in _strange_codes(model.parse_obj(resource), kind)]
    except (LookupError, ValueError) as error:  # its ValidationError is a ValueError
        found.append(f"fhir.resources: {error}")
    return found


def _strange_codes(model: Any, place: str) -> Iterator[str]:
    """Codes outside the value sets that the specification requires; the library knows them and does not ask.

    A list that ends with a plus names only some of its codes, so it says nothing.
    """
    for name, field in model.__fields__.items():
        value = getattr(model, name)
        allowed = field.field_info.extra.get("enum_values")
        for one in value if isinstance(value, list) else [value]:
            if hasattr(one, "__fields__"):
                yield from _strange_codes(one, f"{place}.{name}")
            elif allowed and "+" not in allowed and one is not None and str(one) not in allowed:
                yield f"{place}.{name}: {one} is none of {', '.join(allowed)}"


def main() -> None:
    """Read resources, tell faults."""
    from fhir import resources

    if resources.__fhir_version__ != VERSION:
        raise SystemExit(f"expected models of FHIR {VERSION}, got {resources.__fhir_version__}")
    for line in sys.stdin:
        json.dump(faults(json.loads(line)), sys.stdout)
        sys.stdout.write("\n")


if __name__ == "__main__":
    main()
