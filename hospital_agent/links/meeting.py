"""How the members of a job come together: from their keys and addresses to a mesh of links.

Of two compute parties that can both be called, the one with the later name calls; one that cannot be called calls.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from hospital_agent.links.channel import Channel
from hospital_agent.links.direct import Address, DirectChannel
from hospital_agent.links.fallback import FallbackChannel
from hospital_agent.links.frame_log import FrameRecord
from hospital_agent.links.link import Link
from hospital_agent.links.listener import Listener
from hospital_agent.links.mesh import Mesh, Waiting
from hospital_agent.links.tls import JobCertificate, listening_context
from shared.crypto.agreement import agree
from shared.crypto.frames import Pair, prss_key
from shared.errors import InputError
from shared.ids import AgentId, JobId
from shared.mpc.prss import Prss

_BACKLOG: Final = 16


@dataclass(frozen=True, slots=True)
class Membership:
    """One member's keys in one job. mh: manifest hash, raw. private: its X25519 key of the job. publics: of the
    other members that it has links to, by id."""

    job: JobId
    mh: bytes
    own: AgentId
    private: bytes = field(repr=False)
    publics: Mapping[AgentId, bytes]

    def agreement(self, peer: AgentId) -> bytes:
        """What this member and a peer know alone. Raises: PeerError: `malformed`: a key no honest party has."""
        return agree(self.private, self.publics[peer])

    def pair(self, peer: AgentId) -> Pair:
        """The ordered pair from this member to a peer."""
        return Pair(self.job, self.mh, self.own, peer, self.agreement(peer))

    def prss(self, previous: AgentId, following: AgentId) -> Prss:
        """The streams that a compute party has in common with its neighbours."""
        keys = [prss_key(self.agreement(peer), self.own, peer, mh=self.mh) for peer in (previous, following)]
        return Prss.from_keys(*keys)

    @property
    def certificate(self) -> JobCertificate:
        """This member's certificate for direct connections of the job."""
        return JobCertificate.of(self.private, mh=self.mh)


def calls(own: AgentId, peer: AgentId, addresses: Mapping[AgentId, Address]) -> bool | None:
    """Whether `own` calls `peer` (or is called by it) for a direct connection; None: neither can call the other."""
    if own not in addresses and peer not in addresses:
        return None
    return peer in addresses and (own not in addresses or own > peer)


def listen(host: str, port: int) -> socket.socket:
    """A socket that takes calls; port 0: any free one. Raises: InputError: the address cannot be had."""
    try:
        return socket.create_server((host, port), backlog=_BACKLOG)
    except OSError as error:
        raise InputError(
            f"cannot listen on {host}:{port}: {error.strerror or error}",
            where="[compute] listen",
            remedy="Choose an address of this machine and a free port.",
        ) from None


def meet(
    membership: Membership,
    channels: Mapping[AgentId, Channel],
    log: FrameRecord,
    *,
    listening: socket.socket | None = None,
    folder: Path | None = None,
    patience_seconds: float = 3600.0,
    stop: threading.Event | None = None,
    on_waiting: Callable[[Waiting], None] | None = None,
) -> Mesh:
    """The mesh of one member.

    Args: channels: one for each peer. log: of this member in this job. listening: for peers that call; folder: a
        private folder, needed to listen. The rest: as `Mesh`.
    """
    links = [
        Link(membership.pair(peer), channels[peer], log, place, time.monotonic)
        for place, peer in enumerate(sorted(channels))
    ]
    mesh = Mesh(links, log, patience_seconds=patience_seconds, stop=stop, on_waiting=on_waiting)
    if listening is not None and folder is not None:
        called = {
            peer: way for peer, channel in channels.items() if (way := _direct_part(channel)) is not None
        }
        context = listening_context(membership.certificate, folder)
        mesh.doorkeeper = Listener(listening, context, mesh.recognise, called)
    return mesh


def _direct_part(channel: Channel) -> DirectChannel | None:
    if isinstance(channel, FallbackChannel):
        return channel.direct
    return channel if isinstance(channel, DirectChannel) else None


def direct_channels(
    own: AgentId, peers: Sequence[AgentId], addresses: Mapping[AgentId, Address]
) -> dict[AgentId, DirectChannel]:
    """Channels to those peers that can be reached, or can reach this member, directly."""
    channels: dict[AgentId, DirectChannel] = {}
    for peer in peers:
        direction = calls(own, peer, addresses)
        if direction is not None:
            channels[peer] = DirectChannel(addresses[peer] if direction else None)
    return channels
