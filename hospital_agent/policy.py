"""What this hospital agrees to: its own rules, checked before any record is read for a job (protocol rule A4).

The rules stand in a TOML file of their own, so that who may change them need not be who runs the agent. Whatever the
manifest says, a job outside them is declined, with a code to the cloud and a sentence for the hospital.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from shared.configuring import faults_of
from shared.errors import ErrorCode, InputError
from shared.protocol.consenting import SeenRoster, differing_hospital
from shared.protocol.together import told_together
from shared.secure_tree.privacy import PrivacyLimit
from shared.texts import text
from shared.wire.consent import Consent
from shared.wire.manifest import MAX_AGENTS, MAX_ATTRIBUTES, Disclosure, Manifest

DECLINED: Final = "declined"
"""The code of every refusal that section 13 has no code for: the cloud need not know this hospital's rules."""
_MEGABYTE: Final = 10**6
_DISCLOSURE_ORDER: Final[tuple[Disclosure, ...]] = ("class", "probability", "counts")

TEMPLATE: Final = """\
# What this hospital agrees to. Every rule is a limit: a job outside it is declined.

# "study": a person approves a study's document once (privet agent studies); jobs within it go on by these rules, and
# jobs of studies without a document are asked about. "ask": a person approves each job (privet agent offers, privet
# agent approve). "automatic": the rules decide.
approval = "study"
# Fewest hospitals in a job. With H hospitals, H-1 together know the last one's counts.
min_hospitals = 3
# Fewest records of a node that may be split, and of a child: smaller groups are never asked about.
min_node = 10
min_child = 5
# Greatest depth of a tree; 0 allows any.
max_depth = 12
# How often the first round may begin anew without a silent hospital. 0 keeps a dishonest cloud that works with one of
# the hospitals from declaring another one silent to learn its counts; a silent hospital then stops the job.
max_shrinks = 1
# The most that predictions may show: "class", "probability" or "counts".
disclosure = "counts"
# Whether the cloud may publish the tree.
allow_publish_tree = false
# Studies that are allowed; leave out for any.
# studies = ["sepsis-2026"]
# Test data only: profile paper lets hospitals and the cloud learn counts of one hospital.
allow_paper_profile = false
# Secret sharing (modes id3 and gain-ratio): records leave as shares to three compute parties. One of them alone learns
# nothing; two that work together could put the records together again. Switch it on once you are sure that no two
# of them will.
allow_secret_modes = false
# Hospitals that may be compute parties; leave out for any. Whether this hospital's agent may be one itself.
# compute_parties = ["h1", "h2", "h3"]
may_compute = true
# Most memory, in MB, that a job may take here as a compute party, by an estimate from the records of all members.
max_compute_mb = 2000
# Whether a job may keep its tree shared, so that no hospital sees it.
allow_shared_result = true
# Whether a hospital's own agent may ask such a tree by itself in jobs with this hospital, as often as the study's
# document says; this holds for the other hospitals and for this one.
allow_asking = true
# Differential privacy: jobs that add noise to the sums (privet cloud job create --noise-sigma). What all of them
# together may tell of one record, as epsilon beside the chance privacy_delta; a job that could go beyond it is
# declined. 0 declines every job with noise. Up to 1 is strong, up to 10 is usual, above it says little.
max_epsilon = "8"
privacy_delta = "0.000001"
# What the budget is for: "snapshot": each version of the records has its own. "all": all that this agent ever told
# counts together; right where a new extract holds mostly the same patients.
budget_for = "snapshot"
# Whether sums of encrypted counts must carry noise: a job without it tells exact sums, which no budget covers.
require_noise = false
# Jobs that only count, where the study names them. evaluation: how many records of each class end at each place of a
# tree that this hospital has, summed over all hospitals, small counts included. histogram: how many records each value
# of each attribute has, by class, summed likewise; fine intervals show more of a record than coarse ones.
allow_evaluation = true
allow_histogram = true
# Figures of finished jobs that a study publishes at the cloud: how good a tree is, how much each attribute told,
# rounded under a floor that the study names. They go out where a person here approved the study's document, or where
# approval is not "study". false keeps them here: jobs go on as ever, and the cloud shows no figures of them.
allow_publish_quality = true
# Attributes whose missing values are fractional: a record without a value goes to every branch in parts, as in C4.5.
# For that, the records of a node are counted apart by which of these fields they lack, summed over all hospitals,
# however few they are: min_node and min_child hold for the node and its branches, not for such a group.
allow_fractional = false
"""


def _exact(value: object) -> object:
    """TOML's numbers as they are written; text as a decimal number."""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        try:
            return Decimal(str(value))
        except InvalidOperation:
            raise ValueError("expected a decimal number") from None
    return value


ExactNumber = Annotated[Decimal, BeforeValidator(_exact), Field(allow_inf_nan=False)]


class Policy(BaseModel):
    """The rules; the template above explains each. The defaults are the safe ones."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    approval: Literal["study", "ask", "automatic"] = "study"
    min_hospitals: Annotated[int, Field(ge=3, le=MAX_AGENTS)] = 3
    min_node: Annotated[int, Field(ge=1)] = 10
    min_child: Annotated[int, Field(ge=1)] = 5
    max_depth: Annotated[int, Field(ge=0, le=MAX_ATTRIBUTES)] = 12
    max_shrinks: Annotated[int, Field(ge=0)] = 1
    disclosure: Disclosure = "counts"
    allow_publish_tree: bool = False
    studies: list[str] | None = None
    allow_paper_profile: bool = False
    allow_secret_modes: bool = False
    compute_parties: list[str] | None = None
    may_compute: bool = True
    max_compute_mb: Annotated[int, Field(ge=1)] = 2000
    allow_shared_result: bool = True
    allow_asking: bool = True
    max_epsilon: Annotated[ExactNumber, Field(ge=0)] = Decimal(8)
    privacy_delta: Annotated[ExactNumber, Field(gt=0, le=Decimal("0.01"))] = Decimal("0.000001")
    budget_for: Literal["snapshot", "all"] = "snapshot"
    require_noise: bool = False
    allow_evaluation: bool = True
    allow_histogram: bool = True
    allow_publish_quality: bool = True
    allow_fractional: bool = False

    @property
    def privacy_limit(self) -> PrivacyLimit:
        """The budget of a snapshot, or of all."""
        return PrivacyLimit(self.max_epsilon, self.privacy_delta)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a job is declined. `code` travels to the cloud, `reason` stays at the hospital."""

    code: str
    reason: str


def load_policy(path: Path) -> Policy:
    """The rules of a file; a missing file means the defaults.

    Raises: InputError: not TOML, an unknown rule or a wrong value.
    """
    try:
        return Policy.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return Policy()
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        reason = "not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
        raise InputError(
            f"not TOML: {reason}", where=str(path), remedy="Correct the file.", number="A010"
        ) from None
    except ValidationError as error:
        raise InputError(
            faults_of(error),
            where=str(path),
            remedy="Correct the rules, or leave them out for the safe defaults.",
            number="A010",
        ) from None


def review(
    policy: Policy,
    manifest: Manifest,
    *,
    own: str,
    synthetic: bool,
    seen_rosters: Iterable[SeenRoster],
    consents: Sequence[Consent] = (),
) -> Refusal | None:
    """The first rule that a job breaks, or None.

    Args: own: this hospital's id. synthetic: it marked its data as no patient's. seen_rosters: rosters of the jobs on
        the same records that this agent has sent to or whose result it has seen. consents: the manifest's that hold.
    """
    return (
        _wrong_study(policy, manifest)
        or _wrong_profile(policy, manifest, synthetic=synthetic)
        or _wrong_parties(policy, manifest, own)
        or _without_noise(policy, manifest)
        or _half_hidden(manifest)
        or _too_small(policy, manifest)
        or _too_open(policy, manifest)
        or _wrong_tally(policy, manifest)
        or _in_small_groups(policy, manifest)
        or (
            tells_of_one(manifest.invited, manifest.study_sha256, list(seen_rosters), own, consents)
            if shows_result(manifest)
            else None
        )
    )


def shows_result(manifest: Manifest) -> bool:
    """Whether anybody sees sums or a tree of the members' records at the end: then the difference rule is about it."""
    secret = manifest.secret
    return secret is None or (secret.purpose == "train" and secret.result == "open")


def tells_of_one(
    roster: Sequence[str],
    study_sha256: str | None,
    earlier: Sequence[SeenRoster],
    own: str,
    consents: Sequence[Consent] = (),
) -> Refusal | None:
    """The difference rule (A4), of two results and of all that this hospital has seen together. Args: own: its id."""
    refusal = differs_by_one(roster, study_sha256, earlier, consents)
    hospital = told_together(roster, study_sha256, earlier, own, consents)
    if refusal is not None or hospital is None:
        return refusal
    return Refusal(
        ErrorCode.POLICY_DIFFERENCE,
        text("declined.told_together", hospital=hospital),
    )


def differs_by_one(
    roster: Sequence[str],
    study_sha256: str | None,
    earlier: Iterable[SeenRoster],
    consents: Sequence[Consent] = (),
) -> Refusal | None:
    """The difference rule (A4): two results over the same records whose rosters differ by one hospital tell of it.

    Two sums show its counts; two trees may show a value of one of its records. Only its signed consent allows that.
    """
    hospital = differing_hospital(roster, study_sha256, earlier, consents)
    if hospital is None:
        return None
    return Refusal(
        ErrorCode.POLICY_DIFFERENCE,
        text("declined.differs", hospital=hospital),
    )


def check_memory(policy: Policy, memory_bytes: int, records: int) -> None:
    """Whether this agent computes on so many records; they are known only when all hospitals have answered.

    Raises: InputError: more than `max_compute_mb`.
    """
    needed = -(-memory_bytes // _MEGABYTE)
    if needed > policy.max_compute_mb:
        raise InputError(
            f"computing on the {records:,} records of this job would take about {needed:,} MB here, "
            f"and the policy allows {policy.max_compute_mb:,}",
            where="max_compute_mb in the policy",
            remedy="Raise max_compute_mb if the machine has the memory, or run the job on fewer records.",
        )


def _wrong_study(policy: Policy, manifest: Manifest) -> Refusal | None:
    if policy.studies is None or manifest.study in policy.studies:
        return None
    return Refusal(DECLINED, text("declined.study", study=manifest.study))


def _wrong_profile(policy: Policy, manifest: Manifest, *, synthetic: bool) -> Refusal | None:
    if manifest.profile != "paper":
        return None
    missing = [
        name
        for present, name in (
            (policy.allow_paper_profile, text("declined.lacking.policy")),
            (synthetic, text("declined.lacking.settings")),
            (manifest.synthetic, text("declined.lacking.manifest")),
        )
        if not present
    ]
    if not missing:
        return None
    return Refusal(
        ErrorCode.POLICY_PROFILE,
        text("declined.paper", missing=", ".join(missing)),
    )


def _wrong_parties(policy: Policy, manifest: Manifest, own: str) -> Refusal | None:
    secret = manifest.secret
    if secret is None:
        return None
    if not policy.allow_secret_modes:
        return Refusal(
            ErrorCode.POLICY_PROFILE,
            text("declined.secret"),
        )
    others = set(secret.compute_parties) - {own}
    named = others if policy.compute_parties is None else set(policy.compute_parties)
    strangers = sorted(others - named)
    if strangers:
        return Refusal(DECLINED, text("declined.compute_party", party=strangers[0]))
    if own in secret.compute_parties and not policy.may_compute:
        return Refusal(DECLINED, text("declined.may_compute"))
    if secret.result == "shared" and not policy.allow_shared_result:
        return Refusal(DECLINED, text("declined.keeps_shared"))
    if secret.asked is not None and not policy.allow_asking:
        return Refusal(DECLINED, text("declined.asking"))
    return None


def _without_noise(policy: Policy, manifest: Manifest) -> Refusal | None:
    if not policy.require_noise or manifest.is_secret or manifest.noise is not None:
        return None
    return Refusal(DECLINED, text("declined.no_noise"))


def _wrong_tally(policy: Policy, manifest: Manifest) -> Refusal | None:
    kind = None if manifest.tally is None else manifest.tally.kind
    if (kind == "evaluation" and not policy.allow_evaluation) or (
        kind == "histogram" and not policy.allow_histogram
    ):
        return Refusal(DECLINED, text(f"declined.{kind}"))
    return None


def _in_small_groups(policy: Policy, manifest: Manifest) -> Refusal | None:
    names = manifest.schema_.fractional
    if not names or policy.allow_fractional or manifest.tally is not None:
        return None
    return Refusal(
        DECLINED,
        text("declined.fractional", names=", ".join(names)),
    )


def _half_hidden(manifest: Manifest) -> Refusal | None:
    """Each other hospital takes its own noise off the sums, so what the budget is charged would be too little."""
    if manifest.noise is None or manifest.noise.untrusted > 0:
        return None
    return Refusal(
        DECLINED,
        text("declined.untrusted"),
    )


def _too_small(policy: Policy, manifest: Manifest) -> Refusal | None:
    if manifest.min_hospitals < policy.min_hospitals:
        return Refusal(
            ErrorCode.POLICY_MIN_HOSPITALS,
            text("declined.min_hospitals", asked=manifest.min_hospitals, floor=policy.min_hospitals),
        )
    for name, asked, floor in (
        ("min_node", manifest.min_node, policy.min_node),
        ("min_child", manifest.min_child, policy.min_child),
    ):
        if asked < floor:
            return Refusal(DECLINED, text(f"declined.{name}", asked=asked, floor=floor))
    if manifest.max_shrinks > policy.max_shrinks:
        return Refusal(
            DECLINED,
            text("declined.max_shrinks", asked=manifest.max_shrinks, limit=policy.max_shrinks),
        )
    return None


def _too_open(policy: Policy, manifest: Manifest) -> Refusal | None:
    if policy.max_depth and (manifest.max_depth is None or manifest.max_depth > policy.max_depth):
        asked = text("listed.no_limit") if manifest.max_depth is None else str(manifest.max_depth)
        return Refusal(DECLINED, text("declined.max_depth", asked=asked, limit=policy.max_depth))
    if _DISCLOSURE_ORDER.index(manifest.disclosure) > _DISCLOSURE_ORDER.index(policy.disclosure):
        return Refusal(
            DECLINED,
            text(
                "declined.disclosure",
                asked=text(f"study.shown.{manifest.disclosure}"),
                limit=text(f"study.shown.{policy.disclosure}"),
            ),
        )
    if manifest.publish_tree and not policy.allow_publish_tree:
        return Refusal(DECLINED, text("declined.published"))
    return None
