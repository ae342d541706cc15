"""A model as people and programs are shown it."""

from __future__ import annotations

from typing import Any

from hospital_agent.models.answers import notice_of
from hospital_agent.models.model import Model
from shared.protocol.participation import rules_of
from shared.tree.drawing import draw
from shared.tree.export import reference_form
from shared.tree.importance import importances
from shared.tree.model import Tree
from shared.tree.schema import Schema
from shared.wire.manifest import Manifest


def summary(model: Model) -> dict[str, Any]:
    """What a list of models shows of one."""
    return {
        "id": model.id,
        "study": model.manifest.study,
        "question": model.manifest.question,
        "class": model.schema.class_name,
        "classes": list(model.schema.classes),
        "hospitals": list(model.hospitals),
        "tree_sha256": model.tree_sha256,
        "nodes": None if model.tree is None else model.tree.node_count,
        "depth": None if model.tree is None else model.tree.depth,
        "profile": model.manifest.profile,
        "held": model.told,
        "disclosure": model.manifest.disclosure,
        "saved": model.saved,
    }


def description(model: Model) -> dict[str, Any]:
    """A model in full, its counts only where the study's predictions may show them."""
    document = {**summary(model), "schema": model.schema.to_json(), "notice": notice_of(model)}
    if model.tree is None:
        return document | {"tree": None, "drawing": f"({model.told})"}
    shown = model.tree if model.manifest.disclosure == "counts" else model.tree.without_counts()
    return document | {
        "tree": reference_form(shown, model.schema),
        "drawing": draw(shown, model.schema),
        "importance": _importance(model.manifest, shown, model.schema),
    }


def _importance(manifest: Manifest, tree: Tree, schema: Schema) -> list[dict[str, Any]] | None:
    """The attributes of most importance first, with shares of four decimals; None where counts are not shown."""
    if tree.root.counts is None:
        return None
    return [
        {
            "attribute": schema.attributes[each.attribute].name,
            "splits": each.splits,
            "gini": float(round(each.gini, 4)),
            "entropy": float(round(each.entropy, 4)),
        }
        for each in importances(tree, rules_of(manifest).weighed)
    ]
