"""The tree as one JSON document that Privet reads back: header, schema, and the nodes level by level.

`{"format": "privet-tree/1", "tree_sha256": ..., "study": ..., "disclosure": ..., "schema": {...}, "nodes": [...]}`.
A node is `{"leaf": c}` or `{"attr": a, "kids": [places], "majority": c}` with `threshold`, `up_to` or `equals` for a
test; `counts` or `share` stand there as far as the study shows them. The list is flat so that a deep tree needs no deep
JSON. `contract` is there where the study reads records through a data contract.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from pydantic import ValidationError

from shared.errors import InputError
from shared.export.subject import NOTICE, READING, Origin, Place, Subject
from shared.tree.binary_tests import read_test
from shared.tree.model import Leaf, Node, Split, Tree, counts_members, read_counts
from shared.tree.prediction import Disclosure
from shared.tree.schema import Schema
from shared.wire.base import describe
from shared.wire.contract import DataContract

FORMAT: Final = "privet-tree/1"
CONTRACT: Final = "contract"
_DISCLOSURES: Final[dict[str, Disclosure]] = {
    "class": "class",
    "probability": "probability",
    "counts": "counts",
}


def to_document(subject: Subject) -> dict[str, Any]:
    """The document as plain values."""
    header = {name: text for name, text in subject.header if name not in ("hospitals", READING)}
    contract = (
        {}
        if subject.contract is None
        else {CONTRACT: subject.contract.model_dump(mode="json", by_alias=True)}
    )
    return (
        {"format": FORMAT}
        | header
        | contract
        | {
            "hospitals": list(subject.origin.hospitals),
            "schema": subject.schema.to_json(),
            "nodes": [_node(place, subject.disclosure) for place in subject.places],
        }
    )


def to_json(subject: Subject) -> str:
    """The document as text."""
    return json.dumps(to_document(subject), ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def read_document(data: Any) -> Subject:
    """The inverse of `to_document`; or the published tree of a cloud, `{"tree_sha256", "tree", "schema"}`.

    Raises: InputError: another form, or the tree is not the one that its hash names.
    """
    if not isinstance(data, Mapping) or not {"schema", "tree_sha256"} <= set(data):
        raise InputError(
            f"expected an exported tree ({FORMAT}) or a cloud's published tree",
            where="tree file",
            remedy="Write one with `privet agent export --format json`, or fetch /v1/jobs/{job}/tree.",
        )
    if "nodes" in data and data.get("format") != FORMAT:
        raise InputError(f"expected format {FORMAT}", where="tree file", remedy="Update Privet.")
    schema = Schema.from_json(data["schema"])
    tree = _tree(data["nodes"]) if "nodes" in data else Tree.from_json(data.get("tree"))
    if tree.sha256 != data["tree_sha256"]:
        raise InputError(
            "the tree is not the one its hash names", where="tree file", remedy="Export it anew."
        )
    disclosure = data.get("disclosure", "class")
    if not isinstance(disclosure, str) or disclosure not in _DISCLOSURES:
        raise InputError("expected disclosure class, probability or counts", where="tree file")
    subject = Subject.prepare(tree, schema, _DISCLOSURES[disclosure], _origin(data), _contract(data))
    return _with_shares(subject, data.get("nodes", [])) if disclosure == "probability" else subject


def _node(place: Place, disclosure: Disclosure) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    if disclosure == "counts":
        shown |= counts_members(Leaf(0, place.counts, place.denominator))
    if disclosure == "probability" and place.share is not None:
        shown["share"] = place.share
    if place.is_leaf:
        return {"leaf": place.label} | shown
    test = {} if place.test is None else dict([place.test.member])
    majority = {} if place.label is None else {"majority": place.label}
    return {"attr": place.attribute, "kids": list(place.kids)} | test | majority | shown


def _origin(data: Mapping[str, Any]) -> Origin:
    texts = {name: data.get(name, "") for name in ("study", "question", "job", "date")}
    hospitals = data.get("hospitals", [])
    version, notice = data.get("privet", ""), data.get("notice", NOTICE)
    if not isinstance(hospitals, list) or not all(
        isinstance(text, str) for text in (*texts.values(), *hospitals, version, notice)
    ):
        raise InputError("expected texts in the header", where="tree file")
    return Origin(**texts, hospitals=tuple(hospitals), version=version, notice=notice)


def _contract(data: Mapping[str, Any]) -> DataContract | None:
    """The member `contract`; files of before it have none."""
    if data.get(CONTRACT) is None:
        return None
    try:
        return DataContract.model_validate_json(json.dumps(data[CONTRACT]), by_alias=True, by_name=False)
    except ValidationError as error:
        raise InputError(
            f"not a data contract: {describe(error)}", where="tree file", remedy="Export it anew."
        ) from None


def _tree(nodes: Any) -> Tree:
    """Kids stand behind their parent, so the tree is built from the end of the list."""
    if not isinstance(nodes, list) or not all(isinstance(entry, dict) for entry in nodes):
        raise InputError("expected a list of nodes", where="tree file")
    built: dict[int, Node] = {}
    for place in range(len(nodes) - 1, -1, -1):
        try:
            built[place] = _built(nodes[place], built)
        except (KeyError, TypeError, ValueError):
            raise InputError(
                "not a node of a tree in level order", where=f"tree file, node {place}"
            ) from None
    if set(built) != {0}:
        raise InputError("expected one tree, its nodes in level order", where="tree file")
    return Tree(built[0])


def _built(entry: Mapping[str, Any], built: dict[int, Node]) -> Node:
    counts, unit = read_counts(entry)
    if "leaf" in entry:
        return Leaf(_index(entry["leaf"]), counts, unit)
    kids = tuple(built.pop(_index(kid)) for kid in entry["kids"])
    majority = None if entry.get("majority") is None else _index(entry["majority"])
    return Split(_index(entry["attr"]), kids, majority, counts, read_test(entry), unit)


def _index(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError("index")
    return value


def _with_shares(subject: Subject, nodes: list[Mapping[str, Any]]) -> Subject:
    """The shares as they were written: without counts they cannot be computed again."""
    if [entry.get("kids", []) for entry in nodes] != [list(place.kids) for place in subject.places]:
        raise InputError("expected the nodes in level order", where="tree file")
    shares = [entry.get("share") for entry in nodes]
    if not all(share is None or (type(share) is float and 0 <= share <= 1) for share in shares):
        raise InputError("expected shares from 0 to 1", where="tree file")
    places = tuple(replace(place, share=share) for place, share in zip(subject.places, shares, strict=True))
    return replace(subject, places=places)
