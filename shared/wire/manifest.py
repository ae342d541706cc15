"""The job manifest (protocol section 3): all that an agent accepts by signing its hash."""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from shared.wire.base import Base64Url, Hex16, Hex32, Id, WireModel, is_absent
from shared.wire.base import DecimalText as Decimal
from shared.wire.consent import MAX_CONSENTS, SignedConsent
from shared.wire.growing import MAX_CLASS_WEIGHT, PruningSpec, Share, secret_growing_fault
from shared.wire.noise import NoiseSpec, noise_fault
from shared.wire.secret import MAX_HEIGHT, SecretProfile, SecretSpec
from shared.wire.tally import SelectionSpec, TallySpec

MAX_AGENTS: Final = 1024
MAX_ATTRIBUTES: Final = 1024
MAX_VALUES: Final = 256
MAX_CLASSES: Final = 64
MAX_CELLS: Final = 2**20
MAX_FRACTIONAL_STEPS: Final = 8
"""Most attributes with fractional missing values on a path: a node is counted in up to 2^steps parts."""

Text = Annotated[str, StringConstraints(min_length=0, max_length=200)]

PaillierProfile = Literal["hardened", "paper"]
Profile = PaillierProfile | SecretProfile
KeyMode = Literal["shared", "threshold"]
"""Who can open a sum: every hospital by itself, or so many together that none can alone (protocol section 6.5)."""
Criterion = Literal["information-gain", "gain-ratio", "c45"]
Thresholds = Literal["gain", "gain-mdl"]
"""How attributes whose values have an order are split in two at each node; without, every value is a branch."""
Disclosure = Literal["class", "probability", "counts"]
SECRET_CRITERIA: Final[dict[str, Criterion]] = {
    "secret-id3": "information-gain",
    "secret-gainratio": "gain-ratio",
}
"""The secret profiles, and what each chooses its splits by."""


class NumericSpec(WireModel):
    """The range and the precision of an attribute whose numbers mode G compares as they are.

    A number x has the code `(x - minimum) * 10^decimals`, of at most 32 bits. `missing`: the number that an empty field
    counts as; without it an empty field is refused.
    """

    minimum: Decimal
    maximum: Decimal
    decimals: Annotated[int, Field(ge=0, le=17)]
    missing: Annotated[Decimal | None, Field(exclude_if=is_absent)] = None


class AttributeSpec(WireModel):
    """One attribute: its ordered values, and for a numeric one the public cut points between them.

    With k cuts there are k+1 intervals, in order `<= cut_1`, ..., `> cut_k`, and `values` names them in that
    order; a further value, if there is one, stands for an empty field. An attribute with `numeric` has neither values
    nor cuts. `treat_as`: how mode G tests listed values, by their order or one by one. `missing`: with "fractional" a
    record with an empty field goes to every branch in parts (profile hardened); the last value stands for it.
    """

    name: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    values: Annotated[list[Text], Field(max_length=MAX_VALUES)]
    cuts: Annotated[list[Decimal], Field(max_length=MAX_VALUES - 1)] | None = None
    numeric: Annotated[NumericSpec | None, Field(exclude_if=is_absent)] = None
    treat_as: Annotated[Literal["ordered", "equality"] | None, Field(exclude_if=is_absent)] = None
    missing: Annotated[Literal["fractional"] | None, Field(exclude_if=is_absent)] = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.numeric is None) != bool(self.values):
            raise ValueError("an attribute has either values or numeric, its range and decimals")
        if self.numeric is not None and (self.cuts, self.treat_as, self.missing) != (None, None, None):
            raise ValueError(
                "numeric: an attribute with it has no cuts and no treat_as, and nothing fractional"
            )
        return self


class ClassSpec(WireModel):
    """The class column and its ordered labels."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    labels: Annotated[list[Text], Field(min_length=1, max_length=MAX_CLASSES)]


class SchemaSpec(WireModel):
    """What every hospital's records look like; indices into these lists are what the tree is made of."""

    attributes: Annotated[list[AttributeSpec], Field(min_length=1, max_length=MAX_ATTRIBUTES)]
    class_: Annotated[ClassSpec, Field(alias="class")]

    @property
    def fractional(self) -> list[str]:
        """Names of the attributes whose missing values are fractional."""
        return [attribute.name for attribute in self.attributes if attribute.missing is not None]

    @property
    def ordered(self) -> list[str]:
        """Names of the attributes whose listed values have an order: of intervals unless `treat_as` says otherwise."""
        return [
            attribute.name
            for attribute in self.attributes
            if attribute.treat_as == "ordered" or (attribute.treat_as is None and attribute.cuts is not None)
        ]


class Deadlines(WireModel):
    """Waiting times in seconds: for acceptances, for one round, and for a silent member before the job fails."""

    invite_seconds: Annotated[int, Field(ge=1, le=30 * 86400)] = 86400
    round_seconds: Annotated[int, Field(ge=1, le=7 * 86400)] = 3600
    pause_seconds: Annotated[int, Field(ge=1, le=7 * 86400)] = 86400


class Manifest(WireModel):
    """A job as its members agree to it. `cloud_certificate` lets an agent check the whole chain offline.

    `threshold`: of key mode threshold, how many hospitals open a sum together; the key's.
    `study_sha256`: of the study document that the job keeps to. `consents`: of hospitals by which alone the roster
    differs from an earlier one over the same records (rule A4). `min_gain`: least information gain of a split, in bits.
    `class_weights`: one for each class; a record counts so many times in gains and majorities. `tally`: of a job that
    only counts. `selection`: which of its records each hospital takes. `thresholds`: split ordered attributes in two.
    """

    v: Literal[1] = 1
    job: Hex16
    study: Id
    question: Annotated[str, StringConstraints(min_length=1, max_length=2000)]
    profile: Profile
    key_mode: KeyMode = "shared"
    threshold: Annotated[int | None, Field(ge=2, le=MAX_AGENTS, exclude_if=is_absent)] = None
    criterion: Criterion
    schema_: Annotated[SchemaSpec, Field(alias="schema")]
    invited: Annotated[list[Id], Field(min_length=3, max_length=MAX_AGENTS)]
    key_id: Hex32
    cloud_certificate: Base64Url
    rsa_public_key: Base64Url
    f_table_sha256: Hex32
    min_hospitals: Annotated[int, Field(ge=3, le=MAX_AGENTS)] = 3
    min_node: Annotated[int, Field(ge=1, le=2**46)] = 10
    min_child: Annotated[int, Field(ge=1, le=2**46)] = 5
    max_depth: Annotated[int, Field(ge=1, le=MAX_ATTRIBUTES)] | None = 8
    split_on_zero_gain: bool = False
    skip_known: bool = True
    publish_tree: bool = False
    disclosure: Disclosure = "counts"
    synthetic: bool = False
    max_shrinks: Annotated[int, Field(ge=0, le=16)] = 1
    deadlines: Deadlines
    created: Annotated[int, Field(ge=0)]
    expires: Annotated[int, Field(ge=0)]
    secret: Annotated[SecretSpec | None, Field(exclude_if=is_absent)] = None
    noise: Annotated[NoiseSpec | None, Field(exclude_if=is_absent)] = None
    study_sha256: Annotated[Hex32 | None, Field(exclude_if=is_absent)] = None
    consents: Annotated[
        list[SignedConsent] | None, Field(min_length=1, max_length=MAX_CONSENTS, exclude_if=is_absent)
    ] = None
    min_gain: Annotated[Share | None, Field(exclude_if=is_absent)] = None
    class_weights: Annotated[
        list[Annotated[int, Field(ge=1, le=MAX_CLASS_WEIGHT)]] | None, Field(exclude_if=is_absent)
    ] = None
    pruning: Annotated[PruningSpec | None, Field(exclude_if=is_absent)] = None
    tally: Annotated[TallySpec | None, Field(exclude_if=is_absent)] = None
    selection: Annotated[SelectionSpec | None, Field(exclude_if=is_absent)] = None
    thresholds: Annotated[Thresholds | None, Field(exclude_if=is_absent)] = None

    @property
    def is_secret(self) -> bool:
        """Whether the job works on shares instead of Paillier ciphertexts."""
        return self.secret is not None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.secret is not None) != (self.profile in SECRET_CRITERIA):
            raise ValueError("secret: the block belongs to the profiles secret-id3 and secret-gainratio")
        if (self.key_mode == "threshold") != (self.threshold is not None):
            raise ValueError("threshold: it belongs to key mode threshold, and that needs it")
        if self.threshold is not None and self.profile != "hardened":
            raise ValueError("key_mode: threshold is of profile hardened")
        if self.threshold is not None and self.min_hospitals < self.threshold:
            raise ValueError("min_hospitals: fewer hospitals than the key's threshold could not open a sum")
        if self.profile != "secret-gainratio" and any(a.numeric for a in self.schema_.attributes):
            raise ValueError(
                "numeric: attributes without cut points are for mode gain-ratio (profile secret-gainratio)"
            )
        if self.secret is not None:
            self._check_secret(self.secret)
        if self.noise is not None:
            self._check_noise(self.noise)
        self._check_fractional()
        self._check_tally()
        self._check_growing()
        self._check_thresholds()
        return self

    def _check_growing(self) -> None:
        """Rules of growth belong to a job that grows a tree; secret modes have those that need no counts opened."""
        named = {"min_gain": self.min_gain, "class_weights": self.class_weights, "pruning": self.pruning}
        used = [name for name, value in named.items() if value is not None]
        if used and self.tally is not None:
            raise ValueError(f"{used[0]}: for jobs that grow a tree")
        if self.secret is not None:
            reason = secret_growing_fault(
                self.profile,
                trains=self.secret.purpose == "train",
                opens=self.secret.result == "open",
                weighs=self.class_weights is not None,
                bounds=self.min_gain is not None,
                pruning=self.pruning,
            )
            if reason is not None:
                raise ValueError(reason)
        if self.class_weights is not None and len(self.class_weights) != len(self.schema_.class_.labels):
            raise ValueError("class_weights: expected one weight for each class label, in their order")

    def _check_thresholds(self) -> None:
        """Thresholds are found by every hospital in the same exact sums, some of which follow from others."""
        wrong = [
            (self.profile != "hardened", "it is for profile hardened"),
            (self.tally is not None, "a job that only counts splits nothing"),
            (self.noise is not None, "places found in noisy sums would follow the noise: without noise"),
            (
                not self.schema_.ordered,
                "no attribute has an order: give one cut points, or treat_as ordered",
            ),
        ]
        reason = next((text for broken, text in wrong if broken), None)
        if self.thresholds is not None and reason is not None:
            raise ValueError(f"thresholds: {reason}")

    def _check_tally(self) -> None:
        """A tally has the one round whose cells are known beforehand, so bounds of one level hold for it."""
        one_round = (self.profile, self.max_depth, self.publish_tree) == ("hardened", 1, False)
        if self.tally is not None and not one_round:
            raise ValueError("tally: it has profile hardened, max_depth 1 and no tree to publish")
        if self.selection is not None and self.secret is not None and self.secret.purpose != "train":
            raise ValueError("selection: it parts records with classes, and these have none")

    def _check_fractional(self) -> None:
        """A job that only counts grows no tree, so there missing values are one more value."""
        fractional = len(self.schema_.fractional) if self.tally is None else 0
        steps = fractional if self.max_depth is None else min(fractional, self.max_depth)
        wrong = [
            (self.profile != "hardened", "needs sums that every hospital opens: it is for profile hardened"),
            (
                self.noise is not None,
                "weights that follow from noisy sums would not be those of records: without noise",
            ),
            (
                steps > MAX_FRACTIONAL_STEPS,
                f"at most {MAX_FRACTIONAL_STEPS} such attributes, or max_depth at most {MAX_FRACTIONAL_STEPS}",
            ),
        ]
        reason = next((text for broken, text in wrong if fractional and broken), None)
        if reason is not None:
            raise ValueError(f"missing: fractional {reason}")

    def _check_noise(self, noise: NoiseSpec) -> None:
        reason = noise_fault(
            noise,
            hardened=self.profile == "hardened",
            skip_known=self.skip_known,
            invited=len(self.invited),
            min_hospitals=self.min_hospitals,
        )
        if reason is not None:
            raise ValueError(reason)

    def _check_secret(self, secret: SecretSpec) -> None:
        strangers = {*secret.compute_parties, *(secret.result_parties or [])} - set(self.invited)
        fixed_rules = (self.max_shrinks, self.skip_known, self.disclosure) == (0, False, "class")
        wrong: list[tuple[bool, str]] = [
            (bool(strangers), "compute and result parties must be invited"),
            (self.criterion != SECRET_CRITERIA.get(self.profile), "criterion: not the one of this profile"),
            (
                secret.asked is not None and secret.asked.ask.study != self.study,
                "asked: the wish is about another study",
            ),
            (not fixed_rules, "a secret job has max_shrinks 0, skip_known false and disclosure class"),
            (
                self.publish_tree and (secret.result != "open" or secret.result_parties is not None),
                "publish_tree: a tree that not every member learns cannot be published",
            ),
        ]
        if self.profile == "secret-id3":
            everyone = (secret.result, secret.result_parties, secret.purpose) == ("open", None, "train")
            wrong += [
                (not everyone, "mode id3 opens its tree to every member"),
                (bool(secret.grid), "grid: mode id3 has no thresholds"),
            ]
        else:
            height = self.max_depth is not None and self.max_depth <= MAX_HEIGHT
            wrong += [
                (not height, f"max_depth: mode gain-ratio needs a height of 1 to {MAX_HEIGHT}"),
                (
                    self.split_on_zero_gain,
                    "split_on_zero_gain: mode gain-ratio ends where the best gain is 0",
                ),
                (secret.open_empty, "open_empty: of mode id3 only"),
                (
                    any(
                        (a.numeric, a.cuts, a.treat_as) == (None, None, None) for a in self.schema_.attributes
                    ),
                    "treat_as: mode gain-ratio needs ordered or equality for each attribute of listed values",
                ),
                (
                    any(entry.attribute >= len(self.schema_.attributes) for entry in secret.grid),
                    "grid: it names an attribute that the schema does not have",
                ),
            ]
        reason = next((text for broken, text in wrong if broken), None)
        if reason is not None:
            raise ValueError(reason)
