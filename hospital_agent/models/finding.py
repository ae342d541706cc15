"""Which model is meant: a name, `latest`, `study:ID`, an id or its beginning. One rule for every command.

The desk of the local API follows the same rule with models that it keeps read.
"""

from __future__ import annotations

from hospital_agent.models.model import Model
from hospital_agent.models.names import LATEST, STUDY_PREFIX, Change, Name, Standing
from hospital_agent.models.shelf import Shelf
from shared.errors import InputError


def model_meant(shelf: Shelf, standing: Standing, wanted: str | None) -> Model:
    """The model, verified; of a name its champion. None: the newest whose tree is here.

    Raises: InputError: no such model, several, or it is not the one that was pinned. UnknownModelError.
    """
    known = None if wanted is None else standing.names.get(wanted)
    if known is not None:
        return _pinned(shelf, known)
    if wanted is None or wanted == LATEST:
        return shelf.get(shelf.newest())
    if wanted.startswith(STUDY_PREFIX):
        return _newest_of(shelf, wanted.removeprefix(STUDY_PREFIX))
    return shelf.get(shelf.find(wanted))


def check_pinned(name: str, now: Change, model: str, attested_sha256: str | None) -> None:
    """Args: model: the champion or the candidate. attested_sha256: of it. Raises: InputError: another was pinned."""
    pinned = now.tree_sha256 if model == now.model else now.candidate_sha256
    if pinned is not None and attested_sha256 != pinned:
        raise InputError(
            "the model is not the one that was pinned: its tree has another hash",
            where=f"name {name}",
            remedy="Restore the model from a backup, or pin it again after you have looked at it.",
        )


def cannot_answer(name: str, why: InputError) -> InputError:
    """The model that was pinned under a name is not here, or does not verify."""
    return InputError(
        f"the model that was pinned cannot answer: {why}",
        where=f"name {name}",
        remedy="Bring it back, or let another answer: privet agent models rollback DIR NAME, or pin.",
    )


def no_model_of(study: str) -> InputError:
    """No model of a study is here whose tree is."""
    return InputError(
        "this hospital has no model with a tree of that study",
        where=f"study {study}",
        remedy="See `privet agent models list DIR`.",
    )


def _pinned(shelf: Shelf, known: Name) -> Model:
    try:
        model = shelf.get(known.now.model)
    except InputError as error:
        raise cannot_answer(known.name, error) from None
    check_pinned(known.name, known.now, model.id, model.attested_sha256)
    return model


def _newest_of(shelf: Shelf, study: str) -> Model:
    for job in reversed(shelf.ids()):
        model = shelf.get(job)
        if model.tree is not None and model.manifest.study == study:
            return model
    raise no_model_of(study)
