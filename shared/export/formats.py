"""The forms by name, and what each is for; a command offers them, a program asks `render`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from shared.export import FormatName
from shared.export.document import to_json
from shared.export.dot import to_dot
from shared.export.onnx_model import to_onnx
from shared.export.pmml import to_pmml
from shared.export.rules import to_rules
from shared.export.standalone import to_python
from shared.export.subject import Subject
from shared.export.svg import to_svg


@dataclass(frozen=True, slots=True)
class Format:
    """One form. `purpose`: a few words. `write`: text is written as UTF-8."""

    purpose: str
    write: Callable[[Subject], str | bytes]


FORMATS: Final[Mapping[FormatName, Format]] = {
    "json": Format("the tree as Privet reads it back", to_json),
    "pmml": Format("PMML 4.4, for scoring engines", to_pmml),
    "onnx": Format("ONNX, for onnxruntime and others", to_onnx),
    "sklearn": Format("for privet.estimator.PrivetTreeClassifier.load", to_json),
    "rules": Format("IF-THEN rules, for people", to_rules),
    "dot": Format("DOT, for Graphviz", to_dot),
    "svg": Format("a picture for pages and papers", to_svg),
    "python": Format("one file of Python without dependencies", to_python),
}


_PICTURES: Final = ("dot", "svg")
"""Forms that are looked at, and given no record."""


def reading_of(subject: Subject, name: FormatName) -> str | None:
    """What a person must know about the study's data contract and a form that answers; None where there is none."""
    if subject.contract is None or name in _PICTURES:
        return None
    return subject.held_reading if name in ("json", "sklearn", "python") else subject.reading


def render(subject: Subject, name: FormatName) -> bytes:
    """The subject in a form. Raises: InputError: the form cannot hold it, or needs a library that is not there."""
    written = FORMATS[name].write(subject)
    return written if isinstance(written, bytes) else written.encode("utf-8")
