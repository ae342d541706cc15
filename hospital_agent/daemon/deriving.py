"""The records of jobs that take a part of them, or that ask where they end in a tree of this hospital's shelf."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hospital_agent.daemon.office import SNAPSHOTS, Office
from hospital_agent.keyring.selection_key import selection_key
from hospital_agent.models import Shelf
from hospital_agent.records import DataSettings, RecordSource
from hospital_agent.records.derived_source import AskedTree, DerivedSource
from hospital_agent.records.selecting import Selector
from shared.errors import InputError
from shared.protocol.tallies import places_needed, schema_asked
from shared.wire.manifest import Manifest


def source_for(office: Office, manifest: Manifest) -> RecordSource:
    """The records that a job is about, not yet read."""
    directory = office.folder / SNAPSHOTS
    data, whole = office.data_for(manifest.study), office.records_for(manifest)
    least = office.policy.min_child
    return derived_source(manifest, data, office.folder, directory, lambda: office.shelf, least) or whole


def derived_source(
    manifest: Manifest,
    data: DataSettings,
    folder: Path,
    directory: Path,
    shelf: Callable[[], Shelf],
    least: int = 1,
) -> DerivedSource | None:
    """The source of such a job; None for a job about all records as they are.

    Args: folder: the agent's. directory: of the snapshots. shelf: where an evaluation's tree is, asked at its freeze.
        least: records on either side of a selection; this hospital's own number, for with the job's a few jobs that
        ask for more and more would tell the cloud, by who declines, how many records each hospital has.
    """
    evaluates = manifest.tally is not None and manifest.tally.kind == "evaluation"
    if not evaluates and manifest.selection is None:
        return None
    selector = (
        None if manifest.selection is None else Selector(manifest.selection, selection_key(folder), least)
    )
    asked = (lambda: asked_tree(manifest, shelf())) if evaluates else None
    return DerivedSource(data, directory, selector, asked)


def asked_tree(manifest: Manifest, shelf: Shelf) -> AskedTree:
    """The tree that an evaluation names.

    Raises: InputError: it is not here, is another one, of another study, or the job's schema is not made for it.
    """
    tally = manifest.tally
    if tally is None or tally.model is None or tally.model not in shelf.ids():
        raise InputError(
            "the job evaluates a tree that this hospital does not have",
            where=f"model {tally and tally.model}",
            remedy="Only hospitals that took part in growing a tree can take part in its evaluation.",
        )
    model = shelf.get(tally.model)
    tree, own = model.shown_tree, model.manifest
    wrong = [
        (model.tree_sha256 != tally.tree_sha256, "it names another tree of that job"),
        (own.study != manifest.study, "the tree is of another study"),
        (_parts_otherwise(manifest, own), "it parts the records otherwise than the tree's own job"),
        (places_needed(tree, model.schema) > (tally.places or 0), "it has fewer places than the tree"),
        (manifest.schema_ != schema_asked(own.schema_, tally), "its schema is not that of the tree's places"),
    ]
    reason = next((text for broken, text in wrong if broken), None)
    if reason is not None:
        raise InputError(
            f"the evaluation does not fit the tree: {reason}",
            where=f"model {tally.model}",
            remedy="Have the coordinator start it anew with `privet cloud job create --evaluate JOB`.",
        )
    return tree, model.schema


def _parts_otherwise(manifest: Manifest, grown: Manifest) -> bool:
    """Then records that the tree was grown on would pass for held out, and fresh parts could be asked without end."""
    asked, own = manifest.selection, grown.selection
    return asked is not None and (own is None or asked != own.model_copy(update={"use": asked.use}))
