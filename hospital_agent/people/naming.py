"""Which version answers under a name: pinned, tried, promoted, taken back, by a person of this hospital.

Every act is kept with who did it, in the file of names and in the audit chain; a running agent notices at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from hospital_agent.journal import Journal
from hospital_agent.models import Model, Shelf
from hospital_agent.models.finding import model_meant
from hospital_agent.models.names import STUDY_PREFIX, Change, Name, Names, check_name, check_share
from shared.errors import InputError

WORDS_CHARACTERS: int = 1000
"""Of this hospital on what a model is for."""


@dataclass(frozen=True, slots=True)
class Naming:
    """One person at work. `by`: whom the names and the chain call so."""

    folder: Path
    shelf: Shelf = field(repr=False)
    by: str
    clock: Callable[[], float] = time.time

    def find(self, name: str) -> Name:
        """What a name points to. Raises: InputError: no such name."""
        return self._names.find(name)

    def pin(self, name: str, wanted: str) -> Name:
        """Let one model answer under a name; a trial under it ends.

        Raises: InputError: no such model, no name, or programs that ask by the name would get answers of another kind.
        """
        check_name(name)
        model, known = self.asked(wanted), self._answering(name)
        if known is not None:
            _check_same_question(known, model, name)
        return self._changed(name, "pinned", model)

    def try_out(self, name: str, wanted: str, share: str) -> Name:
        """Put a candidate on trial beside the model that answers.

        Args: share: of requests that it answers, as `check_share`.
        Raises: InputError: it answers already, it predicts something else, or no such name or model.
        """
        candidate, checked = self.held(wanted), check_share(share)
        champion = self.held(self.find(name).now.model)
        if candidate.id == champion.id:
            raise InputError("that model answers already", where=f"name {name}", remedy="Name another model.")
        _check_same_question(champion, candidate, name)
        return self._changed(name, "canary", champion, candidate, checked)

    def promote(self, name: str) -> Name:
        """Let the candidate answer everything. Raises: InputError: none is on trial."""
        now = self.find(name).now
        if now.candidate is None:
            raise InputError(
                "no candidate is on trial",
                where=f"name {name}",
                remedy="Begin with `privet agent models canary`.",
            )
        return self._changed(name, "promoted", self.held(now.candidate))

    def roll_back(self, name: str) -> Name:
        """End the trial if one runs; else let the model answer that did before this one.

        Raises: InputError: there was none, or it is gone.
        """
        known = self.find(name)
        if known.now.candidate is not None:
            return self._changed(name, "trial ended", self.asked(known.now.model))
        before = known.before
        if before is None:
            raise InputError(
                "no other model was pinned before",
                where=f"name {name}",
                remedy="See `privet agent models history`; `pin` lets any model answer.",
            )
        return self._changed(name, "rolled back", self.asked(before.model))

    def unpin(self, name: str) -> str:
        """Remove a name; the model that answered under it, which stays. Raises: InputError: no such name."""
        names = self._names
        model = names.find(name).now.model
        names.drop(name)
        self._record("model_unpinned", name=name, model=model)
        return model

    def describe(self, wanted: str, words: str) -> tuple[str, str]:
        """Say what a model is for and what not; its id and the words as kept. Empty ones remove what was said.

        Raises: InputError: no such model, too long, or not printable.
        """
        text = " ".join(words.split())
        if len(text) > WORDS_CHARACTERS or not text.isprintable():
            raise InputError(
                f"expected up to {WORDS_CHARACTERS} printable characters", where="--intended-use"
            )
        model = self.held(wanted).id
        self._names.describe(model, text)
        self._record("model_described", model=model)
        return model, text

    def remove(self, job: str) -> None:
        """Delete a model, altered or not. Args: job: its id. Raises: InputError: it answers under a name."""
        names = self._names.pointing_to(job)
        if names:
            raise InputError(
                f"it answers under {', '.join(names)}",
                where=f"model {job}",
                remedy="First let another answer: privet agent models pin, rollback or unpin.",
            )
        self.shelf.remove(job)
        self._record("model_removed", model=job)

    def held(self, wanted: str) -> Model:
        """A model whose tree is here. Raises: InputError."""
        found = model_meant(self.shelf, self._names.read(), wanted)
        _ = found.shown_tree
        return found

    def asked(self, wanted: str) -> Model:
        """A model that can be asked: its tree is here, or stays shared and is asked by jobs. Raises: InputError."""
        found = model_meant(self.shelf, self._names.read(), wanted)
        return found if found.stays_shared else self.held(found.id)

    def _answering(self, name: str) -> Model | None:
        """What answers by this name now: pinned, or the newest of its study. None: nothing that is whole."""
        names = self._names.read()
        if name not in names.names and not name.startswith(STUDY_PREFIX):
            return None
        try:
            return model_meant(self.shelf, names, name)
        except InputError:  # one that cannot answer any more keeps nobody from naming another
            return None

    @property
    def _names(self) -> Names:
        return Names(self.folder, self.clock)

    def _changed(
        self, name: str, act: str, model: Model, candidate: Model | None = None, share: str = "0"
    ) -> Name:
        check_name(name)
        tree = str(model.attested_sha256)
        tried = (None, None) if candidate is None else (candidate.id, str(candidate.attested_sha256))
        change = Change(int(self.clock()), self.by, act, model.id, tree, tried[0], share, tried[1])
        changed = self._names.change(name, change)
        self._record(
            f"model_{act.replace(' ', '_')}", name=name, model=model.id, tree_sha256=tree, candidate=tried[0],
            share=share,
        )  # fmt: skip
        return changed

    def _record(self, kind: str, **details: object) -> None:
        with Journal.open(self.folder) as journal, journal.transaction():
            journal.record(kind, **details, by=self.by)


def predicts_the_same(one: Model, other: Model) -> bool:
    """Whether one may take the other's place: what they predict has one name and the same classes."""
    first, second = one.schema, other.schema
    return (first.class_name, first.classes) == (second.class_name, second.classes)


def _check_same_question(champion: Model, other: Model, name: str) -> None:
    """Raises: InputError: two models that predict other classes, or another thing altogether."""
    if not predicts_the_same(champion, other):
        raise InputError(
            f"it predicts something else than the model that answers under {name}, and programs would not notice",
            where=f"model {other.id}",
            remedy="Pin it under a name of its own.",
        )
