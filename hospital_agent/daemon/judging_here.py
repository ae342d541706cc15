"""Reading the own records for a tree that is held against them at this hospital alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from hospital_agent.daemon.office import SNAPSHOTS, data_settings
from hospital_agent.journal import Journal, studies
from hospital_agent.keyring.selection_key import selection_key
from hospital_agent.models import Model
from hospital_agent.models.local_judging import comparison, local_document
from hospital_agent.records import DataSettings, open_source
from hospital_agent.records.derived_source import chosen_records, rows_of
from hospital_agent.records.matching import CodedRecords
from hospital_agent.records.selecting import Selector
from hospital_agent.records.snapshot import CodedSnapshot
from hospital_agent.records.walking import places_of
from hospital_agent.settings import AgentSettings
from shared.errors import InputError
from shared.protocol.participation import growth_kind, rules_of, schema_of
from shared.tree.model import Tree
from shared.wire.manifest import Manifest
from shared.wire.tally import SelectionSpec, Use


def judged_here(
    folder: Path, settings: AgentSettings, model: Model, records: str | None, *, own_tree: bool
) -> dict[str, Any]:
    """The tree's counts on this hospital's own records, and with `own_tree` those of the tree that they alone give.

    Args: folder: the agent's. records: test, train or all; None for those held out where the tree's job held some out.
    Raises: InputError: the records do not fit the study, none were held out, or mode gain-ratio's numbers.
    """
    manifest, tree, schema = model.manifest, model.shown_tree, model.schema
    with Journal.open(folder) as journal:
        data = replace(data_settings(settings.data), contract=studies.contract_of(journal, manifest.study))
    open_source(data, folder / SNAPSHOTS)  # refuses settings that name no records
    selection = _selection(manifest, records)
    chosen = chosen_records(data, schema, _selector(folder, selection))
    rows = rows_of(schema, chosen)
    places = places_of(tree, schema, rows)
    document = local_document(model, str(settings.id), selection, places, rows.classes)
    if not own_tree:
        return document
    alone = _own_tree(manifest, _training(folder, data, model, chosen))
    own_places = places_of(alone, schema, rows)
    return document | comparison(tree, places, alone, own_places, rows.classes, schema)


def _selection(manifest: Manifest, records: str | None) -> SelectionSpec | None:
    parted = manifest.selection
    if records == "all" or (records is None and parted is None):
        return None
    if parted is None:
        raise InputError(
            "no records were held out when this tree was grown",
            where="--records",
            remedy="Hold it against all of them with --records all, which is too good by nature.",
        )
    use: Use = "train" if records == "train" else "test"
    return parted.model_copy(update={"use": use})


def _selector(folder: Path, selection: SelectionSpec | None) -> Selector | None:
    return None if selection is None else Selector(selection, selection_key(folder))


def _training(folder: Path, data: DataSettings, model: Model, chosen: CodedRecords) -> CodedRecords:
    """The records that this hospital brought, or would have brought, to the tree."""
    parted = model.manifest.selection
    if parted is None:
        return chosen
    use: Use = "train"
    selector = _selector(folder, parted.model_copy(update={"use": use}))
    return chosen_records(data, model.schema, selector)


def _own_tree(manifest: Manifest, records: CodedRecords) -> Tree:
    growth = growth_kind(manifest)
    rules, schema = rules_of(manifest), schema_of(manifest)
    if any(attribute.fixed_point is not None for attribute in schema.attributes):
        raise InputError(
            "an own tree is grown on listed values and intervals, and this study compares numbers as they are",
            where="--own-tree",
            remedy="Leave --own-tree out.",
        )
    counter = CodedSnapshot("", records.codes.shape[1], (), schema, records.codes, records.numbers)
    grown = growth.start(schema, rules, bytes(32))
    while not grown.is_done:
        grown = grown.absorb(counter.count(grown.queries))
    return grown.tree
