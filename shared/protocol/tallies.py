"""What the members of a job that only counts agree on: the schema of an evaluation, and how its tables are read.

In an evaluation each record's only attribute is its *place*: the index, in the order of `Tree.nodes`, of the node where
its walk down the tree ends. The cloud does not know how many nodes the tree has; the schema may have places to spare.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shared.texts import text
from shared.tree.contingency import ContingencyTable
from shared.tree.model import Tree
from shared.tree.schema import Schema
from shared.wire.manifest import MAX_VALUES, AttributeSpec, ClassSpec, Manifest, SchemaSpec
from shared.wire.tally import SelectionSpec, TallySpec

ELSEWHERE: Final = "elsewhere"
_PLACES_A_PART: Final = MAX_VALUES - 1


def tally_sentences(manifest: Manifest) -> list[str]:
    """What a job counts in place of growing a tree, and which records it takes, for a person; none for neither."""
    return [
        *([] if manifest.tally is None else [_counted(manifest.tally)]),
        *([] if manifest.selection is None else [_taken(manifest.selection)]),
    ]


def _counted(tally: TallySpec) -> str:
    what = text(f"tally.kind.{tally.kind}")
    if tally.model is not None:
        what = text("tally.of_tree", what=what, job=tally.model[:8])
    return text("tally.grows_no_tree", what=what)


def _taken(selection: SelectionSpec) -> str:
    return text(
        "tally.test_part" if selection.use == "test" else "tally.training_part",
        held=selection.last - selection.first,
        parts=selection.parts,
        seed=selection.seed,
        first=selection.first + 1,
        last=selection.last,
    )


def evaluation_schema(target: ClassSpec, places: int) -> SchemaSpec:
    """The schema of an evaluation: one attribute with a value a place, or several parts with one for the other parts.

    Args: target: the class of the tree's own schema.
    """
    parts = [range(places)]
    if places > MAX_VALUES:
        starts = range(0, places, _PLACES_A_PART)
        parts = [range(start, min(start + _PLACES_A_PART, places)) for start in starts]
    spare = [] if len(parts) == 1 else [ELSEWHERE]
    attributes = [
        AttributeSpec(name=_name(part, target.name), values=[*map(str, part), *spare]) for part in parts
    ]
    return SchemaSpec(attributes=attributes, class_=target)


def schema_asked(of_study: SchemaSpec, tally: TallySpec | None) -> SchemaSpec:
    """The schema of a job under a study: the study's own, but of an evaluation."""
    if tally is None or tally.places is None:
        return of_study
    return evaluation_schema(of_study.class_, tally.places)


def places_needed(tree: Tree, schema: Schema) -> int:
    """Places of a tree's evaluation: its nodes, and a class's answers by vote where missing values are fractional."""
    has_votes = any(attribute.is_fractional for attribute in schema.attributes)
    return tree.node_count + schema.class_count * has_votes


def counts_by_place(tables: Sequence[ContingencyTable], places: int) -> list[tuple[int, ...]]:
    """Records per true class of each of the first `places` places. Args: tables: of an `evaluation_schema`."""
    rows = [row for table in tables for row in (table.rows if len(tables) == 1 else table.rows[:-1])]
    return rows[:places]


def _name(part: range, taken: str) -> str:
    """A part's name, made to differ from the class's."""
    name = f"places {part.start} to {part[-1]}"
    return name if name != taken else f"{name} of the tree"
