"""A tree held against this hospital's own records, here and now: nothing is sent, and nobody else is asked.

The counts have the form of an evaluation's (`tallies`), of one hospital alone. Beside them stands, where it is wanted,
the tree that this hospital grows on its own records by the same rules: what joining brought.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hospital_agent.models.model import Model
from hospital_agent.models.tallies import answers_of
from shared.protocol.tallies import places_needed
from shared.tree.model import Tree
from shared.tree.schema import Schema
from shared.wire.tally import SelectionSpec

Places = NDArray[np.int64]
Classes = NDArray[np.uint8]


def local_document(
    model: Model, own: str, selection: SelectionSpec | None, places: Places, classes: Classes
) -> dict[str, Any]:
    """The counts as plain JSON. Args: own: this hospital. places, classes: of its records, shape (n,)."""
    tree = model.shown_tree
    return {
        "job": None,
        "study": model.manifest.study,
        "question": model.manifest.question,
        "kind": "local",
        "model": model.id,
        "tree_sha256": tree.sha256,
        "hospitals": [own],
        "class": model.schema.class_name,
        "classes": list(model.schema.classes),
        "use": "all" if selection is None else selection.use,
        "selection": None if selection is None else selection.model_dump(mode="json"),
        "records": int(classes.size),
        **_counts(tree, places, classes, model.schema),
    }


def _counts(tree: Tree, places: Places, classes: Classes, schema: Schema) -> dict[str, Any]:
    """Records per true class at each node, and by the class that a vote of branches answered, where there are such."""
    needed, size = places_needed(tree, schema), schema.class_count
    table = np.bincount(places * size + classes, minlength=needed * size).reshape(-1, size).tolist()
    nodes = tree.node_count
    return {
        "nodes": table[:nodes],
        "answers": answers_of(tree),
        "votes": table[nodes:] if needed > nodes else None,
    }


def comparison(
    tree: Tree, places: Places, own_tree: Tree, own_places: Places, classes: Classes, schema: Schema
) -> dict[str, Any]:
    """Two trees on the same records. `paired`: records that both, only the joint, only the own, neither gets right."""
    joint, own = (_right(t, p, classes, schema) for t, p in ((tree, places), (own_tree, own_places)))
    return {
        "own_tree": {"tree_sha256": own_tree.sha256, **_counts(own_tree, own_places, classes, schema)},
        "paired": {
            "both_right": int(np.count_nonzero(joint & own)),
            "only_joint_right": int(np.count_nonzero(joint & ~own)),
            "only_own_right": int(np.count_nonzero(~joint & own)),
            "neither_right": int(np.count_nonzero(~joint & ~own)),
        },
    }


def _right(tree: Tree, places: Places, classes: Classes, schema: Schema) -> NDArray[np.bool_]:
    """Whether each record's place answers its class; places behind the nodes are the answers of votes."""
    nodes = [-1 if answer is None else answer for answer in answers_of(tree)]
    answers = np.array([*nodes, *range(schema.class_count)], dtype=np.int64)
    return np.equal(answers[places], classes)
