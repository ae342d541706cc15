"""Predictions for this hospital's own programs, on this machine by default; nothing here ever calls the cloud.

Errors are problem documents (RFC 9457). Who is let in stands in `guards`, which paths there are in `app`. Rooms above
(`hospital_agent.pages`, `hospital_agent.clinical`) add routes of their own to the application.
"""

from __future__ import annotations

from hospital_agent.local_api.app import create_app
from hospital_agent.local_api.desk import Asked, Desk
from hospital_agent.local_api.guards import LOOPBACK, MAX_BODY_BYTES, Door, Gate, from_here, knows
from hospital_agent.local_api.library import Library
from hospital_agent.local_api.problems import Problem, RefusedError, problem, problems
from hospital_agent.local_api.questions import MAX_RECORDS, ExactRoute, Question
from hospital_agent.local_api.rates import Rates
from hospital_agent.local_api.secret_desk import Outcome, SecretDesk
from hospital_agent.local_api.serving import serving
from hospital_agent.local_api.unset import say_no_services

__all__ = [
    "LOOPBACK",
    "MAX_BODY_BYTES",
    "MAX_RECORDS",
    "Asked",
    "Desk",
    "Door",
    "ExactRoute",
    "Gate",
    "Library",
    "Outcome",
    "Problem",
    "Question",
    "Rates",
    "RefusedError",
    "SecretDesk",
    "create_app",
    "from_here",
    "knows",
    "problem",
    "problems",
    "say_no_services",
    "serving",
]
