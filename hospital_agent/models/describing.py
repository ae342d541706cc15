"""A model as people and programs are shown it."""

from __future__ import annotations

from typing import Any

from hospital_agent.models.answers import NOTICE
from hospital_agent.models.model import Model
from shared.tree.drawing import draw
from shared.tree.export import reference_form


def summary(model: Model) -> dict[str, Any]:
    """What a list of models shows of one."""
    return {
        "id": model.id,
        "study": model.manifest.study,
        "question": model.manifest.question,
        "class": model.schema.class_name,
        "classes": list(model.schema.classes),
        "hospitals": list(model.hospitals),
        "tree_sha256": model.tree.sha256,
        "nodes": model.tree.node_count,
        "depth": model.tree.depth,
        "disclosure": model.manifest.disclosure,
        "saved": model.saved,
    }


def description(model: Model) -> dict[str, Any]:
    """A model in full, its counts only where the study's predictions may show them."""
    shown = model.tree if model.manifest.disclosure == "counts" else model.tree.without_counts()
    return {
        **summary(model),
        "schema": model.schema.to_json(),
        "tree": reference_form(shown, model.schema),
        "drawing": draw(shown, model.schema),
        "notice": NOTICE,
    }
