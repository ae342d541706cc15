"""A tree that hospitals grow together, in scikit-learn's manner: `FederatedTreeClassifier(client, "fever").fit()`.

`fit` starts a job in the federation and waits for its tree. No records are passed: they stay at the hospitals.
`simulate` grows the same tree in this process from records that need no protection. Needs the extra `sklearn`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from html import escape
from pathlib import Path
from typing import Any, Final, Self, cast

from pydantic import ValidationError

from privet.client.answers import Job, Study
from privet.client.blocking import Client
from privet.client.conversations import Progress
from privet.client.errors import UnexpectedAnswerError
from privet.client.rules import Criterion, JobRules, Mode, Thresholds
from privet.estimator import PrivetTreeClassifier
from privet.simulating import grow_pooled
from shared.errors import InputError
from shared.export.document import read_document
from shared.export.subject import Origin, Subject
from shared.protocol.participation import pruning_of
from shared.tree.growth_rules import GrowthRules
from shared.tree.pruning import Pruning
from shared.tree.schema import Schema
from shared.wire.base import describe
from shared.wire.growing import PruningSpec, secret_growing_fault

_READ: Final = "trees:read"
_START: Final = "jobs:write"


@dataclass(frozen=True, slots=True)
class Picture:
    """A tree's picture: notebooks show it, `save` writes it, `text` is the SVG file."""

    text: str = field(repr=False)

    @property
    def element(self) -> str:
        """The SVG alone, as it stands inside a page."""
        return self.text[self.text.index("<svg") :]

    def _repr_svg_(self) -> str:
        return self.element

    def save(self, path: str | Path) -> None:
        """Write the SVG to a file."""
        Path(path).write_text(self.text, encoding="utf-8")


class FederatedTreeClassifier(PrivetTreeClassifier):
    """A decision tree grown by the hospitals of a study.

    Parameters, whose defaults are the protocol's:
        client: a `privet.client.Client`. study: its id.
        mode, criterion, min_node, min_child, max_depth, split_on_zero_gain, min_gain, class_weights, pruning,
        thresholds, selection, invited: rules of the job, as the cloud's description of its API has them; a study may be
        stricter.
        further: more of them by name (`privet.client.JobRules`), such as `{"noise": {"sigma": "5"}}`.
        timeout: seconds that `fit` waits, None for as long as it takes. progress: called with each event of the job.

    Attributes: `job_`: the job's id; after `simulate` there is none. `tree_`: its places, schema and hash
        (`shared.export.subject.Subject`).
        `classes_`, `feature_names_in_`, `n_features_in_`: as in scikit-learn.

    A published tree has no counts, so after `fit` there is no `predict_proba`; hospitals have it
    (`privet agent export --format sklearn`). A pickle holds the tree and neither the client nor its token.
    """

    def __init__(
        self,
        client: Client | None = None,
        study: str | None = None,
        *,
        mode: Mode = "ppsdt",
        criterion: Criterion = "information-gain",
        min_node: int = 10,
        min_child: int = 5,
        max_depth: int | None = 8,
        split_on_zero_gain: bool = False,
        min_gain: str | None = None,
        class_weights: Mapping[str, int] | None = None,
        pruning: Mapping[str, Any] | None = None,
        thresholds: Thresholds | None = None,
        selection: Mapping[str, Any] | None = None,
        invited: Sequence[str] | None = None,
        further: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.client = client
        self.study = study
        self.mode = mode
        self.criterion = criterion
        self.min_node = min_node
        self.min_child = min_child
        self.max_depth = max_depth
        self.split_on_zero_gain = split_on_zero_gain
        self.min_gain = min_gain
        self.class_weights = class_weights
        self.pruning = pruning
        self.thresholds = thresholds
        self.selection = selection
        self.invited = invited
        self.further = further
        self.timeout = timeout
        self.progress = progress

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The estimator of an exported file, ready to predict. Raises: ValueError: not such a file."""
        return cls()._take(PrivetTreeClassifier.load(path).walk_.subject)

    def fit(self, X: Any = None, y: Any = None) -> Self:  # noqa: N803 - scikit-learn's names
        """Have the study's hospitals grow a tree, and wait for it.

        Nothing is learned from X and y and nothing of them is sent: the records are the hospitals'. Where X is given,
        it is checked to have the study's columns, so that the estimator can stand in a pipeline.
        Interrupted or out of time, the job goes on, and `attach(estimator.job_)` waits for it again.
        Raises: InputError: no client, no study, or this person could not see the tree; no job is started then.
            JobFailedError, JobTimeoutError, ApiError and the others of `privet.client`. ValueError: X is of another
            form.
        """
        client, study = self._asked()
        rules = self._rules()
        seen = self._check_sight(client, study)
        if X is not None:
            _check_columns(X, [attribute.name for attribute in seen.schema.attributes])
        self._forget()
        self.job_ = client.start_job(study, **rules).id
        return self._follow(client, self.job_)

    def attach(self, job: str) -> Self:
        """Wait for a job that was started before, and become its tree. Raises: as `fit`."""
        client, _ = self._asked(needs_study=False)
        self._forget()
        self.job_ = job
        return self._follow(client, job)

    def simulate(self, frames: Iterable[Any], schema: Schema | Mapping[str, Any] | None = None) -> Self:
        """Become the tree that a job with these parameters grows from these records, without a federation.

        The records are pooled in this process: only for those that need no protection.
        Args: frames: a data frame for each hospital. schema: by default that of the study.
        Raises: InputError: no schema, a parameter out of its range, a column or a value that does not fit.
        """
        found = self._schema(schema)
        rules = self._growth_rules(found)
        grid = dict((self.further or {}).get("secret", {}).get("grid", {}))
        tree = grow_pooled(frames, found, rules, self.mode, grid=grid)
        self._forget()
        return self._take(Subject.prepare(tree, found, "counts", Origin(study=self.study or "")))

    def plot(self) -> Picture:
        """The tree's picture. Raises: NotFittedError."""
        return Picture(self.export("svg").decode())

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:  # noqa: N803
        """The parameters, or the tree once there is one."""
        if hasattr(self, "walk_"):
            return super().__repr__(N_CHAR_MAX)
        return str(super(PrivetTreeClassifier, self).__repr__(N_CHAR_MAX))

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is a tree; that a job was started is not enough."""
        return hasattr(self, "walk_")

    def __getstate__(self) -> dict[str, Any]:
        """Without what holds a token or belongs to this process."""
        return {**super().__getstate__(), "client": None, "progress": None}

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """What a notebook shows: the picture, once there is a tree."""
        if hasattr(self, "walk_"):
            return {"text/plain": repr(self), "text/html": self.plot().element}
        return {"text/plain": repr(self), "text/html": f"<pre>{escape(repr(self))}</pre>"}

    def _asked(self, *, needs_study: bool = True) -> tuple[Client, str]:
        if not isinstance(self.client, Client):
            raise InputError(
                f"expected a privet.client.Client, got {type(self.client).__name__}",
                where="client",
                remedy="For example: FederatedTreeClassifier(Client.from_environment(), study='fever').",
            )
        if needs_study and not self.study:
            raise InputError("expected the id of a study", where="study", remedy="See client.studies().")
        return self.client, self.study or ""

    def _check_sight(self, client: Client, study: str) -> Study:
        """Before hospitals are asked to work: whether this person can start the job, and see what comes of it."""
        held = client.me().permissions
        lacking = [permission for permission in (_START, _READ) if permission not in held]
        if lacking:
            raise InputError(
                f"this token lacks {' and '.join(lacking)}, which `fit` needs",
                where="client",
                remedy="Ask for a token with the roles coordinator and analyst.",
            )
        found = client.study(study)
        if not found.publish_tree:
            raise InputError(
                f"study {study} does not publish its tree: hospitals alone have it, and no job was started",
                where="study",
                remedy="Start the job with client.start_job, and ask a hospital for `privet agent export "
                "--format sklearn`, which PrivetTreeClassifier.load reads; or have the hospitals approve a study "
                "that is created with publish_tree=True.",
            )
        return found

    def _rules(self) -> JobRules:
        named = {
            "mode": self.mode,
            "criterion": self.criterion,
            "min_node": self.min_node,
            "min_child": self.min_child,
            "max_depth": self.max_depth,
            "split_on_zero_gain": self.split_on_zero_gain,
        }
        optional = ("min_gain", "class_weights", "pruning", "thresholds", "selection", "invited")
        given = {name: getattr(self, name) for name in optional if getattr(self, name) is not None}
        twice = sorted({*named, *optional} & set(self.further or {}))
        if twice:
            raise InputError(
                f"{twice[0]} is a parameter of its own", where="further", remedy=f"Give it as {twice[0]}=..."
            )
        return cast(JobRules, {**named, **given, **(self.further or {})})

    def _follow(self, client: Client, job_id: str) -> Self:
        result = client.wait_for_result(job_id, timeout=self.timeout, progress=self.progress)
        published = client.tree(job_id)
        if published.tree_sha256 != result.tree_sha256:
            raise UnexpectedAnswerError(
                "the cloud shows another tree than the one that its hospitals attested"
            )
        job = client.job(job_id)
        read_by = {"contract": (client.study(job.study).document or {}).get("contract")}
        return self._take(read_document(published.document | _origin(job) | read_by))

    def _take(self, subject: Subject) -> Self:
        names = [attribute.name for attribute in subject.schema.attributes]
        self.take_tree(subject, subject.schema.classes, feature_names=names)
        self.tree_ = subject
        return self

    def _forget(self) -> None:
        """A job that fails leaves no tree of another one behind."""
        for name in ("job_", "tree_", "walk_", "classes_", "n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)

    def _schema(self, given: Schema | Mapping[str, Any] | None) -> Schema:
        if given is not None:
            return given if isinstance(given, Schema) else Schema.from_json(given)
        if self.client is None or self.study is None:
            raise InputError(
                "expected a schema",
                where="schema",
                remedy="Give one, or a client and a study whose schema is taken.",
            )
        return self.client.study(self.study).schema

    def _growth_rules(self, schema: Schema) -> GrowthRules:
        self._check_simulated()
        weights = self.class_weights
        unknown = [label for label in weights or {} if label not in schema.classes]
        if unknown:
            raise InputError(f"the schema has no class {unknown[0]!r}", where="class_weights")
        return GrowthRules(
            criterion=self.criterion,
            min_node=self.min_node,
            min_child=self.min_child,
            max_depth=self.max_depth,
            split_on_zero_gain=self.split_on_zero_gain,
            min_gain=Fraction(self.min_gain or 0),
            class_weights=None if not weights else tuple(weights.get(label, 1) for label in schema.classes),
            pruning=None if self.pruning is None else _pruning(self.pruning),
            thresholds=self.thresholds,
        )

    def _check_simulated(self) -> None:
        """Whether a job would take these parameters, and its tree follows from them and the records alone."""
        drawn = [name for name in ("selection", "noise", "tally") if name in (self.further or {})]
        if self.selection is not None or drawn:
            raise InputError(
                "what is held out or added is drawn at the hospitals, and a count is no tree",
                where=drawn[0] if drawn else "selection",
                remedy="Leave it out; hold records of the frames out yourself.",
            )
        if self.mode == "ppsdt":
            return
        fixed = "information-gain" if self.mode == "id3" else "gain-ratio"
        foreign = [
            name
            for name, is_used in (
                ("criterion", self.criterion not in ("information-gain", fixed)),
                ("thresholds", self.thresholds is not None),
            )
            if is_used
        ]
        if foreign:
            raise InputError(
                f"this is of mode ppsdt, not of {self.mode}", where=foreign[0], remedy="Leave it out."
            )
        reason = secret_growing_fault(
            "secret-id3" if self.mode == "id3" else "secret-gainratio",
            trains=True,
            opens=True,
            weighs=bool(self.class_weights),
            bounds=self.min_gain is not None,
            pruning=None if self.pruning is None else _pruning_spec(self.pruning),
        )
        if reason is not None:
            raise InputError(reason, where=f"mode {self.mode}")


def _check_columns(records: Any, names: list[str]) -> None:
    """Raises: ValueError: these records are not of the study's form."""
    given = list(records.columns) if hasattr(records, "columns") else None
    if given is None:
        shape = getattr(records, "shape", None) or (len(records), len(records[0]) if len(records) else 0)
        given = names if len(shape) == 2 and shape[1] == len(names) else []
    if given != names:
        raise ValueError(
            f"X: expected the study's columns in their order ({', '.join(names)}); no job was started"
        )


def _pruning(given: Mapping[str, Any]) -> Pruning:
    """As a job's rules have it: exact numbers come as texts. Raises: InputError."""
    return pruning_of(_pruning_spec(given))


def _pruning_spec(given: Mapping[str, Any]) -> PruningSpec:
    try:
        return PruningSpec.model_validate(given)
    except ValidationError as error:
        raise InputError(describe(error), where="pruning") from None


def _origin(job: Job) -> dict[str, Any]:
    """The header of what is exported."""
    when = datetime.fromtimestamp(job.finished or job.created, UTC).date().isoformat()
    hospitals = [member.id for member in job.members if member.in_roster]
    return {"study": job.study, "job": job.id, "date": when, "hospitals": hospitals}
