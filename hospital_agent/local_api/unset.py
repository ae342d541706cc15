"""What is answered where clinical systems ask an agent that is not set up for them."""

from __future__ import annotations

from typing import NoReturn

from fastapi import FastAPI

from hospital_agent.local_api.problems import RefusedError


def say_no_services(app: FastAPI) -> None:
    """Let the places of CDS Hooks say that no services are configured, and what to do about it."""

    def unset() -> NoReturn:
        raise RefusedError(
            404,
            "not_found",
            "No clinical services are configured at this agent.",
            remedy="Name a file of services with the setting clinical.services, and start the agent again.",
        )

    for path in ("/cds-services", "/cds-services/{rest:path}"):
        app.add_api_route(path, unset, methods=["GET", "POST"], response_model=None, include_in_schema=False)
