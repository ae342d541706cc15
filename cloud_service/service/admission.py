"""Whose word counts here: members in good time, and whoever still sits in a job that runs.

To begin something (register, answer an offer, be invited) takes a certificate that the newest federation document
lists and that is valid now. A member of a roster was admitted when the roster was fixed. Until its job ends it goes on
under the certificate of its invitation, though that ends meanwhile or is renewed for the same keys; a clock or an
errand of the authority must not break a job in the middle. Leaving the federation ends it at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection

from cloud_service.service.federation import Membership
from cloud_service.store import directory, jobs
from shared.crypto import certificates
from shared.crypto.certificates import Certificate
from shared.errors import ErrorCode, PeerError
from shared.ids import AgentId
from shared.protocol.expiry import check_time


@dataclass(frozen=True, slots=True)
class Admission:
    """Finds the certificate under which an agent may speak."""

    membership: Membership
    clock: Callable[[], int]

    def newcomer(self, der: bytes) -> Certificate:
        """The certificate of an agent that may begin something now.

        Raises: PeerError: `unknown_agent`: no present member, or outside its time; `bad_signature`.
        """
        certificate = self.membership.agent(der)
        check_time(certificate, self.clock())
        return certificate

    def sender(self, connection: Connection, job: str, agent: str) -> Certificate:
        """The certificate of an agent that sends a message of a job.

        Raises: PeerError: `unknown_agent`: not registered, no present member, or outside its time and in no roster.
        """
        seat = jobs.seat(connection, job, agent)
        if seat is None:
            return self.newcomer(_registered(connection, agent))
        if seat.in_roster:
            return self.seated(connection, AgentId(agent), seat.certificate)
        return self.newcomer(seat.certificate)

    def caller(self, connection: Connection, agent: str) -> Certificate:
        """The certificate of an agent that asks for its inbox: also while it sits in a job that runs.

        Raises: PeerError: `unknown_agent`: not registered, no present member, or outside its time and in no such job.
        """
        der = _registered(connection, agent)
        try:
            return self.newcomer(der)
        except PeerError:
            if not jobs.sits_in_running(connection, agent):
                raise
        return self.seated(connection, AgentId(agent), der)

    def seated(self, connection: Connection, agent: AgentId, der: bytes) -> Certificate:
        """The certificate that a member of a roster goes on under.

        Raises: PeerError: `unknown_agent`: it has left the federation, or registered with other keys since.
        """
        try:
            return self.membership.agent(der)
        except PeerError:
            trust = self.membership.current().trust
            certificate = certificates.verify(der, trust.root)
            if agent not in trust.members or self._has_new_keys(connection, agent, certificate):
                raise
        return certificate

    def _has_new_keys(self, connection: Connection, agent: AgentId, before: Certificate) -> bool:
        """Whether the agent has shown that the certificate now listed is for other keys."""
        try:
            return self.membership.agent(_registered(connection, agent)).subject != before.subject
        except PeerError:
            return False  # it has not come with its newest certificate yet


def _registered(connection: Connection, agent: str) -> bytes:
    hospital = directory.hospital(connection, agent)
    if hospital is None:
        raise PeerError(ErrorCode.UNKNOWN_AGENT, f"{agent} is not a registered hospital here; register first")
    return bytes(hospital.certificate)
