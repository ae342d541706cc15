"""DOT, the language of Graphviz: a directed graph, a node a place, an edge a branch."""

from __future__ import annotations

from collections.abc import Iterator

from shared.export.naming import branches, class_name, evidence, place_name
from shared.export.subject import Place, Subject


def to_dot(subject: Subject) -> str:
    """The graph; every text in it is a quoted string."""
    head = [f"// {name}: {text}" for name, text in subject.header]
    return "\n".join([*head, "digraph tree {", *_body(subject), "}"]) + "\n"


def _body(subject: Subject) -> Iterator[str]:
    yield "  graph [rankdir=LR];"
    yield '  node [shape=box, fontname="sans-serif"];'
    yield '  edge [fontname="sans-serif"];'
    for place in subject.places:
        yield f"  n{place.number} [label={_label(subject, place)}{', style=rounded' if place.is_leaf else ''}];"
        for name, kid in branches(subject, place):
            yield f"  n{place.number} -> n{kid.number} [label={_quoted(name)}];"


def _label(subject: Subject, place: Place) -> str:
    lines = [place_name(subject, place)]
    if not place.is_leaf and place.label is not None:
        lines.append(f"else {class_name(subject, place)}")
    lines += [evidence(subject, place)] if evidence(subject, place) else []
    return '"' + "\\n".join(map(_escaped, lines)) + '"'


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    """A quoted string of DOT escapes its quotes; labels read backslashes and XML references as well."""
    return text.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')
