"""Whom a new job invites: registered members whose certificates last until the roster is fixed.

Members check one another's certificates when they learn the roster, so one that ends before would stop the job there.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection

from cloud_service.service.federation import Membership
from cloud_service.service.key_modes import key_rules
from cloud_service.service.planning import JobPlan
from cloud_service.store import directory
from shared.crypto.certificates import Certificate, Role
from shared.errors import ErrorCode, InputError, PeerError
from shared.ids import AgentId
from shared.protocol.expiry import day_of, ends, remedy

_LEAST: Final = 3


@dataclass(frozen=True, slots=True)
class Invitations:
    """Chooses for one job. `until`: when its invitations end, Unix seconds."""

    membership: Membership
    until: int

    def check_own(self) -> None:
        """Raises: InputError: the cloud's own certificate ends before the invitations."""
        joined = self.membership.current()
        own = joined.trust.certificate(joined.certificate, role=Role.CLOUD)
        if ends(own) < self.until:
            raise InputError(
                f"the cloud's own certificate ends on {day_of(ends(own))}, before the invitations would",
                remedy=remedy(own),
            )

    def choose(
        self, connection: Connection, plan: JobPlan, candidates: Collection[str] | None = None
    ) -> dict[AgentId, bytes]:
        """The invited with their certificates, DER.

        Args: candidates: whom to choose from where the plan names nobody; None for everybody.
        Raises: InputError: one that was named cannot be invited. PeerError: `policy_min_hospitals`.
        """
        registered = self._registered(connection)
        rules = key_rules(self.membership.current().federation, plan)
        if plan.invited is None:
            chosen = [
                agent
                for agent, held in registered.items()
                if held and ends(held) >= self.until and (candidates is None or agent in candidates)
                if rules.holders is None or agent in rules.holders
            ]
        else:
            chosen = [AgentId(agent) for agent in plan.invited]
        if set(chosen) - registered.keys() or len(set(chosen)) != len(chosen):
            raise InputError(
                "every invited hospital must be named once and have registered",
                where="invited",
                remedy="See GET /v1/hospitals.",
            )
        shareless = set(chosen) - (rules.holders or set(chosen))
        if shareless:
            raise InputError(
                f"{', '.join(sorted(shareless))} came after the key was dealt and holds no share of it",
                where="invited",
                remedy="Leave it out, or have the trusted authority run `privet authority rotate`.",
            )
        invited = {agent: self._checked(agent, registered[agent]).der for agent in chosen}
        least = max(_LEAST, plan.min_hospitals, rules.least)
        if len(invited) < least:
            text = f"a job needs at least {least} hospitals, {len(invited)} are invited"
            raise PeerError(ErrorCode.POLICY_MIN_HOSPITALS, f"{text}{self._remark(connection, plan)}")
        return invited

    def left_out(self, connection: Connection) -> dict[AgentId, str]:
        """Members that cannot be invited, with the day on which their certificates end."""
        held = self._registered(connection)
        return {agent: day_of(ends(one)) for agent, one in held.items() if one and ends(one) < self.until}

    def _remark(self, connection: Connection, plan: JobPlan) -> str:
        left_out = self.left_out(connection) if plan.invited is None else {}
        told = ", ".join(f"{agent} on {day}" for agent, day in left_out.items())
        return f"; certificates that end too early: {told}" if told else ""

    def _registered(self, connection: Connection) -> dict[AgentId, Certificate | None]:
        """Registered hospitals; None for one whose certificate the federation does not list."""
        return {AgentId(row.id): self._member(row.certificate) for row in directory.hospitals(connection)}

    def _member(self, der: bytes) -> Certificate | None:
        try:
            return self.membership.agent(der)
        except PeerError:
            return None

    def _checked(self, agent: AgentId, held: Certificate | None) -> Certificate:
        if held is None:
            raise InputError(
                f"{agent} is no longer a member of the federation with the certificate that it registered",
                where="invited",
                remedy="Leave it out; if its certificate was renewed, its agent must import the new bundle first.",
            )
        if ends(held) < self.until:
            raise InputError(
                f"the certificate of {agent} ends on {day_of(ends(held))}, before the invitations would",
                where="invited",
                remedy=f"Leave it out for now. {remedy(held)}",
            )
        return held
