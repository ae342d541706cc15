"""A page that says what a step means and asks for a steward's name and password before it is taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, Request
from starlette.responses import RedirectResponse, Response

from hospital_agent.pages.house import House, page
from hospital_agent.pages.problems import PageProblem
from hospital_agent.pages.stewarding import Speaking, WrongStewardError, speaking_of, why_not


@dataclass(frozen=True, slots=True)
class Step:
    """One step that a person may take. `act`: its words are `house.act.ACT` of the texts; `seen`: what it starts from.

    `back`: where a person goes who thinks better of it. `command`: does the same without a page. `values`: what else
    the template shows, see `values_of`.
    """

    act: str
    back: str
    command: str
    seen: str
    active: str
    values: Mapping[str, Any]


def values_of(**chosen: Any) -> dict[str, Any]:
    """The values of `confirm.html`: `facts` (term, words), `warnings`, `choices` of a model, `share`, `name` to type.

    `words`: of this hospital on a model's use, None where they are not asked for. `other`: ask for a document's hash.
    """
    none: dict[str, Any] = {"facts": [], "warnings": [], "choices": [], "share": "", "name": None}
    return none | {"words": None, "other": False} | chosen


@dataclass(frozen=True, slots=True)
class Confirmation:
    """Shows steps and has them taken. `speaking`: that of all pages, so that nobody guesses on at another one."""

    house: House
    speaking: Speaking

    @classmethod
    def of(cls, pages: FastAPI, house: House) -> Confirmation:
        """For one subject of the pages."""
        return cls(house, speaking_of(pages, house.folder))

    def show(self, request: Request, step: Step, given: Mapping[str, str] | None = None) -> Response:
        """The page. Args: given: what was typed, where name and password were wrong; no password is shown again."""
        return page(
            request,
            "confirm.html",
            active=step.active,
            status_code=200 if given is None else 403,
            step=step,
            given=given or {},
            is_wrong=given is not None,
            why_not=why_not(self.house),
            folder=self.house.folder,
            **step.values,
        )

    def take(
        self,
        request: Request,
        look: Callable[[], Step],
        fields: Mapping[str, str],
        act: Callable[[str], str],
    ) -> Response:
        """Do it. Args: look: the step as things stand. act: given the steward's name; where to go then.

        Looked at again once the password is proven, which takes a while: a button pressed twice acts once.
        Raises: PageProblem: things stand otherwise than was shown, or nobody may speak here.
        """
        step = look()
        try:
            person = self.speaking.prove(fields)
        except WrongStewardError:
            return self.show(request, step, fields)
        with self.speaking.acting:
            if fields.get("seen") != look().seen:
                raise PageProblem(409, "changed")
            place = act(person)
        return RedirectResponse(place, 303)
