"""The policy, to be read: who may change it has the file."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request
from starlette.responses import Response

from hospital_agent.pages.house import House, page
from hospital_agent.pages.policy_words import rules_in_words
from hospital_agent.people.budgets import budget_document
from shared.errors import InputError


def add(pages: FastAPI, house: House) -> None:
    """`/house/policy`."""

    @pages.get("/house/policy")
    def policy(request: Request) -> Response:
        """Each rule with what it allows and what it forbids."""
        fault, rules = "", []
        path = house.settings().policy
        try:
            rules = rules_in_words(house.policy())
        except InputError as error:
            fault = str(error)
        values: dict[str, Any] = {
            "rules": rules,
            "fault": fault,
            "path": path,
            "exists": path.is_file(),
            "budget": _budget(house),
        }
        return page(request, "policy.html", active="policy", **values)


def _budget(house: House) -> dict[str, Any] | None:
    """As `privet agent budget --json`; None while the rules are wrong."""
    try:
        return budget_document(house.folder)
    except InputError:
        return None
