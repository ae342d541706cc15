"""What a person asks of a new job, before it becomes a manifest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Decimal
from typing import Final, Literal

from pydantic import ValidationError

from cloud_service.service.studies import StudyView
from cloud_service.service.tallying import SelectionPlan, TallyPlan
from shared.errors import InputError
from shared.wire.asking import AttestedAsk
from shared.wire.base import describe
from shared.wire.growing import PruningSpec
from shared.wire.manifest import (
    SECRET_CRITERIA,
    Criterion,
    Deadlines,
    KeyMode,
    PaillierProfile,
    Profile,
    Thresholds,
)
from shared.wire.noise import MAX_VARIANCE, NoiseSpec
from shared.wire.secret import COMPUTE_PARTIES, DEFAULT_RECORDS, GridSpec, Purpose, ResultKind, SecretSpec

_DEADLINES: Final = Deadlines()
Mode = Literal["ppsdt", "id3", "gain-ratio"]
SECRET_PROFILES: Final[Mapping[Mode, Profile]] = {"id3": "secret-id3", "gain-ratio": "secret-gainratio"}
SECRET_MODES: Final[Mapping[str, Mode]] = {profile: mode for mode, profile in SECRET_PROFILES.items()}
"""The other way round, of whatever profile a person names."""


@dataclass(frozen=True, slots=True)
class SecretPlan:
    """What a person asks of a secret job. `compute_parties`: None for the first three of the invited.

    `grid`: steps by attribute name. `asked`: the wish of the hospital that asks by itself; the same question again may
    be signed at another time, so it is no part of what a request is known by. The rest are those of the manifest's
    block of the same names.
    """

    compute_parties: Sequence[str] | None = None
    purpose: Purpose = "train"
    result: ResultKind = "open"
    result_parties: Sequence[str] | None = None
    open_empty: bool = False
    grid: Mapping[str, str] = field(default_factory=dict)
    max_records: int = DEFAULT_RECORDS
    model: str | None = None
    asked: AttestedAsk | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class NoisePlan:
    """Noise that a person asks for. `sigma`: standard deviation of each sum's noise. The rest as in the manifest."""

    sigma: Decimal
    untrusted: int = 1
    delta: str = "0.000001"

    def spec(self) -> NoiseSpec:
        """The manifest's block, its variance rounded up to an integer. Raises: InputError: outside its limits."""
        try:
            variance = min(self.sigma**2, Decimal(MAX_VARIANCE + 1)).to_integral_value(ROUND_CEILING)
            return NoiseSpec(sigma_squared=int(variance), untrusted=self.untrusted, delta=self.delta)
        except ValidationError as error:
            raise InputError(describe(error), where="noise", remedy="Change the job's noise.") from None


@dataclass(frozen=True, slots=True)
class JobPlan:
    """What a person asks for. `invited`: None for every registered hospital that is a present member.

    `mode`: ppsdt adds Paillier ciphertexts under `profile` and `criterion`; id3 and gain-ratio work on shares, fix
    both, and take `secret`. `key_mode`: None for that of the federation's key. With `noise` every cell is asked for,
    whatever `skip_known` says. `tally`: count only. `selection`: hold records out. `class_weights`: by label, 1 for
    those that are not named. The rest are the manifest's rules of the same names.
    """

    invited: Sequence[str] | None = None
    mode: Mode = "ppsdt"
    secret: SecretPlan = SecretPlan()
    profile: PaillierProfile = "hardened"
    criterion: Criterion = "information-gain"
    min_hospitals: int = 3
    min_node: int = 10
    min_child: int = 5
    max_depth: int | None = 8
    split_on_zero_gain: bool = False
    skip_known: bool = True
    max_shrinks: int = 1
    deadlines: Deadlines = _DEADLINES
    noise: NoisePlan | None = None
    key_mode: KeyMode | None = None
    tally: TallyPlan | None = None
    selection: SelectionPlan | None = None
    min_gain: str | None = None
    class_weights: Mapping[str, int] | None = None
    pruning: PruningSpec | None = None
    thresholds: Thresholds | None = None

    @property
    def manifest_profile(self) -> Profile:
        """The profile that the manifest names."""
        return SECRET_PROFILES.get(self.mode, self.profile)

    def check(self) -> None:
        """Whether all that is asked belongs to the mode. Raises: InputError: something would be left out in silence."""
        if self.noise is not None and self.manifest_profile != "hardened":
            raise InputError(
                f"jobs of profile {self.manifest_profile} add no noise",
                where="noise",
                remedy="Choose mode ppsdt with profile hardened, or leave the noise out.",
            )
        if self.tally is not None and self.manifest_profile != "hardened":
            raise InputError(
                f"jobs of profile {self.manifest_profile} cannot only count",
                where="tally",
                remedy="Leave mode and profile out: a tree of any mode is evaluated in mode ppsdt.",
            )
        if self.mode == "ppsdt":
            if self.secret != SecretPlan():
                raise InputError(
                    "the options of secret sharing need a secret mode",
                    where="mode",
                    remedy="Choose mode id3 or gain-ratio, or leave them out.",
                )
        elif self.profile != "hardened":
            raise InputError(
                f"profile {self.profile} is of mode ppsdt", where="profile", remedy="Leave it out."
            )
        elif self.criterion not in ("information-gain", SECRET_CRITERIA[self.manifest_profile]):
            raise InputError(
                f"mode {self.mode} fixes its criterion, which is not {self.criterion}",
                where="criterion",
                remedy="Leave it out.",
            )


def weights_of(study: StudyView, plan: JobPlan) -> list[int] | None:
    """The manifest's weights, in the order of the labels. Raises: InputError: the study has no such class."""
    if not plan.class_weights:
        return None
    labels = study.schema.class_.labels
    unknown = [label for label in plan.class_weights if label not in labels]
    if unknown:
        raise InputError(
            "the study has no such class",
            where=f"class weight {unknown[0][:200]!r}",
            remedy=f"Name one of: {', '.join(labels)}.",
        )
    return [plan.class_weights.get(label, 1) for label in labels]


def secret_spec(study: StudyView, plan: SecretPlan, invited: Sequence[str]) -> SecretSpec:
    """The manifest's block. Raises: InputError: the plan contradicts itself or the schema."""
    places = {attribute.name: place for place, attribute in enumerate(study.schema.attributes)}
    unknown = [name for name in plan.grid if name not in places]
    if unknown:
        raise InputError("the study has no such attribute", where=f"grid {unknown[0][:200]!r}")
    try:
        grid = [GridSpec(attribute=places[name], step=step) for name, step in plan.grid.items()]
        return SecretSpec(
            compute_parties=list(plan.compute_parties or invited[:COMPUTE_PARTIES]),
            purpose=plan.purpose,
            result=plan.result,
            result_parties=None if plan.result_parties is None else sorted(plan.result_parties),
            open_empty=plan.open_empty,
            grid=sorted(grid, key=lambda entry: entry.attribute),
            max_records=plan.max_records,
            model=plan.model,
            asked=plan.asked,
        )
    except ValidationError as error:
        raise InputError(describe(error), where="secret", remedy="Change the job's rules.") from None
