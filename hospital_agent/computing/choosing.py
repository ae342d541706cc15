"""Which way of computing a job's manifest asks for."""

from __future__ import annotations

from hospital_agent.computing.assignment import Assignment
from hospital_agent.computing.gain_ratio import PredictionMode, Study, TrainingMode
from hospital_agent.computing.id3 import Id3Mode
from hospital_agent.computing.modes import SecretMode
from hospital_agent.models import Shelf, get_shares
from shared.errors import InputError, InternalError
from shared.protocol.participation import rules_of, schema_of
from shared.secure_tree.secret_id3_layout import Layout
from shared.tree.criteria import F_TABLE_CHECKED, SCALE_BITS
from shared.tree.f_table import f_table, f_table_hash
from shared.wire.manifest import Manifest


def mode_of(assignment: Assignment, shelf: Shelf) -> SecretMode:
    """The mode of a job. Args: shelf: where shared trees of earlier jobs are kept.

    Raises: InputError: the job asks for what it cannot have here. InternalError: see `check_table`.
    """
    manifest, secret, total = assignment.manifest, assignment.secret, assignment.total_records
    schema = schema_of(manifest)
    if assignment.index is not None:
        check_table(manifest)
    if manifest.profile == "secret-id3":
        return Id3Mode(schema, rules_of(manifest), total, secret.open_empty)
    study = Study.of(manifest, schema, total)
    if secret.purpose == "train":
        return TrainingMode(study, frozenset(a for a in assignment.records if secret.receives(a)))
    tree = None
    if assignment.index is not None:
        check_model(manifest, shelf)
        tree = get_shares(shelf.folder, str(secret.model))
    return PredictionMode(study, assignment.records, tree)


def check_offer(manifest: Manifest, own: str, shelf: Shelf) -> None:
    """Whether this agent can take the part that an offered secret job gives it.

    Raises: InputError: the mode cannot work with the study, or the shared tree that is asked for is not here.
    """
    secret = manifest.secret
    if secret is None:
        return
    if manifest.profile == "secret-id3":
        Layout.of(schema_of(manifest), 0, rules_of(manifest).class_weights)
        return
    Study.of(manifest, schema_of(manifest), 0)
    if secret.purpose == "predict" and own in secret.compute_parties:
        check_model(manifest, shelf)


def check_table(manifest: Manifest) -> None:
    """Whether the trainers' table is the one that the manifest names, in all entries that its hash covers (section 4).

    Raises: InternalError: this program computes it otherwise, and would grow another tree than the others.
    """
    if f_table_hash(f_table(F_TABLE_CHECKED, SCALE_BITS)) != manifest.f_table_sha256:
        raise InternalError(
            "the table of x log2 x is not the one of the manifest; the job cannot be computed here"
        )


def check_model(manifest: Manifest, shelf: Shelf) -> None:
    """Whether the shared tree that a job asks is here, and is asked as it was grown: same parties, columns and height.

    Another study is another agreement: how often a tree is asked is for the document under which it grew.

    Raises: InputError.
    """
    secret = manifest.secret
    if secret is None or secret.model is None:
        return
    grown = shelf.get(secret.model).manifest
    if grown.study != manifest.study:
        raise InputError(
            f"the job of study {manifest.study} asks a tree of study {grown.study}",
            where=f"model {secret.model}",
            remedy="Ask the tree in the study that grew it; its document says how often.",
        )
    same = (
        grown.secret is not None
        and grown.secret.compute_parties == secret.compute_parties
        and (grown.schema_, grown.max_depth) == (manifest.schema_, manifest.max_depth)
    )
    if not same:
        raise InputError(
            "the job asks the tree with other compute parties, another schema or another max_depth than it has",
            where=f"model {secret.model}",
            remedy="Plan the job under the same study, with the compute parties and max_depth of the tree's own job.",
        )
    get_shares(shelf.folder, secret.model)
