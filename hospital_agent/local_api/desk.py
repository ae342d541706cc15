"""Where every question about a patient is answered: by the right version, counted, and noted.

Pages, clinical conventions and plain REST all ask here, so that none of them is left out of the counters and the log.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from hospital_agent.local_api.library import Library
from hospital_agent.local_api.problems import RefusedError
from hospital_agent.local_api.rates import Rates
from hospital_agent.local_api.secret_desk import SecretDesk, question_document
from hospital_agent.models import Answers, Record, description, summary
from hospital_agent.models.card import card_of, undescribed
from hospital_agent.models.counters import Counters
from hospital_agent.models.finding import cannot_answer, check_pinned
from hospital_agent.models.gauges import worst
from hospital_agent.models.names import LATEST, STUDY_PREFIX, Change, Names, Standing
from hospital_agent.models.predictions_log import PredictionsLog
from hospital_agent.models.questions import Question
from hospital_agent.models.watching import Watch
from shared.errors import InputError
from shared.texts import text
from shared.tree.answering import Answer

_STATES_SECONDS: Final = 10.0
_ONLY: Final = "only"


@dataclass(frozen=True, slots=True)
class Asked:
    """What was answered. `role`: champion or candidate of a name, or `only` where nothing else could have answered."""

    answers: Answers
    head: Mapping[str, Any] = field(repr=False)
    head_text: str = field(repr=False)
    found: Sequence[Answer] = field(repr=False)
    role: str
    name: str | None

    def document(self) -> dict[str, Any]:
        """The answer as plain JSON."""
        return {**self.head, "predictions": [dict(answer.document) for answer in self.found]}

    def text(self) -> str:
        """The same as JSON's text, from parts that were written before."""
        return f'{self.head_text}, "predictions": [{", ".join([answer.text for answer in self.found])}]}}'


class StaysSharedError(InputError):
    """The model's tree is shared among the compute parties: a job answers. `records`: in the study's words.

    Doors that cannot wait for a job answer it as any other error.
    """

    def __init__(self, answers: Answers, records: Sequence[Record]) -> None:
        super().__init__(
            "the tree stays shared among the compute parties, no hospital sees it",
            where=f"model {answers.model.id}",
            remedy="POST /v1/models/{id}/predict asks it by a job, where the cloud allows it.",
        )
        self.answers, self.records = answers, records


@dataclass(slots=True)
class Desk:
    """`names`, `counters`, `log`: None where nothing is kept (a server without a folder).

    `states`: this hospital's answers to studies, by study; asked now and then.
    """

    library: Library
    names: Names | None = None
    counters: Counters | None = None
    log: PredictionsLog | None = None
    states: Callable[[], Mapping[str, str]] = dict
    clock: Callable[[], float] = lambda: 0.0
    rates: Rates | None = None
    secret: SecretDesk | None = None
    _heads: dict[tuple[object, ...], tuple[dict[str, Any], str]] = field(default_factory=dict, repr=False)
    _states: tuple[float, Mapping[str, str]] | None = field(default=None, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def ask(
        self,
        wanted: str | None,
        records: Sequence[Record],
        *,
        caller: str,
        key: str | None = None,
        in_study_words: bool = False,
    ) -> Asked:
        """Answer records in this hospital's words or the study's.

        Args: wanted: a name, a model's id or its beginning, `latest` or None for the newest. caller: for the log. key:
            what keeps a request with one version during a trial; None: the records themselves. in_study_words: the
            records need no data contract, such as those that a FHIR mapping made, whatever units are used here.
        Raises: InputError: no such model, or as `Answers.document`. RefusedError: too many requests, or no log can be
            written. StaysSharedError.
        """
        if self.rates is not None:
            self.rates.take(caller)
        standing = self._standing()
        name, now = self._named(standing, wanted)
        if now is None:
            answers, role = self._unnamed(wanted), _ONLY
        else:
            chosen = now.model
            if now.candidate is not None:
                chosen = standing.answers_by(now, _key(key, records))
            role = "candidate" if chosen == now.candidate else "champion"
            answers, role = self._version(name or "", now, role, records, in_study_words=in_study_words)
        read = answers.in_words(records, in_study_words=in_study_words)
        if answers.book is None and self.secret is not None and answers.model.stays_shared:
            raise StaysSharedError(answers, read)
        found = answers.ask(read)
        self._count(answers, standing, read, found)
        if now is not None and now.candidate is not None and name is not None:
            self._compare(name, now, role, records, found, in_study_words=in_study_words)
        self._note(caller, answers, answers.head["tree_sha256"], role, len(found))
        head, text = self._head(answers, standing, name, role)
        return Asked(answers, head, text, found, role, name)

    def ask_shared(self, asked: StaysSharedError, *, caller: str, wait: float) -> Question:
        """Have a job answer. Raises: InputError, RefusedError: as `SecretDesk.ask`."""
        if self.secret is None:
            raise InputError("no job can be started here", where=f"model {asked.answers.model.id}")
        question = self.secret.ask(asked.answers, asked.records, caller=caller)
        self._note(caller, asked.answers, None, "shared", len(asked.records))
        return self.secret.look(question.id, wait) or question

    def shared_answer(self, question_id: str, wait: float) -> Question:
        """Where a question to a shared tree stands. Raises: RefusedError: 404, there is none (any more)."""
        question = None if self.secret is None else self.secret.look(question_id, wait)
        if question is None:
            raise RefusedError(
                404, "not_found", "There is no such question, or its answer was kept for an hour and is gone."
            )
        return question

    def shared_document(self, question: Question) -> dict[str, Any]:
        """The same for programs, with notice and intended use."""
        try:
            answers = self.library.answers(question.model)
        except InputError:  # the model was removed meanwhile; what was answered stays answered
            return question_document(question, {})
        head, _ = self._head(answers, self._standing(), None, "only")
        return question_document(question, head)

    def close(self) -> None:
        """Write what was counted."""
        if self.counters is not None:
            with suppress(OSError):  # a full disk loses the last seconds' counts, nothing else
                self.counters.close()
        if self.log is not None:
            self.log.close()

    def find(self, wanted: str | None) -> Answers:
        """The model of a name (its champion), an id, its beginning, `latest`. Raises: InputError."""
        name, now = self._named(self._standing(), wanted)
        return self._unnamed(wanted) if now is None else self._pinned(name or "", now, now.model)

    def card(self, wanted: str | None) -> dict[str, Any]:
        """The model's card. Raises: InputError: no such model."""
        model = self.find(wanted).model
        card = card_of(model, self._standing().uses.get(model.id), self.library.evaluations(model))
        return card | self._caution(model.manifest.study)

    def drift(self, wanted: str | None, since: int | None = None) -> dict[str, Any]:
        """What the model was asked against what it was trained on. Args: since: from this week on (Unix seconds).

        Raises: InputError: no such model, or no tree.
        """
        answers = self.find(wanted)
        watch = self._watch(answers, self._standing())
        if watch is None:
            raise InputError("this server counts nothing", where=f"model {answers.model.id}")
        if self.counters is None:
            return {}
        with self.counters.lock:
            told = {"model": answers.model.id, "tree_sha256": answers.model.tree_sha256, **watch.told(since)}
        self._keep()
        return told

    def _keep(self) -> None:
        """What is shown once is not taken back, whatever becomes of this process."""
        if self.counters is not None:
            with suppress(OSError):
                self.counters.flush()

    def drift_states(self) -> list[str]:
        """For metrics: the word for every model that was asked since the start."""
        if self.counters is None:
            return []
        with self.counters.lock:
            return [worst(gauge.state for gauge in watch.gauges) for watch in self.counters.watches.values()]

    def named(self) -> list[dict[str, Any]]:
        """All names and what they point to, with the trials that run."""
        names = self._standing().names.values()
        return [known.document() | {"trial": self._trial(known.name, known.now)} for known in names]

    def history(self, name: str) -> list[Change]:
        """All acts on a name that are kept, oldest first. Raises: InputError: no such name."""
        return [] if self.names is None else list(self.names.find(name).changes)

    def models(self) -> list[dict[str, Any]]:
        """Every model, oldest first, with the names under which it answers."""
        standing = self._standing()
        return [self._listed(self.library.answers(job), standing) for job in self.library.shelf.ids()]

    def describe(self, wanted: str) -> dict[str, Any]:
        """One model with its schema and its tree. Raises: InputError: no such model."""
        answers = self.find(wanted)
        return description(answers.model) | self._listed(answers, self._standing())

    def _listed(self, answers: Answers, standing: Standing) -> dict[str, Any]:
        model = answers.model
        names = [
            known for known in standing.names.values() if model.id in (known.now.model, known.now.candidate)
        ]
        return {
            **summary(model),
            "names": [
                {"name": k.name, "role": "champion" if k.now.model == model.id else "candidate"}
                for k in names
            ],
            "intended_use": standing.uses.get(model.id),
            **self._caution(model.manifest.study),
        }

    def _standing(self) -> Standing:
        return Standing(b"", {}, {}, {}) if self.names is None else self.names.read()

    def _named(self, standing: Standing, wanted: str | None) -> tuple[str | None, Change | None]:
        known = None if wanted is None else standing.names.get(wanted)
        return (None, None) if known is None else (known.name, known.now)

    def _unnamed(self, wanted: str | None) -> Answers:
        if wanted is None or wanted == LATEST:
            return self.library.newest()
        if wanted.startswith(STUDY_PREFIX):
            return self.library.newest(wanted.removeprefix(STUDY_PREFIX))
        return self.library.answers(wanted)

    def _version(
        self, name: str, now: Change, role: str, records: Sequence[Record], *, in_study_words: bool
    ) -> tuple[Answers, str]:
        """The version of a role; the champion where the candidate cannot answer, since a trial must harm nobody."""
        if role == "candidate" and now.candidate is not None:
            try:
                candidate = self._pinned(name, now, now.candidate)
                candidate.ask(candidate.in_words(records, in_study_words=in_study_words))
            except InputError:
                role = "champion"
            else:
                return candidate, role
        return self._pinned(name, now, now.model), role

    def _pinned(self, name: str, now: Change, model: str) -> Answers:
        """The very model that was pinned; never another one in its place."""
        try:
            answers = self.library.answers(model)
        except InputError as error:
            raise cannot_answer(name, error) from None
        check_pinned(name, now, model, answers.model.attested_sha256)
        return answers

    def _note(self, caller: str, answers: Answers, tree_sha256: str | None, role: str, records: int) -> None:
        """Raises: RefusedError: it cannot be noted, so it is not answered: somebody relies on the log being whole."""
        if self.log is None:
            return
        try:
            self.log.note(caller, answers.model.id, tree_sha256, role, records)
        except OSError as error:
            raise RefusedError(
                503,
                "not_noted",
                f"The log of predictions cannot be written: {error.strerror or type(error).__name__}.",
                remedy="Free space on the agent's disk, or set local.predictions_log = false.",
            ) from None

    def _count(
        self, answers: Answers, standing: Standing, records: Sequence[Record], found: Sequence[Answer]
    ) -> None:
        watch = self._watch(answers, standing)
        if watch is None or self.counters is None:
            return
        labels = answers.labels
        with self.counters.lock:
            for record, answer in zip(records, found, strict=True):
                watch.count(record, labels[answer.label])
            watch.advance(int(self.clock()))
        self.counters.touch()

    def _watch(self, answers: Answers, standing: Standing) -> Watch | None:
        model, counters = answers.model, self.counters
        if counters is None:
            return None

        def make(since: int) -> Watch:
            try:
                histogram = self.library.histogram(model)
            except InputError:  # a damaged count must not keep a patient from an answer
                histogram = {}
            with_counts = model.manifest.disclosure != "class"
            return Watch.of(model.schema, model.shown_tree, since, histogram, with_counts=with_counts)

        return counters.watch(model.id, make, standing.windows.get(model.id))

    def _compare(
        self,
        name: str,
        now: Change,
        role: str,
        records: Sequence[Record],
        found: Sequence[Answer],
        *,
        in_study_words: bool,
    ) -> None:
        """What the other version would have answered; if it cannot, the trial goes on without these records."""
        if self.counters is None or now.candidate is None:
            return
        try:
            other = self.library.answers(now.model if role == "candidate" else now.candidate)
            others = other.ask(other.in_words(records, in_study_words=in_study_words))
        except InputError:
            return
        champion, candidate = (others, found) if role == "candidate" else (found, others)
        pairs = [(a.label, b.label) for a, b in zip(champion, candidate, strict=True)]
        self.counters.note(self.counters.trial(name, now), pairs)

    def _trial(self, name: str, now: Change) -> dict[str, Any] | None:
        if self.counters is None or now.candidate is None:
            return None
        with self.counters.lock:
            told = self.counters.trial(name, now).told()
        self._keep()
        return told

    def _head(
        self, answers: Answers, standing: Standing, name: str | None, role: str
    ) -> tuple[dict[str, Any], str]:
        use = standing.uses.get(answers.model.id)
        caution = self._caution(answers.model.manifest.study)
        mark = (answers.model.mh, answers.model.saved, name, role, use, *caution.values())
        known = self._heads.get(mark)
        if known is None:
            head = {
                **answers.head,
                "name": name,
                "role": role,
                "intended_use": use or undescribed(),
                "card": f"/v1/models/{answers.model.id}/card",
                **caution,
            }
            if len(self._heads) > 1000:
                self._heads.clear()
            known = self._heads[mark] = (head, json.dumps(head, ensure_ascii=False)[:-1])
        return known

    def _caution(self, study: str) -> dict[str, str]:
        """A word of caution about a study that this hospital has turned away from; its models still answer."""
        now = self.clock()
        if self._states is None or not 0 <= now - self._states[0] < _STATES_SECONDS:
            self._states = (now, self.states())
        state = self._states[1].get(study)
        if state not in ("withdrawn", "declined"):
            return {}
        return {"caution": text(f"held.{state}", study=study)}


def _key(key: str | None, records: Sequence[Record]) -> bytes:
    """What decides who answers during a trial: the caller's key, or the records in one order."""
    if key is not None:
        return b"k" + hashlib.sha256(key.encode()).digest()
    text = json.dumps([sorted(record.items()) for record in records], default=str)
    return b"r" + hashlib.sha256(text.encode()).digest()
