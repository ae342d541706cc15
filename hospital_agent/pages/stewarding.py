"""A steward's word on a page: name and password with each word, so that nobody speaks who only found a browser open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from hospital_agent.pages.problems import PageProblem
from hospital_agent.pages.sessions import Throttle
from hospital_agent.people.stewards import Stewards
from hospital_agent.settings import load_settings
from shared.errors import InputError

if TYPE_CHECKING:
    from fastapi import FastAPI

    from hospital_agent.pages.house import House


class WrongStewardError(PageProblem):
    """No steward has that name and password."""


@dataclass(frozen=True, slots=True)
class Speaking:
    """Who may speak on the pages of one agent. `acting`: held by who does something, so that one does at a time."""

    folder: Path
    throttle: Throttle = field(default_factory=Throttle)
    acting: Lock = field(default_factory=Lock, repr=False)

    def prove(self, fields: Mapping[str, str]) -> str:
        """The name of the steward who says this.

        Raises: WrongStewardError: no such name with that password. PageProblem: too many tries, or nobody may speak
            on the pages.
        """
        if not load_settings(self.folder).local.approve_on_page:
            raise PageProblem(403, "not_on_page")
        name = fields.get("person", "").strip()
        begun = self.throttle.begin(name)
        if not Stewards.of(self.folder).is_one(name, fields.get("password", "")):
            raise WrongStewardError(403, "wrong_steward")
        self.throttle.forgive(begun)
        return name


def speaking_of(pages: FastAPI, folder: Path) -> Speaking:
    """One for all pages of an agent, so that who guesses passwords does not guess on at another page."""
    if not hasattr(pages.state, "speaking"):
        pages.state.speaking = Speaking(folder)
    found: Speaking = pages.state.speaking
    return found


def why_not(house: House) -> str:
    """Why nobody may speak on the pages now: a key of `house.steward.why` of the texts; empty where somebody may."""
    try:
        if not house.settings().local.approve_on_page:
            return "switched_off"
        return "" if Stewards.of(house.folder).names else "nobody"
    except InputError:
        return "broken"
