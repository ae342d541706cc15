"""The hospital's pages, for the people who work where the agent runs: what it does, what leaves, models, a patient.

Served beside the local API and under its address: `/`, everything under `/house/`, and the assets. A program never
needs them; whoever calls the API is not let in here by its token, and the other way round.

- `house`: what all pages are made of;
- `guarding`: who is let in, and what makes a form's post believable;
- one module a subject, each with `add(app, house)`.
"""

from __future__ import annotations

from hospital_agent.pages.front import install
from hospital_agent.pages.house import ENDED_JOBS, House

__all__ = ["ENDED_JOBS", "House", "install"]
