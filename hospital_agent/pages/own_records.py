"""The own records as `privet data inspect` shows them, with the policy's floor; looked at in the background."""

from __future__ import annotations

from typing import Any, Final

from fastapi import FastAPI, Request
from starlette.responses import RedirectResponse, Response

from hospital_agent.pages.background import Background, Work
from hospital_agent.pages.house import House, changed_part, page, state_of
from shared.errors import InputError

_NAME: Final = "records"
SHOWN_VALUES: Final = 20
"""Of a column; further ones are in the command's output."""


def add(pages: FastAPI, house: House) -> None:
    """`/house/records`."""
    looks = Background(house.folder)

    @pages.get("/house/records")
    def records(request: Request) -> Response:
        """What was found the last time somebody looked."""
        values = _values(house, looks.of(_NAME))
        return page(
            request,
            "records.html",
            active="records",
            **values,
            state_seen=state_of(values),
        )

    @pages.post("/house/records")
    def look() -> Response:
        """Look again."""
        looks.begin(_NAME, ["data", "inspect"])
        return RedirectResponse("/house/records", 303)

    @pages.post("/house/records/stop")
    def stop() -> Response:
        """Look no further."""
        looks.stop(_NAME)
        return RedirectResponse("/house/records", 303)

    @pages.get("/house/records/now")
    def now(request: Request, seen: str = "") -> Response:
        """The part of the page that changes by itself."""
        return changed_part(request, "records_now.html", seen, _values(house, looks.of(_NAME)))


def _values(house: House, work: Work | None) -> dict[str, Any]:
    return {"work": work, "most": SHOWN_VALUES, "source": _source(house)}


def _source(house: House) -> str:
    """Where the records are, without anything secret; empty where nothing is named, or the settings are wrong."""
    try:
        data = house.settings().data
    except InputError:
        return ""
    if data.path is not None:
        return str(data.path)
    return "" if data.url is None else (data.table or "SQL")
