"""From a public file to its tree, by the commands that a data steward types.

`privet data draft` makes the contract (two hospitals' drafts go through `merge`), `check` holds the file against it,
three hospitals' parts are frozen as an agent freezes them, and the tree grows from the sums of their counts (modes
PPSDT and id3), or from all their rows (mode gain-ratio), which is what the encrypted jobs compute.
"""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hospital_agent.records import open_source
from hospital_agent.records.source import DataSettings, Snapshot
from privet.__main__ import run
from shared.contract.files import contract_of
from shared.contract.schema import schema_of_contract
from shared.tree.gain_ratio_growing import GainRatioRules, grow_by_gain_ratio
from shared.tree.growing import grow
from shared.tree.growth_rules import Criterion, GrowthRules
from shared.tree.model import Tree
from shared.tree.numeric import column_keys, numeric_columns, tree_of_layers
from shared.tree.schema import Schema
from shared.wire.contract import DataContract
from tests.support.public_files import HOSPITALS, RECIPES, Recipe, dealt_lines, fields_of
from tests.support.reference_data import TREES

Codes = NDArray[np.int64]
_DUCKDB = "duckdb://"


class NotByItselfError(Exception):
    """A command did not end as it should: its words and what it said."""


@dataclass(frozen=True, slots=True)
class Way:
    """One file on its way: the contract, the schema, and what each hospital froze.

    `parts`: the hospitals' files. `advised`: codes of what inspect found, of weight look or more.
    """

    name: str
    recipe: Recipe
    contract: DataContract
    schema: Schema
    snapshots: tuple[Snapshot, ...] = field(repr=False)
    parts: tuple[Path, ...]
    contract_file: Path
    advised: tuple[str, ...]

    @property
    def rows(self) -> int:
        """Of all hospitals."""
        return sum(snapshot.row_count for snapshot in self.snapshots)

    def counted(self, criterion: Criterion) -> Tree:
        """The whole tree by a criterion, from the sums of the hospitals' counts."""
        rules = GrowthRules(criterion, min_node=1, min_child=1, max_depth=None)
        return grow(
            self.schema,
            rules,
            lambda queries: [
                sum(cells)
                for cells in zip(*(snapshot.count(queries) for snapshot in self.snapshots), strict=True)
            ],
        ).tree

    def codes(self) -> tuple[list[Codes], Codes]:
        """All rows: of each attribute its codes, and the classes."""
        parts = [snapshot.rows() for snapshot in self.snapshots]
        attributes = [
            np.concatenate(columns).astype(np.int64)
            for columns in zip(*(part.attributes for part in parts), strict=True)
        ]
        return attributes, np.concatenate([part.classes for part in parts]).astype(np.int64)


def prepare(name: str, folder: Path) -> Way:
    """All steps from the files to frozen records. Raises: NotByItselfError."""
    recipe = RECIPES[name]
    drafts, advised = [], []
    for index, path in enumerate(recipe.paths):
        drafts.append(folder / f"draft-{index}.json")
        made = command("draft", *source_words(recipe, path), *draft_words(recipe), "-o", str(drafts[-1]))
        advised += [one["code"] for one in made["findings"] if one["weight"] in ("act", "look", "stop")]
    contract_file = drafts[0]
    if len(drafts) > 1:
        contract_file = folder / "contract.json"
        command("merge", *map(str, drafts), "-o", str(contract_file))
    contract = contract_of(json.loads(contract_file.read_text()), "contract")
    schema = schema_of_contract(contract)
    snapshots = []
    for path in recipe.paths:
        command("check", str(contract_file), *source_words(recipe, path))
    parts = written_parts(recipe, folder)
    for part in parts:
        source = open_source(settings_of(recipe, part, contract), folder / f"{part.stem}-frozen")
        snapshots.append(source.freeze(schema, bytes(16)))
    return Way(
        name,
        recipe,
        contract,
        schema,
        tuple(snapshots),
        tuple(parts),
        contract_file,
        tuple(dict.fromkeys(advised)),
    )


def merged_of_parts(name: str, folder: Path) -> Schema:
    """The schema of the contract that three hospitals' own drafts make, which all their records fit."""
    recipe, drafts = RECIPES[name], []
    parts = written_parts(recipe, folder)
    for part in parts:
        drafts.append(folder / f"{part.stem}-own.json")
        command("draft", *source_words(recipe, part), *draft_words(recipe), "-o", str(drafts[-1]))
    merged = folder / "merged.json"
    command("merge", *map(str, drafts), "-o", str(merged))
    for part in parts:
        command("check", str(merged), *source_words(recipe, part))
    return schema_of_contract(contract_of(json.loads(merged.read_text()), "merged"))


def draft_words(recipe: Recipe) -> list[str]:
    """The options of `privet data draft` beside the records and the output."""
    names = names_of(recipe)
    return [
        *("--class", recipe.class_words),
        *(["--derive", str(recipe.derive)] if recipe.derive else []),
        *(["--names", ",".join(names)] if names else []),
        *recipe.options,
        *("--floor", "1"),
    ]


def names_of(recipe: Recipe) -> list[str] | None:
    """The reference's names for the columns of a file without header, in the file's order.

    Columns that the reference leaves out are those of `--drop`, and else the first one, an identifier.
    """
    if recipe.names:
        return list(recipe.names)
    if recipe.reference is None or recipe.query or Path(recipe.files[0]).suffix in (".arff", ".csv"):
        return None
    document = reference_of(recipe.reference, "gain-ratio")
    options = recipe.options
    dropped = {int(options[place + 1]) for place, word in enumerate(options) if word == "--drop"}
    positions = range(1, len(fields_of(recipe.paths[0])[0]) + 1)
    free = [position for position in positions if position not in dropped | {recipe.target}]
    free = free[len(free) - len(document["attributes"]) :]
    named = dict(zip(free, document["attributes"], strict=True)) | {recipe.target: document["class_column"]}
    return [named.get(position, f"left out {position}") for position in positions]


def reference_of(name: str, criterion: str) -> dict[str, Any]:
    """A reference tree's document."""
    document: dict[str, Any] = json.loads((TREES / f"{name}.{criterion}.json").read_text(encoding="utf-8"))
    return document


def source_words(recipe: Recipe, path: Path) -> list[str]:
    """How the records of a file are named on the command line."""
    if recipe.query is None:
        return [str(path)]
    return ["--set", f"url={_DUCKDB}", "--set", f"query={recipe.query.format(file=path)}"]


def written_parts(recipe: Recipe, folder: Path) -> list[Path]:
    """Three hospitals' files. Of two files the first is dealt to two hospitals, and the second is the third's."""
    texts = dealt_lines(recipe.paths[0], recipe.target)
    if len(recipe.files) > 1:
        lines = recipe.paths[0].read_bytes().splitlines(keepends=True)
        texts = [b"".join(lines[:40]), b"".join(lines[40:]), recipe.paths[1].read_bytes()]
    parts = [folder / f"{hospital}{recipe.paths[0].suffix}" for hospital in HOSPITALS]
    for part, text in zip(parts, texts, strict=True):
        part.write_bytes(text)
    return parts


def settings_of(recipe: Recipe, path: Path, contract: DataContract) -> DataSettings:
    """What a hospital with this part says of it in `[data]`."""
    if recipe.query is None:
        target = None if recipe.derive else recipe.target
        return DataSettings(path=path, contract=contract, class_column=target)
    return DataSettings(url=_DUCKDB, query=recipe.query.format(file=path), contract=contract)


def command(*arguments: str) -> dict[str, Any]:
    """`privet data ...` with `--json`. Raises: NotByItselfError: another exit code than 0."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = run(["data", *arguments, "--json"])
    if code != 0:
        raise NotByItselfError(f"privet data {' '.join(arguments)}: {code}\n{out.getvalue()}")
    document: dict[str, Any] = json.loads(out.getvalue())
    return document


def tree_of_numbers(schema: Schema, attributes: Sequence[Codes], classes: Codes) -> Tree:
    """Mode gain-ratio in the clear, to its full height."""
    columns = numeric_columns(schema)
    keys = column_keys(columns, attributes)
    layers = grow_by_gain_ratio(keys, classes, schema.class_count, GainRatioRules(max(1, classes.size)))
    return tree_of_layers(layers, schema, columns)
