"""What was done and what must still be sent, in one synced SQLite file: the agent's only memory."""

from __future__ import annotations

from hospital_agent.journal.entries import ACTIVE, Answer, JobEntry, JobStatus, OutgoingMessage, Tally
from hospital_agent.journal.store import Journal

__all__ = ["ACTIVE", "Answer", "JobEntry", "JobStatus", "Journal", "OutgoingMessage", "Tally"]
