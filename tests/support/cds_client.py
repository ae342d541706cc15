"""An outside client of CDS Hooks, run by the interpreter that has it: asks, and says what its own models make of it.

Standard input: {"base", "questions": {service: {"hook", "context", "prefetch"}}}. Standard output: {"services": ids,
"answers": {service: {"sent", "cards", "refused"}}}; `refused`: what its model of a response does not accept, by place.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import httpx
from healthchain.models import CDSResponse, CDSServiceInformation  # type: ignore[import-not-found]
from healthchain.sandbox import SandboxClient  # type: ignore[import-not-found]
from healthchain.sandbox.requestconstructors import (  # type: ignore[import-not-found]
    CdsRequestConstructor,
)
from healthchain.sandbox.workflows import Workflow  # type: ignore[import-not-found]
from pydantic import ValidationError


def ask(base: str, service: str, asked: dict[str, Any]) -> dict[str, Any]:
    """Put one question as the client puts it."""
    workflow = Workflow(asked["hook"])
    client = SandboxClient(f"{base}/cds-services/{service}", workflow)
    client.requests = [
        CdsRequestConstructor().construct_request(asked["prefetch"], workflow, asked["context"])
    ]
    (answer,) = client.send_requests()
    return {"cards": answer.get("cards", []), "refused": refused(answer)}


def refused(answer: dict[str, Any]) -> list[str]:
    """Where the client's model of a response does not accept what came."""
    try:
        CDSResponse(**answer)
    except ValidationError as error:
        return [".".join(map(str, one["loc"])) for one in error.errors()]
    return []


def main() -> None:
    """Discover, ask, tell."""
    told = json.load(sys.stdin)
    base = told["base"]
    found = CDSServiceInformation(**httpx.get(f"{base}/cds-services").raise_for_status().json())
    answers = {service: ask(base, service, asked) for service, asked in told["questions"].items()}
    json.dump({"services": [service.id for service in found.services], "answers": answers}, sys.stdout)


if __name__ == "__main__":
    main()
