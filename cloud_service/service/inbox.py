"""The inbox of an agent: whose poll it is, and what waits for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from cloud_service.service.admission import Admission
from cloud_service.service.history import History
from cloud_service.service.logs import about
from cloud_service.service.presence import Presence
from cloud_service.service.rates import Rates
from cloud_service.store import outbox
from cloud_service.store.database import Database
from cloud_service.store.outbox import InboxMessage
from cloud_service.store.recent import RecentMessages
from shared.errors import ErrorCode, PeerError
from shared.ids import AgentId, JobId
from shared.protocol.history import read_seen
from shared.protocol.polling import read_poll, verify_poll

_MAX_ITEMS: Final = 64
_MAX_BYTES: Final = 8 * 2**20


@dataclass(frozen=True, slots=True)
class InboxDoor:
    """`GET /v1/inbox`, without the waiting."""

    database: Database
    admission: Admission
    rates: Rates
    presence: Presence
    history: History
    clock: Callable[[], int]
    recent: RecentMessages = field(default_factory=RecentMessages)

    def caller(self, header: str, after: int) -> AgentId:
        """Whose poll it is. Args: after: the cursor in the request, which the signed claim must name too.

        Raises: PeerError: `malformed`, `unknown_agent`, `bad_signature`. RateLimitedError.
        """
        poll, signature = read_poll(header)
        with self.database.read() as connection:
            certificate = self.admission.caller(connection, poll.agent)
        verify_poll(poll, signature, certificate.public_key, self.clock())
        if poll.after != after:
            raise PeerError(ErrorCode.BAD_SIGNATURE, "the signed cursor is not the one in the request")
        agent = AgentId(poll.agent)
        about(agent=agent)
        self.presence.saw(agent)
        self.rates.spend(agent)
        self.history.follow_cursor(agent, after)
        return agent

    def forgotten(self, agent: AgentId, header: str) -> list[JobId]:
        """The jobs of the agent's claim of what it saw that are no more here as it saw them.

        Args: header: `privet-seen`. Raises: PeerError: `malformed`, `bad_signature`.
        """
        with self.database.read() as connection:
            certificate = self.admission.caller(connection, agent)
        seen = read_seen(header, agent, certificate.public_key, self.clock())
        return self.history.forgotten(agent, seen, header.encode())

    def waiting(self, agent: AgentId, after: int) -> list[InboxMessage]:
        """The next messages beyond the cursor, within the limits of one answer."""
        with self.database.read() as connection:
            return outbox.waiting(
                connection, agent, after, items=_MAX_ITEMS, max_bytes=_MAX_BYTES, recent=self.recent
            )


def as_json(messages: list[InboxMessage]) -> bytes:
    """The body of the answer, `{"items":[{"id":…,"message":…}]}`, each message exactly as it was signed."""
    items = (b'{"id":%d,"message":%s}' % (message.id, message.raw) for message in messages)
    return b'{"items":[' + b",".join(items) + b"]}"
