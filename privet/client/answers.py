"""What a cloud answers people, as frozen values. Times are Unix seconds.

Members that a later cloud adds are ignored; those that it leaves out, where they came late, have defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any, Final, TypeVar

from pydantic import PlainValidator, TypeAdapter, ValidationError

from privet.client.errors import UnexpectedAnswerError
from shared.errors import InputError
from shared.tree.schema import Schema
from shared.wire.base import describe

T = TypeVar("T")
FINAL_STATES: Final = frozenset({"DONE", "FAILED", "CANCELLED"})


def _schema(value: Any) -> Schema:
    if isinstance(value, Schema):
        return value
    try:
        return Schema.from_json(value)
    except InputError as error:
        raise ValueError(str(error)) from None


SchemaOf = Annotated[Schema, PlainValidator(_schema)]


@dataclass(frozen=True, slots=True)
class Me:
    """Whose token it is. `hospital`: the only one whose studies and jobs are seen."""

    name: str
    roles: tuple[str, ...]
    permissions: tuple[str, ...]
    hospital: str | None = None


@dataclass(frozen=True, slots=True)
class SignedIn:
    """What came of signing in: a session's token, or the address of a second factor that is to be added first."""

    token: str | None = field(default=None, repr=False)
    second_factor: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Hospital:
    """A registered hospital. `is_member`: whether the federation still lists its certificate."""

    id: str
    version: str
    registered: int
    last_seen: int
    is_member: bool
    certificate_until: int
    certificate_sha256: str


@dataclass(frozen=True, slots=True)
class Approval:
    """What a hospital has said to a study's document.

    `answer`: pending, approved, declined or withdrawn; `since`: None while pending.
    """

    hospital: str
    answer: str
    code: str | None
    reason: str
    since: int | None


@dataclass(frozen=True, slots=True)
class StudySummary:
    """A study in a list. `closed`: since when it takes no more jobs."""

    id: str
    question: str
    schema: SchemaOf = field(repr=False)
    publish_tree: bool
    disclosure: str
    synthetic: bool
    created: int
    closed: int | None
    document_sha256: str | None
    members: tuple[str, ...]
    expires: int | None


@dataclass(frozen=True, slots=True)
class Study(StudySummary):
    """A study with its rules, their meaning in sentences, and each hospital's answer."""

    document: Mapping[str, Any] | None = field(repr=False)
    in_words: tuple[str, ...] = field(repr=False)
    answers: tuple[Approval, ...]


@dataclass(frozen=True, slots=True)
class Waiting:
    """Whom a job waits for and why, in words. `until`: None where no deadline ends it; `then`: what happens there."""

    who: tuple[str, ...]
    what: str
    since: int
    until: int | None
    then: str


@dataclass(frozen=True, slots=True)
class Member:
    """An invited hospital. `answer`: accepted, pending, or the code it declined with."""

    id: str
    answer: str
    in_roster: bool
    has_contributed: bool
    has_decided: bool
    has_attested: bool
    progress: Mapping[str, Any] | None = None

    @property
    def has_declined(self) -> bool:
        """Whether it does not take part."""
        return self.answer not in ("accepted", "pending")


@dataclass(frozen=True, slots=True)
class Cost:
    """`in:` and `out:` kinds count messages and bytes, `cpu:` kinds work and microseconds."""

    kind: str
    count: int
    amount: int


@dataclass(frozen=True, slots=True)
class JobSummary:
    """A job in a list. `state`: such as COLLECTING; it is over in DONE, FAILED and CANCELLED."""

    id: str
    study: str
    profile: str
    criterion: str
    state: str
    round: int
    attempt: int
    paused: bool
    failure: str | None
    created: int
    started: int | None
    finished: int | None

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to come."""
        return self.state in FINAL_STATES


@dataclass(frozen=True, slots=True)
class Job(JobSummary):
    """A job in full. `growing`: least gain, weights and pruning, in words."""

    manifest_sha256: str
    waiting: Waiting | None
    members: tuple[Member, ...]
    costs: tuple[Cost, ...] = field(repr=False)
    key_mode: str = "shared"
    noise: Mapping[str, Any] | None = None
    growing: tuple[str, ...] = ()
    tally: Mapping[str, Any] | None = None
    selection: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a job's story; as a text it can be printed."""

    id: int
    time: int
    kind: str
    data: Mapping[str, Any]

    def __str__(self) -> str:
        """The time of day in UTC, the kind, and what it says."""
        when = datetime.fromtimestamp(self.time, UTC).strftime("%H:%M:%S")
        said = ", ".join(f"{name} {_text(value)}" for name, value in self.data.items())
        return f"{when} {self.kind.replace('_', ' ')}" + (f": {said}" if said else "")


def _text(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


@dataclass(frozen=True, slots=True)
class Result:
    """Who attested which tree.

    `tree_sha256`: what all attested alike; None while some are `missing`, or if they differ.
    """

    job: str
    tree_sha256: str | None
    attested: Mapping[str, str]
    missing: tuple[str, ...]
    is_published: bool


@dataclass(frozen=True, slots=True)
class PublishedTree:
    """A published tree, without counts: nested `{"attr", "kids"}` and `{"leaf"}` in indices of the schema."""

    tree_sha256: str
    tree: Mapping[str, Any] = field(repr=False)
    schema: SchemaOf = field(repr=False)

    @property
    def document(self) -> dict[str, Any]:
        """The form that `privet export` and `shared.export.document.read_document` take."""
        return {"tree_sha256": self.tree_sha256, "tree": self.tree, "schema": self.schema.to_json()}


@dataclass(frozen=True, slots=True)
class Prediction:
    """A published tree's answer for one record: the class, the path in words, and what was missing."""

    label: str
    path: str
    note: str | None
    tree_sha256: str


def reader(form: type[T], member: str | None = None) -> Callable[[bytes], T]:
    """Reads an answer of this form. Args: member: where in the answer it stands; None for the whole of it.

    The reader raises UnexpectedAnswerError: another form.
    """
    adapter = TypeAdapter(form if member is None else dict[str, Any])
    inner = None if member is None else TypeAdapter(form)

    def read(body: bytes) -> T:
        try:
            found: Any = adapter.validate_json(body)
            return found if inner is None or member is None else inner.validate_python(found[member])
        except ValidationError as error:
            raise UnexpectedAnswerError(
                f"the answer has another form than expected ({describe(error)}). Is the address that of a cloud of "
                "Privet, and of this version?"
            ) from None
        except KeyError:
            raise UnexpectedAnswerError(f"the answer has no member {member!r}") from None

    return read
