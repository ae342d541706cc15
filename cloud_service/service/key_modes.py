"""Which key mode a new job has: the federation's key decides, and a person may say which one is expected."""

from __future__ import annotations

from dataclasses import dataclass

from cloud_service.service.planning import JobPlan
from shared.errors import InputError
from shared.ids import AgentId
from shared.protocol.key_shares import holders_of
from shared.wire.enrolment import Federation
from shared.wire.manifest import KeyMode


@dataclass(frozen=True, slots=True)
class KeyRules:
    """What a manifest says of the key. holders: whom such a job may invite; None for every member."""

    key_mode: KeyMode = "shared"
    threshold: int | None = None
    holders: frozenset[AgentId] | None = None

    @property
    def least(self) -> int:
        """Fewest hospitals that can open a sum."""
        return self.threshold or 1


def key_rules(federation: Federation, plan: JobPlan) -> KeyRules:
    """Of a job under the federation's present key. Jobs on secret shares do not use the Paillier key.

    Raises: InputError: another key mode was asked for, or a profile that needs the whole key at every hospital.
    """
    if plan.mode != "ppsdt":
        if plan.key_mode == "threshold":
            raise InputError(
                f"mode {plan.mode} works on secret shares and uses no Paillier key",
                where="key_mode",
                remedy="Leave it out.",
            )
        return KeyRules()
    spec = federation.threshold
    held: KeyMode = "shared" if spec is None else "threshold"
    if plan.key_mode not in (None, held):
        raise InputError(
            f"the federation's key is in key mode {held}, not {plan.key_mode}",
            where="key_mode",
            remedy=f"Leave it out, or have the trusted authority run `privet authority rotate DIR --key-mode "
            f"{plan.key_mode}` and every member import its new bundle.",
        )
    if spec is None:
        return KeyRules()
    if plan.profile != "hardened":
        raise InputError(
            f"profile {plan.profile} needs a key that every hospital holds whole",
            where="profile",
            remedy="Choose profile hardened, or have the key rotated with --key-mode shared.",
        )
    return KeyRules("threshold", spec.threshold, frozenset(holders_of(federation)))
