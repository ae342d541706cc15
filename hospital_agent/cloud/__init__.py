"""The only room that opens a connection to the cloud, outbound only: messages, and frames through its relay."""

from __future__ import annotations

from hospital_agent.cloud.answers import BUSY_STATUSES
from hospital_agent.cloud.carriers import Carrier, NoWebSocketError
from hospital_agent.cloud.client import CloudClient, InboxMessage
from hospital_agent.cloud.exchanges import Exchange, Observer
from hospital_agent.cloud.own_server import local_answers
from hospital_agent.cloud.relay import RelayDoor
from hospital_agent.cloud.retries import BusyError, FullJitter, Patience
from hospital_agent.cloud.traffic import Traffic

__all__ = [
    "BUSY_STATUSES",
    "BusyError",
    "Carrier",
    "CloudClient",
    "Exchange",
    "FullJitter",
    "InboxMessage",
    "NoWebSocketError",
    "Observer",
    "Patience",
    "RelayDoor",
    "Traffic",
    "local_answers",
]
