"""The tree that a federation would grow, grown in this process from the records of all of its hospitals at once.

For records that nobody has to protect: synthetic ones, public ones. The rules and the arithmetic are those of a job
(`shared.tree`), so the tree is the same to the last bit; nothing is encrypted and nothing is sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, Literal

import numpy as np

from shared.errors import InputError
from shared.tree.counting import count_rows
from shared.tree.gain_ratio_growing import GainRatioRules, grow_by_gain_ratio
from shared.tree.growth_rules import GrowthRules
from shared.tree.growths import tree_growth
from shared.tree.merging import as_asked, merged
from shared.tree.model import Tree
from shared.tree.numeric import column_keys, grid_steps, numeric_columns, tree_of_layers
from shared.tree.prediction import value_code
from shared.tree.schema import Attribute, Schema
from shared.tree.thresholds import is_ordered

Mode = Literal["ppsdt", "id3", "gain-ratio"]
Row = tuple[int, ...]
_MISSING_TYPES = frozenset({"NAType", "NaTType"})


def grow_pooled(
    frames: Iterable[Any],
    schema: Schema,
    rules: GrowthRules,
    mode: Mode = "ppsdt",
    *,
    grid: Mapping[str, str] | None = None,
) -> Tree:
    """The tree of all records together, with its counts.

    Args: frames: a data frame for each hospital, with a column for each attribute and for the class; other columns are
        left out. mode: id3 grows as ppsdt does by information gain; gain-ratio grows a tree of the height `max_depth`.
        Pruning by collapse is, in both, that of their jobs: of subtrees whose leaves are all of one class.
        grid: of gain-ratio, by attribute the step that thresholds are rounded up to.
    Raises: InputError: a column is missing, or a field has no code in the schema; names the hospital's place among the
        frames and the column.
    """
    rows = [row for place, frame in enumerate(frames, start=1) for row in rows_of(frame, schema, place)]
    if not rows:
        raise InputError("expected at least one record", where="frames", remedy="Give frames with records.")
    if mode == "gain-ratio":
        return _grow_numbers(rows, schema, rules, grid or {})
    measured = [attribute.name for attribute in schema.attributes if attribute.fixed_point is not None]
    if measured:
        raise InputError(
            f"mode {mode} compares no numbers as they are",
            where=f"attribute {measured[0]!r}",
            remedy="Give it cut points, or choose mode gain-ratio.",
        )
    collapses = mode == "id3" and rules.pruning is not None and rules.pruning.method == "collapse"
    if collapses:
        return merged(_grow_codes(rows, schema, replace(rules, pruning=None)))
    return _grow_codes(rows, schema, rules)


def _grow_codes(rows: Sequence[Row], schema: Schema, rules: GrowthRules) -> Tree:
    if rules.thresholds is not None:
        _check_thresholds(schema)
    growth = tree_growth(schema, rules).start(schema, rules, bytes(32))
    while not growth.is_done:
        growth = growth.absorb(count_rows(rows, growth.queries, schema))
    return growth.tree


def _check_thresholds(schema: Schema) -> None:
    """Whether a job with thresholds takes this schema. Raises: InputError: it does not."""
    if not any(map(is_ordered, schema.attributes)):
        raise InputError("no attribute has an order: give one cut points, or treat_as", where="thresholds")


def rows_of(frame: Any, schema: Schema, place: int = 1) -> list[Row]:
    """The codes of a frame's records, the class last. Raises: InputError: as `grow_pooled`."""
    target = Attribute(schema.class_name, schema.classes)
    missing = [each.name for each in (*schema.attributes, target) if each.name not in frame.columns]
    if missing:
        raise InputError(
            f"no column {missing[0]!r} ({len(missing)} missing in all)",
            where=f"frame {place}",
            remedy="Give every frame a column for each attribute of the schema and for its class.",
        )
    columns = [_codes(frame[each.name], each, place) for each in (*schema.attributes, target)]
    return list(zip(*columns, strict=True))


def _codes(column: Any, attribute: Attribute, place: int) -> list[int]:
    known: dict[tuple[type, Any], int] = {}
    found = []
    for value in column.tolist():
        key = (type(value), value)
        if key not in known:
            known[key] = _code(value, attribute, place)
        found.append(known[key])
    return found


def _code(value: Any, attribute: Attribute, place: int) -> int:
    where, name = f"frame {place}, column {attribute.name!r}", type(value).__name__
    is_missing = value is None or name in _MISSING_TYPES or value != value
    try:
        code, reason = value_code(attribute, None if is_missing else value)
    except InputError as error:
        raise InputError(str(error), where=where) from None
    if code is None:
        said = {"missing": "an empty field, and the schema has no value for it"}
        raise InputError(
            said.get(reason, "a value that the schema does not list"),
            where=where,
            remedy="Correct the field, or list the value in the schema.",
        )
    return code


def _grow_numbers(rows: Sequence[Row], schema: Schema, rules: GrowthRules, grid: Mapping[str, str]) -> Tree:
    bounds = GainRatioRules.of(rules)
    places = {attribute.name: place for place, attribute in enumerate(schema.attributes)}
    unknown = [name for name in grid if name not in places]
    if unknown:
        raise InputError("the schema has no such attribute", where=f"grid {unknown[0]!r}")
    columns = numeric_columns(schema)
    *codes, labels = np.array(rows, dtype=np.int64).reshape(-1, len(schema.attributes) + 1).T
    steps = grid_steps(schema, columns, {places[name]: Decimal(step) for name, step in grid.items()})
    layers = grow_by_gain_ratio(
        column_keys(columns, codes), labels, schema.class_count, replace(bounds, grid=steps)
    )
    return as_asked(tree_of_layers(layers, schema, columns), rules.pruning)
