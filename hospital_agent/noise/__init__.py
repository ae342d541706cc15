"""Differential privacy at a hospital: noise on its counts, and the words of its budget. The ledger is the journal's."""

from __future__ import annotations

from hospital_agent.noise.gaussian import add_noise, is_installed, least_scale
from hospital_agent.noise.rules import REMEDY, forecast, over_budget

__all__ = ["REMEDY", "add_noise", "forecast", "is_installed", "least_scale", "over_budget"]
