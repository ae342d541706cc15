"""Finished trees: kept, proved and asked."""

from __future__ import annotations

from hospital_agent.models.answers import Answers, Record
from hospital_agent.models.describing import description, summary
from hospital_agent.models.model import Model
from hospital_agent.models.shares import get_shares, put_shares, shares_path
from hospital_agent.models.shelf import Shelf, shelf_of

__all__ = [
    "Answers",
    "Model",
    "Record",
    "Shelf",
    "description",
    "get_shares",
    "put_shares",
    "shares_path",
    "shelf_of",
    "summary",
]
