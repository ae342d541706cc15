"""What a new study and a new job may say, by name, for editors and type checkers. All but a study's three are optional.

The cloud's description of its API (`/openapi.json`, `/docs`) says what each of them means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

Mode = Literal["ppsdt", "id3", "gain-ratio"]
Criterion = Literal["information-gain", "gain-ratio", "c45"]
Profile = Literal["hardened", "paper"]
Thresholds = Literal["gain", "gain-mdl"]


class JobRules(TypedDict, total=False):
    """Rules of a job; what is left out is as the study's document and the protocol have it."""

    invited: Sequence[str] | None
    mode: Mode
    secret: Mapping[str, Any]
    profile: Profile
    criterion: Criterion
    min_hospitals: int
    min_node: int
    min_child: int
    max_depth: int | None
    split_on_zero_gain: bool
    skip_known: bool
    max_shrinks: int
    deadlines: Mapping[str, int]
    key_mode: Literal["shared", "threshold"] | None
    noise: Mapping[str, Any] | None
    min_gain: str | None
    class_weights: Mapping[str, int] | None
    pruning: Mapping[str, Any] | None
    thresholds: Thresholds | None
    tally: Mapping[str, Any] | None
    selection: Mapping[str, Any] | None


class StudyRules(TypedDict, total=False):
    """Rules of a study beside its id, question and schema."""

    publish_tree: bool
    disclosure: Literal["class", "probability", "counts"]
    synthetic: bool
    purpose: str
    legal_basis: str
    members: Sequence[str] | None
    profiles: Sequence[str] | None
    criteria: Sequence[Criterion] | None
    key_mode: Literal["shared", "threshold"] | None
    min_hospitals: int
    min_node: int | None
    min_child: int | None
    max_depth: int | None
    max_shrinks: int | None
    max_jobs: int | None
    start: str
    noise: Mapping[str, Any] | None
    compute_parties: Sequence[str] | None
    result_parties: Sequence[str] | None
    shared_result: bool | None
    open_empty: bool | None
    max_records: int | None
    contract: Mapping[str, Any] | None
    fhir: Mapping[str, Any] | None
    tallies: Sequence[str] | None
    asking: Mapping[str, int] | None
    quality: Mapping[str, Any] | None
    expires: int | None
