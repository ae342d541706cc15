"""The only room that opens a connection: one HTTPS client for the cloud, outbound only."""

from __future__ import annotations

from hospital_agent.cloud.client import CloudClient, InboxMessage
from hospital_agent.cloud.retries import FullJitter, Patience
from hospital_agent.cloud.traffic import Traffic

__all__ = ["CloudClient", "FullJitter", "InboxMessage", "Patience", "Traffic"]
